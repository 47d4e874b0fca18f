// SPDX-License-Identifier: Apache-2.0
#include "system_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <filesystem>
#include <optional>

#include "evolution_flags.hpp"
#include "interrupt.hpp"
#include "last_run.hpp"
#include "output.hpp"
#include "select_device.hpp"
#include "yolk/core/file.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/writer_lock.hpp"
#include "yolk/evolve/device_pool.hpp"
#include "yolk/hyper/ablate.hpp"
#include "yolk/hyper/graph_text.hpp"
#include "yolk/hyper/optimize.hpp"
#include "yolk/hyper/state_file.hpp"

namespace yolk::cli {
namespace {

struct SystemFlags {
    CommonFlags common;
    std::string devices;  ///< of --devices; empty: the one device of `common`
    double audit = 0.0;
    std::string load;  ///< a file of save; empty: none
};

void add_system_flags(App& app, SystemFlags& flags) {
    add_device_flag(app, flags.common);
    add_output_flags(app, flags.common);
    app.add_option("--load", flags.load, "Begin with the parameters of this file")->type_name("FILE");
}

/// Of commands that evaluate populations.
struct PopulationFlags : SystemFlags {};

/// After the system's own.
void add_population_flags(App& app, PopulationFlags& flags) {
    const Option* const devices = add_devices_flag(app, flags.devices);
    add_number(app, "--audit", flags.audit,
               "Share of the candidates, 0 to 1, that a second device evaluates again; one that computes wrongly is "
               "dropped")
        ->default_str("0")
        ->only(with(devices));
}

/// A system ready to work: on its devices, its hyperfunctions registered, its file loaded.
struct OpenSystem {
    SystemTask task;
    std::optional<Context> context;
    std::optional<evolve::DevicePool> devices;  // in place of the context
    std::optional<RememberShapes> remember;
};

Result<void> open_pool(OpenSystem& open, const SystemFlags& flags, const evolve::EvolutionOptions& options) {
    YOLK_TRY(const std::vector<Device> devices, open_devices(flags.devices, flags.common));
    if (devices.size() == 1 && flags.audit > 0.0) {
        return bad_input("--audit {} needs a second device to evaluate candidates again; --devices gives only {}.",
                         flags.audit, devices.front().info().name);
    }
    open.remember.emplace(devices);
    YOLK_TRY(open.devices,
             evolve::DevicePool::create(
                 devices, {.determinism = options.determinism, .audit = flags.audit, .seed = options.seed}));
    open.task.system->use(*open.devices);
    return {};
}

Result<void> open_one(OpenSystem& open, const SystemFlags& flags) {
    YOLK_TRY(open.context, open_context(flags.common));
    open.remember.emplace(open.context->device());
    open.task.system->use(*open.context);
    return {};
}

/// `options` of the search, where there may be one.
Result<std::unique_ptr<OpenSystem>> open_system(const MakeSystemTask& make, const SystemFlags& flags,
                                                const evolve::EvolutionOptions& options = {}) {
    auto open = std::make_unique<OpenSystem>();
    YOLK_TRY(open->task, make());
    YOLK_TRY_VOID(flags.devices.empty() ? open_one(*open, flags) : open_pool(*open, flags, options));
    if (open->task.examples.empty()) return bad_input("The system has no examples, so there is nothing to do.");
    // Registers what the function calls.
    YOLK_TRY_VOID(open->task.system->trace(open->task.examples.front(), 0));
    if (!flags.load.empty()) YOLK_TRY_VOID(hyper::load_state(*open->task.system, flags.load));
    return open;
}

std::string reward_text(double reward) { return fmt::format("{:.6g}", reward); }

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

// optimize

struct OptimizeFlags : PopulationFlags {
    hyper::OptimizeOptions options;
    std::string out, log;
};

void add_optimize_flags(App& app, hyper::OptimizeOptions& o) {
    add_number(app, "--steps", o.steps, "Steps at most")->default_str("50");
    add_evolution_flags(app, o.evolution, {.members = "Candidates", .generation = "step", .freeze = "Hyperfunction"});
    add_number(app, "--samples", o.samples_per_example, "Evaluations of each candidate, averaged")->default_str("1");
    add_number(app, "--max-batch", o.population_options.max_batch_size, "Candidates times examples at once")
        ->default_str("1024");
    add_number(app, "--budget", o.metric_budget, "Metric calls at most; the best so far is kept");
}

void show_step(const hyper::StepReport& report, std::uint32_t steps) {
    const std::string held_out = report.held_out ? fmt::format(", held out {}", reward_text(*report.held_out)) : "";
    const std::string failed = report.failed > 0 ? fmt::format(", {} failed", report.failed) : "";
    const std::string line = fmt::format("step {}/{}, reward {}, population mean {}, best {}{}{}, {:.1f} s",
                                         report.step + 1, steps, reward_text(report.centre), reward_text(report.mean),
                                         reward_text(report.best), held_out, failed, report.seconds);
    if (!output_is_terminal()) return print_line(line);
    print_text("\r\033[K" + line.substr(0, std::max(terminal_columns(), 2U) - 1));
}

void print_cost(const hyper::OptimizeOutcome& outcome) {
    print_line("{} numbers; at most {} metric calls, {} host calls and about {} dispatches", outcome.cost.numbers,
               outcome.cost.metric_calls, outcome.cost.host_calls, outcome.cost.dispatches);
    for (const std::string& sentence : outcome.fallbacks) print_line(sentence);
}

void print_shares(const hyper::OptimizeOutcome& outcome) {
    double all = 0.0;
    for (const evolve::WorkerShare& share : outcome.shares) all += share.members;
    for (const evolve::WorkerShare& share : outcome.shares) {
        print_line("{}: {:.1f} % of the candidates, busy for {:.1f} s{}", share.name, 100.0 * share.members / all,
                   share.busy_seconds, share.dropped ? ", dropped" : "");
    }
    for (const std::string& note : outcome.notes) print_line(note);
}

void print_optimize_outcome(const hyper::OptimizeOutcome& outcome) {
    print_line("reward {} from {} after {} steps (stopped by {}), {} metric calls, {} host calls, {} dispatches",
               reward_text(outcome.best_reward), reward_text(outcome.start_reward), outcome.steps, outcome.stopped_by,
               outcome.cost.metric_calls, outcome.cost.host_calls, outcome.cost.dispatches);
    if (outcome.held_out_best) {
        print_line("held out: {} from {}", reward_text(*outcome.held_out_best),
                   reward_text(outcome.held_out_start.value_or(0.0)));
    }
    if (outcome.failed_candidates > 0)
        print_line("{} candidates failed and counted as the worst", outcome.failed_candidates);
    print_shares(outcome);
}

/// Keeps other commands from writing the file, and tells before the work whether it can be written at all.
Result<WriterLock> lock_result_file(const std::string& path) {
    YOLK_TRY_VOID(check_regular_file(path));
    return WriterLock::acquire_for_file(path);
}

Result<int> run_optimize(const MakeSystemTask& make, const OptimizeFlags& flags) {
    YOLK_TRY(const std::unique_ptr<OpenSystem> open, open_system(make, flags, flags.options.evolution));
    const SystemTask& task = open->task;
    hyper::OptimizeOptions options = flags.options;
    options.held_out = task.held_out;
    options.log = flags.log;
    WriterLock lock;  // before the work whose result the file is to hold
    if (!flags.out.empty() && !options.dry_run) {
        YOLK_TRY(lock, lock_result_file(flags.out));
    }
    const bool human = !flags.common.json && !flags.common.quiet;
    const InterruptGuard interrupt;
    options.on_step = [&](const hyper::StepReport& report) {
        if (human) show_step(report, options.steps);
        if (flags.common.json && !flags.common.quiet) print_json(to_json(report));
        return !InterruptGuard::requested();
    };
    const Result<hyper::OptimizeOutcome> outcome = task.system->optimize(task.examples, *task.metric, options);
    if (human && output_is_terminal() && outcome && outcome->steps > 0) print_line("");
    if (!outcome) return outcome.error();
    if (!flags.out.empty() && !options.dry_run) {
        hyper::StateInfo info{.scores = {{"reward", outcome->best_reward}}, .seed = options.evolution.seed};
        if (outcome->held_out_best) info.scores["held_out"] = *outcome->held_out_best;
        YOLK_TRY_VOID(hyper::save_state(*task.system, flags.out, info));
    }
    if (flags.common.json) {
        Json json = to_json(*outcome);
        json["fallbacks"] = outcome->fallbacks;
        print_json(json);
    } else if (options.dry_run) {
        print_cost(*outcome);
    } else {
        print_optimize_outcome(*outcome);
        if (!flags.out.empty()) print_line("saved {}", flags.out);
    }
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
        if (group.spec.optimize) groups.push_back(group.spec.name);
    }
    const std::vector<hyper::PlacedEquation> placed = place(traced.graph, groups);
    if (!flags.dot.empty()) YOLK_TRY_VOID(write_file_atomically(flags.dot, to_dot(traced.graph, placed)));
    if (!flags.svg.empty()) YOLK_TRY_VOID(write_file_atomically(flags.svg, to_svg(traced.graph, placed)));
    std::string text = to_text(traced.graph, placed);
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

std::vector<Command> add_system_commands(App& app, const MakeSystemTask& make) {
    const auto evaluate = std::make_shared<EvaluateFlags>();
    App* const evaluates = app.add_subcommand("evaluate", "Score the system on its examples");
    evaluates->add_flag("--predictions", evaluate->predictions, "Every example's prediction")
        ->only({"goes without --json, which always has them", [evaluate] { return !evaluate->common.json; }});

    const auto optimize = std::make_shared<OptimizeFlags>();
    App* const optimizes = app.add_subcommand("optimize", "Improve the system without gradients");
    add_optimize_flags(*optimizes, optimize->options);
    const Option* const dry =
        optimizes->add_flag("--dry-run", optimize->options.dry_run, "Report the cost without searching");
    optimizes->group(without(dry), [&] {
        optimizes->add_option("--log", optimize->log, "JSON lines: steps, then calls and latencies per hyperfunction")
            ->type_name("FILE");
        optimizes->add_option("--out", optimize->out, "Save the tuned system here")->type_name("FILE");
    });

    const auto graph = std::make_shared<GraphFlags>();
    App* const graphs = app.add_subcommand("graph", "Show the graph: stages, and where each equation runs");
    add_number(*graphs, "--example", graph->example, "Whose graph, from 0")->default_str("0");
    graphs->add_option("--dot", graph->dot, "Write it for Graphviz")->type_name("FILE");
    graphs->add_option("--svg", graph->svg, "Write it as a picture")->type_name("FILE");

    const auto ablate = std::make_shared<AblateFlags>();
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

    return {command_of(evaluates, evaluate, make, &run_evaluate), command_of(optimizes, optimize, make, &run_optimize),
            command_of(graphs, graph, make, &run_graph), command_of(ablates, ablate, make, &run_ablate),
            command_of(saves, save, make, &run_save)};
}

}  // namespace yolk::cli
