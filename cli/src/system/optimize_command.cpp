// SPDX-License-Identifier: Apache-2.0
#include "optimize_command.hpp"

#include <algorithm>
#include <memory>

#include "evolution_flags.hpp"
#include "interrupt.hpp"
#include "open_system.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "search_places.hpp"
#include "text_flags.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/writer_lock.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/internal/hyper/state_file.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

struct OptimizeFlags : PopulationFlags {
    hyper::OptimizeOptions options;
    std::string gradient;  ///< the word of its rule; empty: no derivatives
    hyper::GradientOptions of_gradient;
    hyper::KfacOptions of_kfac;
    TextFlags of_text;
    std::string out, log;
};

void show_generation(const hyper::GenerationReport& report, std::uint32_t generations) {
    const std::string held_out = report.held_out ? fmt::format(", held out {}", reward_text(*report.held_out)) : "";
    const std::string failed = report.failed > 0 ? fmt::format(", {} failed", report.failed) : "";
    const std::string line =
        fmt::format("generation {}/{}, reward {}, population mean {}, best {}{}{}, {:.1f} s", report.generation + 1,
                    generations, reward_text(report.unperturbed), reward_text(report.mean), reward_text(report.best),
                    held_out, failed, report.seconds);
    if (!output_is_terminal()) return print_line(line);
    print_text("\r\033[K" + line.substr(0, std::max(terminal_columns(), 2U) - 1));
}

void print_cost(const hyper::OptimizeOutcome& outcome) {
    print_line("{} numbers; at most {} metric calls, {} host calls and about {} dispatches", outcome.cost.numbers,
               outcome.cost.metric_calls, outcome.cost.host_calls, outcome.cost.dispatches);
    print_text_cost(outcome);
    for (const std::string& sentence : outcome.fallbacks) print_line(sentence);
}

void print_optimize_outcome(const hyper::OptimizeOutcome& outcome) {
    if (outcome.resumed_from > 0) print_line("went on from generation {}", outcome.resumed_from);
    print_line("reward {} from {} after {} generations (stopped by {}), {} metric calls, {} host calls, {} dispatches",
               reward_text(outcome.best_reward), reward_text(outcome.start_reward), outcome.generations,
               outcome.stopped_by, outcome.cost.metric_calls, outcome.cost.host_calls, outcome.cost.dispatches);
    if (outcome.held_out_best) {
        print_line("held out: {} from {}", reward_text(*outcome.held_out_best),
                   reward_text(outcome.held_out_start.value_or(0.0)));
    }
    print_text_rounds(outcome);
    if (outcome.failed_candidates > 0)
        print_line("{} candidates failed and counted as the worst", outcome.failed_candidates);
    print_places(outcome);
}

/// Keeps other commands from writing the file, and tells before the work whether it can be written at all.
Result<WriterLock> lock_result_file(const std::string& path) {
    YOLK_TRY_VOID(check_regular_file(path));
    return WriterLock::acquire_for_file(path);
}

/// An error of one rank is every rank's.
template <class T>
Result<T> with_all_ranks(Result<T> mine) {
    if (ranks() == nullptr || ranks()->ends_together()) return mine;
    YOLK_TRY_VOID(evolve::agree(*ranks(), mine ? Result<void>() : Result<void>(mine.error())));
    return mine;
}

Result<int> save_and_print(const OpenSystem& open, const OptimizeFlags& flags, const hyper::OptimizeOutcome& outcome) {
    const bool saves = !flags.out.empty() && !flags.options.dry_run;
    if (saves) {
        hyper::StateInfo info{.scores = {{"reward", outcome.best_reward}}, .seed = flags.options.evolution.seed};
        if (outcome.held_out_best) info.scores["held_out"] = *outcome.held_out_best;
        YOLK_TRY_VOID(hyper::save_state(*open.task.system, flags.out, info));
    }
    if (flags.common.json) {
        Json json = to_json(outcome);
        json["fallbacks"] = outcome.fallbacks;
        print_json(json);
    } else if (flags.options.dry_run) {
        print_cost(outcome);
    } else {
        print_optimize_outcome(outcome);
        if (saves) print_line("saved {}", flags.out);
    }
    return 0;
}

Result<int> run_optimize(const MakeSystemTask& make, const OptimizeFlags& given) {
    YOLK_TRY_VOID(join_ranks(given.common));
    OptimizeFlags flags = given;
    if (!speaks_for_ranks()) flags.common.quiet = true;
    // A dry run calls no model and no other host function.
    YOLK_TRY(const std::unique_ptr<OpenSystem> open,
             with_all_ranks(open_system(make, flags, flags.options.evolution, !flags.options.dry_run)));
    const SystemTask& task = open->task;
    hyper::OptimizeOptions options = flags.options;
    if (!flags.gradient.empty()) {
        options.gradient = flags.of_gradient;
        if (flags.gradient == "kfac") {
            options.gradient->kfac = flags.of_kfac;
        } else {
            YOLK_TRY(options.gradient->rule, parse_optimizer_rule(flags.gradient));
        }
    }
    if (auto text = text_options(flags.of_text, options.evolution.seed)) options.text = std::move(text);
    options.held_out = task.held_out;
    options.log = flags.log;
    if (!flags.out.empty()) options.checkpoint = path_beside(flags.out, ".checkpoint");
    const bool is_run_of_generations = !options.gradient && !options.text;
    if (!flags.out.empty() && is_run_of_generations) options.run_log = path_beside(flags.out, ".log.yolk");
    const bool saves = !flags.out.empty() && !options.dry_run && speaks_for_ranks();
    // Before the work whose result the file is to hold.
    YOLK_TRY(const WriterLock lock, with_all_ranks(saves ? lock_result_file(flags.out) : WriterLock()));
    const bool human = !flags.common.json && !flags.common.quiet;
    const InterruptGuard interrupt;
    options.on_generation = [&](const hyper::GenerationReport& report) {
        if (human) show_generation(report, options.generations);
        if (flags.common.json && !flags.common.quiet) print_json(to_json(report));
        return !InterruptGuard::requested();
    };
    if (options.text) {
        options.text->on_step = [&](const hyper::TextStep& step) {
            if (human) print_text_step(step);
            if (flags.common.json && !flags.common.quiet) print_json(to_json(step));
            return !InterruptGuard::requested();
        };
    }
    const Result<hyper::OptimizeOutcome> outcome = task.system->optimize(task.examples, *task.metric, options);
    if (human && output_is_terminal() && outcome && outcome->generations > 0) print_line("");
    if (!outcome) return outcome.error();
    return speaks_for_ranks() ? save_and_print(*open, flags, *outcome) : 0;
}

}  // namespace

void add_optimize_flags(App& app, hyper::OptimizeOptions& o) {
    add_number(app, "--generations", o.generations, "Generations at most")
        ->default_str(fmt::format("{}", o.generations));
    add_evolution_flags(app, o.evolution,
                        {.members = "Candidates", .generation = "generation", .freeze = "Hyperfunction"});
    add_number(app, "--examples-per-generation", o.examples_per_generation,
               "Examples that each generation is evaluated on, drawn without replacement; 0: all")
        ->default_str("0");
    add_number(app, "--held-out-every", o.held_out_every,
               "Generations between two looks at held-out examples, where there are any; 0: at the start and the end")
        ->default_str("1");
    add_number(app, "--samples", o.samples_per_example, "Evaluations of each candidate, averaged")
        ->default_str(fmt::format("{}", o.samples_per_example));
    add_number(app, "--max-batch", o.population_options.max_batch_size,
               "Candidates times examples at once; 0: what suits the device")
        ->default_str("0");
    add_number(app, "--budget", o.metric_budget, "Metric calls at most; the best so far is kept");
}

namespace {

void add_gradient_flags(App& app, OptimizeFlags& flags) {
    hyper::GradientOptions& o = flags.of_gradient;
    const Option* const gradient =
        app.add_option(
               "--gradient", flags.gradient,
               "Train by derivatives of the metric: sgd, momentum, adam, kfac. What has none is left to EGGROLL")
            ->type_name("RULE");
    app.group(with(gradient), [&] {
        const auto number = [&app](const char* name, auto& target, const char* help) {
            add_number(app, name, target, help)->default_str(fmt::format("{}", target));
        };
        number("--gradient-lr", o.learning_rate, "Learning rate of the derivatives");
        number("--gradient-lr-decay", o.learning_rate_decay, "Its factor per step, above 0, at most 1");
        number("--gradient-warm-up", o.warm_up, "Steps over which it grows from nothing");
        number("--kfac-lr", flags.of_kfac.learning_rate, "Learning rate of K-FAC");
        number("--kfac-damping", flags.of_kfac.damping, "Damping of K-FAC's covariances, from 0");
        app.add_repeatable("--gradient-group", o.groups,
                           "Hyperfunction to train by derivatives, in place of all that can be; may be given more than "
                           "once")
            ->type_name("NAME");
    });
}

}  // namespace

Command add_optimize_command(App& app, const MakeSystemTask& make, const hyper::OptimizeOptions& settings) {
    const auto flags = std::make_shared<OptimizeFlags>();
    flags->options = settings;
    App* const command = app.add_subcommand(
        "optimize", "Improve the system: numbers without gradients by EGGROLL, or with them; prompts by a model");
    add_optimize_flags(*command, flags->options);
    add_gradient_flags(*command, *flags);
    add_text_flags(*command, flags->of_text);
    const Option* const dry =
        command->add_flag("--dry-run", flags->options.dry_run, "Report the cost without searching");
    command->group(without(dry), [&] {
        command->add_option("--log", flags->log, "JSON lines: generations, then calls and latencies per hyperfunction")
            ->type_name("FILE");
        const Option* const out =
            command
                ->add_option(
                    "--out", flags->out,
                    "Save the tuned system here; beside it FILE.checkpoint, and FILE.log.yolk of an EGGROLL search")
                ->type_name("FILE");
        command->group(with(out), [&] {
            add_number(*command, "--checkpoint-every", flags->options.checkpoint_every,
                       "Generations between two checkpoints, FILE.checkpoint; 0: one at the end, interrupted or not")
                ->default_str("10");
            command->add_flag(
                "--resume", flags->options.resume,
                "Go on from FILE.checkpoint with the same settings; --generations and --budget may be others");
        });
    });
    add_system_flags(*command, *flags);
    add_population_flags(*command, *flags);
    return {.app = command, .run = [flags, make] { return run_optimize(make, *flags); }};
}

}  // namespace yolk::cli
