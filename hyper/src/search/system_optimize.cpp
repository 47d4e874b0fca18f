// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "graph_queries.hpp"
#include "house_searches.hpp"
#include "models_in_force.hpp"
#include "objective.hpp"
#include "rounds.hpp"
#include "system_impl.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {

Result<void> validate(const KfacOptions& options) {
    if (!std::isfinite(options.learning_rate) || options.learning_rate < evolve::kMinScale) {
        return bad_input("K-FAC's learning rate is {}; it must be finite and at least {}.", options.learning_rate,
                         evolve::kMinScale);
    }
    if (!std::isfinite(options.damping) || options.damping < 0.0F)
        return bad_input("K-FAC's damping is {}; it must be finite and at least 0.", options.damping);
    if (options.decay >= 0.0F && options.decay < 1.0F) return {};
    return bad_input("The decay of K-FAC's averages is {}; it must be from 0 up to and without 1.", options.decay);
}

Result<void> validate(const GradientOptions& options) {
    const auto is_rate = [](float value) { return std::isfinite(value) && value >= evolve::kMinScale; };
    if (options.kfac) YOLK_TRY_VOID(validate(*options.kfac));
    if (!is_rate(options.learning_rate)) {
        return bad_input("The gradient's learning rate is {}; it must be finite and at least {}.",
                         options.learning_rate, evolve::kMinScale);
    }
    if (!(options.learning_rate_decay > 0.0F) || options.learning_rate_decay > 1.0F) {
        return bad_input("The gradient's learning rate decays by {} per step; it must be above 0, at most 1.",
                         options.learning_rate_decay);
    }
    for (const float beta : {options.beta1, options.beta2}) {
        if (beta >= 0.0F && beta < 1.0F) continue;
        return bad_input("A decay of the gradient's moments is {}; it must be from 0 up to and without 1.", beta);
    }
    if (!(options.epsilon >= evolve::kMinScale) || options.epsilon > 1.0F) {
        return bad_input("The gradient's epsilon is {}; it must be from {} to 1.", options.epsilon, evolve::kMinScale);
    }
    return {};
}

Result<void> validate(const OptimizeOptions& options) {
    if (options.generations < 1) return bad_input("The number of generations is 0; it must be at least 1.");
    if (options.samples_per_example < 1) return bad_input("The samples per example are 0; there must be at least 1.");
    if (options.evolution.episodes != 1) {
        return bad_input(
            "The episodes per member are {}; a system has no episodes. Leave them at 1, and evaluate each "
            "candidate more than once with samples_per_example.",
            options.evolution.episodes);
    }
    if (options.gradient) YOLK_TRY_VOID(validate(*options.gradient));
    if (options.text) YOLK_TRY_VOID(prompts::check_text_options(options));
    if (options.gradient && options.gradient->kfac && !options.checkpoint.empty())
        return bad_input(
            "A search by K-FAC keeps no checkpoint; leave the checkpoint's path empty, or take another rule.");
    if (options.search != nullptr && !options.checkpoint.empty())
        return bad_input("A search of your own keeps no checkpoint; leave the checkpoint's path empty.");
    if (!options.run_log.empty() && (options.gradient || options.search != nullptr || options.text)) {
        return bad_input("A log of generations is kept by EGGROLL alone, and here is {}; leave the log's path empty.",
                         options.gradient ? "a search by derivatives"
                         : options.text   ? "a search of prompts"
                                          : "a search of your own");
    }
    if (options.resume && options.checkpoint.empty())
        return bad_input("The search is to resume, but has no path of a checkpoint.");
    // A search of the caller's own takes of them what it likes.
    return options.search != nullptr ? Result<void>() : evolve::validate(options.evolution);
}

Result<OptimizeOutcome> System::optimize(std::span<const Example> given, const Metric& metric,
                                         const OptimizeOptions& options) {
    YOLK_TRY_VOID(validate(options));
    std::vector<Example> room;
    YOLK_TRY(const std::span<const Example> examples, of_one_kind(given, room));
    if (options.examples_per_generation > examples.size()) {
        return bad_input(
            "{} examples per generation were asked for, but {} are there; give at most as many, or 0 for all.",
            options.examples_per_generation, examples.size());
    }
    const ModelScope models(in_force_with(impl_->models));
    return options.text ? optimize_with_texts(examples, metric, options) : optimize_numbers(examples, metric, options);
}

Result<std::uint64_t> System::registered_model_calls(std::span<const Example> examples, bool is_dry) {
    impl_->is_dry = true;
    Result<std::vector<TracedExample>> traced = trace_all(examples);
    impl_->is_dry = false;
    if (!traced && is_dry) {
        return std::move(traced).error().while_doing(
            "making a dry run, where a host function's result is its HyperfunctionOptions::stand_in");
    }
    // What stand-ins cannot do, one example with real calls tells.
    if (!traced) traced = trace_all(examples.first(1));
    if (!traced) return std::move(traced).error();
    std::uint64_t most = 0;
    for (const TracedExample& each : *traced) most = std::max(most, model_calls_in(each.graph));
    return most;
}

Result<OptimizeOutcome> System::optimize_with_texts(std::span<const Example> examples, const Metric& metric,
                                                    const OptimizeOptions& options) {
    if (devices().has_other_ranks()) {
        return bad_input(
            "Prompts are optimized by one process, but there are {} ranks. Start one, which may use several devices, "
            "or optimize the numbers alone.",
            devices().exchange()->ranks());
    }
    YOLK_TRY(const std::uint64_t model_calls, registered_model_calls(examples, options.dry_run));
    const prompts::SystemTask task{.system = this,
                                   .train = examples,
                                   .validation = options.held_out.empty() ? examples : options.held_out,
                                   .metric = &metric,
                                   .samples_per_example = options.samples_per_example,
                                   .model_calls_per_example = model_calls,
                                   .frozen = options.evolution.freeze};
    const ParameterSet before = parameters();
    ParameterSet known = before;
    for (const std::string& name : options.evolution.freeze) YOLK_TRY_VOID(known.set_optimized(name, false));
    Result<OptimizeOutcome> outcome = prompts::optimize_by_rounds(
        task, options, [&](const OptimizeOptions& numbers) { return optimize_numbers(examples, metric, numbers); });
    if (!outcome) parameters() = before;
    return outcome;
}

Result<OptimizeOutcome> System::optimize_numbers(std::span<const Example> examples, const Metric& metric,
                                                 const OptimizeOptions& options) {
    impl_->is_dry = options.dry_run;
    auto created = SystemObjective::create(*this, examples, metric, options);
    impl_->is_dry = false;
    if (!created) {
        return options.dry_run
                   ? std::move(created).error().while_doing(
                         "making a dry run, where a host function's result is its HyperfunctionOptions::stand_in")
                   : std::move(created).error();
    }
    const std::unique_ptr<SystemObjective> objective = *std::move(created);
    const std::unique_ptr<Search> house = options.gradient ? gradient_search(*objective) : eggroll(*objective);
    Search& search = options.search == nullptr ? *house : *options.search;
    if (options.dry_run) return objective->expected(search);
    YOLK_TRY(OptimizeOutcome outcome, objective->run(search));
    if (!objective->best()) return outcome;
    ParameterSet tuned = objective->set();
    YOLK_TRY_VOID(apply_coordinates(tuned, *objective->best()));
    // The frozen groups of `tuned` are not optimized only there: each group's values go back one by one.
    for (const ParameterGroup& group : tuned.groups()) {
        if (group.spec.optimize) YOLK_TRY_VOID(parameters().set(group.spec.name, group.values));
    }
    return outcome;
}

Result<OptimizeOutcome> System::optimize(std::span<const Example> examples, const Metric& metric) {
    return optimize(examples, metric, {});
}

}  // namespace yolk::hyper
