// SPDX-License-Identifier: Apache-2.0
// What an objective gives a search by derivatives.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "curvature_graph.hpp"
#include "device_gradients.hpp"
#include "objective.hpp"
#include "scored_example.hpp"
#include "valid_graph.hpp"
#include "yolk/log.hpp"

namespace yolk::hyper {
namespace {

std::map<std::string, Value> inputs_of(const TracedExample& example) {
    std::map<std::string, Value> inputs;
    for (const auto& [name, id] : example.graph.inputs) inputs.emplace(name, example.values[id.value]);
    return inputs;
}

/// By structure, in the order in which the structures come.
std::vector<GradientExamples> by_structure(std::span<const TracedExample> scored) {
    std::vector<GradientExamples> groups;
    std::map<std::string, std::size_t> known;
    for (const TracedExample& example : scored) {
        const auto [found, is_new] = known.emplace(signature_of(example.graph), groups.size());
        if (is_new) groups.push_back({.scored = example, .inputs = {}});
        groups[found->second].inputs.push_back(inputs_of(example));
    }
    return groups;
}

}  // namespace

Result<std::vector<TracedExample>> SystemObjective::scored_training() const {
    if (metric_->on_device) return training_.traced;
    std::vector<TracedExample> scored;
    for (std::size_t i = 0; i < training_.traced.size(); ++i) {
        YOLK_TRY(TracedExample example, scored_example(training_.traced[i], *metric_, training_.expected[i]));
        scored.push_back(std::move(example));
    }
    return scored;
}

Result<std::unique_ptr<Gradients>> SystemObjective::gradients(std::span<const std::string> groups) {
    const bool is_pooled = devices() != nullptr && devices()->in_use() > 1;
    if (is_pooled || system_->devices().has_other_ranks()) {
        return bad_input(
            "Derivatives are taken on one device by one process; here are {}. Leave out the other {}, or the gradient.",
            is_pooled ? "several devices" : "several ranks", is_pooled ? "devices" : "ranks");
    }
    if (draws() && drawn_->structures() > 1) {
        return bad_input(
            "Derivatives are of {} examples per generation, and the examples have {} structures; they need one, "
            "so that each generation has the same. Give examples of one structure, or all of them in each generation.",
            options_.examples_per_generation, drawn_->structures());
    }
    YOLK_TRY(const std::vector<TracedExample> scored, scored_training());
    DeviceGradients::Parts parts{
        .dispatcher = dispatcher_,
        .pool = &system_->pool(),
        .parameters = &set_,
        .table = &space_.table,
        .count =
            [this](const PopulationCounts& counts) {
                count_costs({.host_calls = counts.host_calls, .dispatches = counts.dispatches});
            },
        .memory_budget_bytes = options_.population_options.memory_budget_bytes,
        .joined_kernels = options_.population_options.joined_kernels};
    parts.examples = by_structure(scored);
    if (options_.gradient && options_.gradient->kfac) {
        parts.kfac = options_.gradient;
        parts.seed = options_.evolution.seed;
        parts.sample_noise = metric_->sample_noise;
        if (!metric_->on_device) {
            YOLK_TRY(parts.examples.front().sampled, sampled_graph(training_.traced.front().graph, *metric_));
        }
        if (!parts.examples.front().sampled) {
            outcome_.notes.push_back(fmt::format(
                "Metric '{}' does not say how targets are drawn from the model; K-FAC takes the examples' own.",
                metric_->name));
        }
    }
    if (draws()) {
        parts.inputs_of_step = [this](std::uint32_t /*step*/) {
            return Result(std::vector<ExampleInputs>{drawn_->scored_inputs(outcome_.generations)});
        };
    }
    YOLK_TRY(std::unique_ptr<DeviceGradients> made, DeviceGradients::create(std::move(parts), groups));
    for (const std::string& why : made->refused()) {
        outcome_.notes.push_back(why);
        log_info(why);
    }
    if (options_.gradient && options_.gradient->kfac) {
        for (const std::string& group : made->groups()) {
            const std::vector<std::string> layers = made->layers();
            if (std::ranges::find(layers, group) != layers.end()) continue;
            outcome_.notes.push_back(fmt::format("'{}' is not a layer that K-FAC can train; it is trained by {}.",
                                                 group, to_string(options_.gradient->rule)));
        }
    }
    return std::unique_ptr<Gradients>(std::move(made));
}

Result<void> SystemObjective::offer(const Perturbations& around, double reward) {
    count_costs({.metric_calls = 1});
    return compete(around, reward);
}

}  // namespace yolk::hyper
