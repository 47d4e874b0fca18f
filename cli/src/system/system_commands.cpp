// SPDX-License-Identifier: Apache-2.0
#include "system_commands.hpp"

#include <fmt/format.h>

#include <concepts>
#include <optional>

#include "open_system.hpp"
#include "optimize_command.hpp"
#include "output.hpp"
#include "parameters_command.hpp"
#include "yolk/ablate.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/hyper/state_file.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

// evaluate

struct EvaluateFlags : SystemFlags {
    bool predictions = false;
};

Result<int> run_evaluate(const MakeSystemTask& make, const EvaluateFlags& flags) {
    YOLK_TRY(const std::unique_ptr<OpenSystem> open, open_system(make, flags));
    const SystemTask& task = open->task;
    YOLK_TRY(const hyper::Evaluation evaluation, task.system->evaluate(task.examples, *task.metric));
    std::optional<hyper::Evaluation> held_out;
    if (!task.held_out.empty()) {
        YOLK_TRY(held_out, task.system->evaluate(task.held_out, *task.metric));
    }
    if (flags.common.json) {
        Json json{{"system", task.system->name()},
                  {"metric", task.metric->name},
                  {"examples", task.examples.size()},
                  {"reward", evaluation.reward}};
        if (!evaluation.per_example.empty()) json["per_example"] = evaluation.per_example;
        if (held_out) json["held_out"] = held_out->reward;
        json["predictions"] = Json::array();
        for (const hyper::Value& value : evaluation.predictions) json["predictions"].push_back(to_json(value));
        print_json(json);
        return 0;
    }
    if (flags.predictions) {
        std::vector<std::vector<std::string>> rows{{"example", "prediction", "expected", "reward"}};
        for (std::size_t i = 0; i < evaluation.predictions.size(); ++i) {
            rows.push_back({std::to_string(i), to_string(evaluation.predictions[i]),
                            to_string(task.examples[i].expected),
                            evaluation.per_example.empty() ? "" : reward_text(evaluation.per_example[i])});
        }
        print_line(table(rows));
    }
    print_line("{}: {} over {} examples is {}", task.system->name(), task.metric->name, task.examples.size(),
               reward_text(evaluation.reward));
    if (held_out) print_line("over {} held out: {}", task.held_out.size(), reward_text(held_out->reward));
    return 0;
}

// graph

struct GraphFlags : SystemFlags {
    std::string dot, svg;
    std::uint32_t example = 0;
};

Result<int> run_graph(const MakeSystemTask& make, const GraphFlags& flags) {
    YOLK_TRY(const std::unique_ptr<OpenSystem> open, open_system(make, flags));
    const SystemTask& task = open->task;
    if (flags.example >= task.examples.size())
        return bad_input("There is no example {}; there are {}.", flags.example, task.examples.size());
    YOLK_TRY(const hyper::TracedExample traced, task.system->trace(task.examples[flags.example], flags.example));
    std::vector<std::string> groups;
    for (const hyper::ParameterGroup& group : task.system->parameters().groups()) {
        // Populations vary numbers; texts are the same for all candidates.
        if (group.spec.optimize && !group.spec.is_text) groups.push_back(group.spec.name);
    }
    YOLK_TRY(const std::vector<hyper::PlacedEquation> placed, place(traced.graph, groups));
    if (!flags.dot.empty()) {
        YOLK_TRY(const std::string dot, to_dot(traced.graph, placed));
        YOLK_TRY_VOID(write_file_atomically(flags.dot, dot));
    }
    if (!flags.svg.empty()) {
        YOLK_TRY(const std::string svg, to_svg(traced.graph, placed));
        YOLK_TRY_VOID(write_file_atomically(flags.svg, svg));
    }
    YOLK_TRY(std::string text, to_text(traced.graph, placed));
    while (text.ends_with('\n')) text.pop_back();
    if (flags.common.json) {
        print_json(Json{{"system", task.system->name()}, {"graph", text}, {"notes", traced.notes}});
        return 0;
    }
    print_line(text);
    for (const std::string& note : traced.notes) print_line(note);
    return 0;
}

// ablate

struct AblateFlags : PopulationFlags {
    hyper::AblateOptions options;
};

void add_ablate_flags(App& app, hyper::AblateOptions& o) {
    const auto freezes = [&o] { return o.how == hyper::Ablation::Freeze; };
    add_number(app, "--draws", o.draws, "Draws of noise, or of examples")
        ->default_str("32")
        ->only({"goes with --how zero, reset or perturb", [freezes] { return !freezes(); }});
    add_number(app, "--noise", o.sigma, "perturb: size of the noise")
        ->default_str("0.05")
        ->only({"goes with --how perturb", [&o] { return o.how == hyper::Ablation::Perturb; }});
    app.group({"goes with --how freeze, which optimizes", freezes}, [&] {
        add_number(app, "--seeds", o.seeds, "freeze: optimizations each")->default_str("3");
        add_optimize_flags(app, o.optimize);
    });
    app.option("--seed")->always();  // of the draws, too
}

Result<int> run_ablate(const MakeSystemTask& make, const AblateFlags& flags) {
    YOLK_TRY(const std::unique_ptr<OpenSystem> open, open_system(make, flags, flags.options.optimize.evolution));
    const SystemTask& task = open->task;
    hyper::AblateOptions options = flags.options;
    options.seed = options.optimize.evolution.seed;  // there is one --seed
    YOLK_TRY(const std::vector<hyper::AblationRow> rows,
             hyper::ablate(*task.system, task.examples, *task.metric, options));
    std::vector<std::vector<std::string>> lines{{"group", "reward", "change", "spread"}};
    for (const hyper::AblationRow& row : rows) {
        if (flags.common.json) print_json(to_json(row));
        lines.push_back(
            {row.group, reward_text(row.reward), fmt::format("{:+.6g}", row.change), reward_text(row.spread)});
    }
    if (!flags.common.json) print_line(table(lines));
    return 0;
}

// save

struct SaveFlags : SystemFlags {
    std::string out = "system.safetensors";
};

Result<int> run_save(const MakeSystemTask& make, const SaveFlags& flags) {
    YOLK_TRY(const std::unique_ptr<OpenSystem> open, open_system(make, flags));
    const SystemTask& task = open->task;
    YOLK_TRY(const hyper::Evaluation evaluation, task.system->evaluate(task.examples, *task.metric));
    YOLK_TRY_VOID(hyper::save_state(*task.system, flags.out, {.scores = {{"reward", evaluation.reward}}}));
    return print_outcome(flags.common.json, {{"file", flags.out}, {"reward", evaluation.reward}},
                         fmt::format("saved {} with a reward of {}", flags.out, reward_text(evaluation.reward)));
}

template <class Flags, class Run>
Command command_of(App* app, const std::shared_ptr<Flags>& flags, const MakeSystemTask& make, Run run) {
    add_system_flags(*app, *flags);
    if constexpr (std::derived_from<Flags, PopulationFlags>) add_population_flags(*app, *flags);
    return {.app = app, .run = [flags, make, run] { return run(make, *flags); }};
}

}  // namespace

std::vector<Command> add_system_commands(App& app, const MakeSystemTask& make, const hyper::OptimizeOptions& settings) {
    const auto evaluate = std::make_shared<EvaluateFlags>();
    App* const evaluates = app.add_subcommand("evaluate", "Score the system on its examples");
    evaluates->add_flag("--predictions", evaluate->predictions, "Every example's prediction")
        ->only({"goes without --json, which always has them", [evaluate] { return !evaluate->common.json; }});

    const Command optimize = add_optimize_command(app, make, settings);

    const auto graph = std::make_shared<GraphFlags>();
    App* const graphs = app.add_subcommand("graph", "Show the graph: stages, and where each equation runs");
    add_number(*graphs, "--example", graph->example, "Whose graph, from 0")->default_str("0");
    graphs->add_option("--dot", graph->dot, "Write it for Graphviz")->type_name("FILE");
    graphs->add_option("--svg", graph->svg, "Write it as a picture")->type_name("FILE");

    const auto ablate = std::make_shared<AblateFlags>();
    ablate->options.optimize = settings;
    App* const ablates = app.add_subcommand("ablate", "What each hyperfunction's parameters are worth");
    add_parsed(*ablates, "--how", ablate->options.how, "zero, reset, freeze or perturb", &hyper::parse_ablation)
        ->type_name("HOW")
        ->default_str("zero");
    ablates
        ->add_repeatable("--group", ablate->options.groups, "Of this hyperfunction alone; may be given more than once")
        ->type_name("NAME");
    add_ablate_flags(*ablates, ablate->options);

    const auto save = std::make_shared<SaveFlags>();
    App* const saves = app.add_subcommand("save", "Save the system's parameters and score in one file");
    saves->add_option("--out", save->out, "The file")->type_name("FILE")->default_str(save->out);

    std::vector<Command> commands{command_of(evaluates, evaluate, make, &run_evaluate),
                                  optimize,
                                  command_of(graphs, graph, make, &run_graph),
                                  command_of(ablates, ablate, make, &run_ablate),
                                  command_of(saves, save, make, &run_save),
                                  add_parameters_command(app, make)};
    for (const char* const name : {"--devices", "--audit"}) {
        ablates->option(name)->only({"goes with --how freeze or perturb, which evaluate populations", [ablate] {
                                         return ablate->options.how == hyper::Ablation::Freeze ||
                                                ablate->options.how == hyper::Ablation::Perturb;
                                     }});
    }
    return commands;
}

}  // namespace yolk::cli
