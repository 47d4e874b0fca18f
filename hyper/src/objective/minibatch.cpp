// SPDX-License-Identifier: Apache-2.0
#include "minibatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "objective.hpp"
#include "refresh.hpp"
#include "scored_example.hpp"
#include "system_impl.hpp"
#include "valid_graph.hpp"
#include "yolk/internal/core/shuffle.hpp"

namespace yolk::hyper {

std::vector<std::uint32_t> draw_examples(std::uint64_t seed, std::uint32_t generation, std::uint32_t of,
                                         std::uint32_t count) {
    const std::uint32_t generations = std::max(1U, of / std::max(1U, count));  // of one pass
    const std::vector<std::uint32_t> order =
        shuffled({.seed = seed, .domain = Domain::Data, .time = generation / generations}, of);
    const std::uint32_t first = generation % generations * count;
    return {order.begin() + first, order.begin() + std::min(of, first + count)};
}

Result<DrawnExamples> DrawnExamples::create(System& system, std::span<const Example> examples, std::uint32_t count,
                                            std::uint64_t seed, const Scored& scored,
                                            std::span<const std::string> varying) {
    YOLK_TRY_VOID(check_keys(examples));
    DrawnExamples made;
    made.examples_ = examples;
    made.count_ = count;
    made.seed_ = seed;
    made.expected_is_input_ = static_cast<bool>(scored);
    std::map<std::string, std::uint32_t> shared;      // trace by types
    std::map<std::string, std::uint32_t> structures;  // by signature
    for (std::size_t i = 0; i < examples.size(); ++i) {
        const std::string types = population::types_of(made.inputs_of(i));
        if (const auto found = shared.find(types); found != shared.end()) {
            made.origins_.push_back({.trace = found->second, .is_own = false});
            continue;
        }
        YOLK_TRY(TracedExample traced, system.trace(examples[i], i, varying));
        if (scored) {
            YOLK_TRY(traced, scored(std::move(traced), examples[i].expected));
        }
        const auto number = static_cast<std::uint32_t>(made.traces_.size());
        if (population::is_refreshable(traced)) shared.emplace(types, number);
        made.structure_of_.push_back(
            structures.emplace(signature_of(traced.graph), static_cast<std::uint32_t>(structures.size()))
                .first->second);
        made.traces_.push_back(std::move(traced));
        made.origins_.push_back({.trace = number});
    }
    made.structures_ = structures.size();
    return made;
}

std::map<std::string, Value> DrawnExamples::inputs_of(std::size_t example) const {
    std::map<std::string, Value> inputs = examples_[example].inputs;
    if (expected_is_input_) inputs.emplace(kExpectedInput, examples_[example].expected);
    return inputs;
}

std::vector<std::uint32_t> DrawnExamples::drawn_in(std::uint32_t generation) const {
    std::vector<std::uint32_t> drawn =
        draw_examples(seed_, generation, static_cast<std::uint32_t>(examples_.size()), count_);
    std::ranges::stable_sort(drawn, {}, [&](std::uint32_t i) { return structure_of_[origins_[i].trace]; });
    return drawn;
}

std::vector<std::map<std::string, Value>> DrawnExamples::scored_inputs(std::uint32_t generation) const {
    std::vector<std::map<std::string, Value>> inputs;
    for (const std::uint32_t example : drawn_in(generation)) {
        inputs.push_back(examples_[example].inputs);
        inputs.back().emplace(kExpectedInput, examples_[example].expected);
    }
    return inputs;
}

Result<bool> DrawnExamples::draw(std::uint32_t generation, std::span<const std::string> varying,
                                 std::vector<TracedExample>& traced, std::vector<Value>& expected) {
    const std::vector<std::uint32_t> drawn = drawn_in(generation);
    bool same = placed_.size() == drawn.size();
    placed_.resize(drawn.size(), UINT32_MAX);
    traced.resize(drawn.size());
    expected.clear();
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        const Origin& origin = origins_[drawn[i]];
        expected.push_back(examples_[drawn[i]].expected);
        const std::uint32_t before = std::exchange(placed_[i], origin.trace);
        same = same && structure_of_[before] == structure_of_[origin.trace];
        if (origin.is_own || before != origin.trace) traced[i] = traces_[origin.trace];
        if (origin.is_own) continue;
        if (Result<void> fresh = population::refresh_valid(traced[i], inputs_of(drawn[i]), varying); !fresh)
            return std::move(fresh).error().while_doing(fmt::format("taking example {}", drawn[i]));
    }
    return same;
}

Result<void> SystemObjective::trace_training(std::span<const Example> examples) {
    DrawnExamples::Scored scored;
    if (metric_->on_device) {
        scored = [this](const TracedExample& traced, const Value& expected) -> Result<TracedExample> {
            YOLK_TRY(const std::vector<std::string> varying, searched_groups());
            return scored_example(traced, *metric_, expected, varying);
        };
    }
    const std::vector<std::string> known =
        searched_groups().value_or(std::vector<std::string>());  // none before the function has run
    YOLK_TRY(drawn_, DrawnExamples::create(*system_, examples, options_.examples_per_generation,
                                           options_.evolution.seed, scored, known));
    return {};
}

Result<void> SystemObjective::draw_generation(std::uint32_t generation) {
    if (!draws() || drawn_generation_ == generation) return {};
    YOLK_TRY(const bool same, drawn_->draw(generation, optimized_groups(set_), training_.traced, training_.expected));
    drawn_generation_ = generation;
    // Traces that hold values of their examples may differ in what plans rely on; then new ones are made.
    if (same && training_.evaluator && training_.evaluator->set_examples(training_.traced)) return {};
    return plan(training_);
}

Result<bool> SystemObjective::is_to_keep(const std::function<Result<std::optional<double>>()>& held_out,
                                         double reward) {
    if (held_out_ && !held_out_due(outcome_.generations)) {
        scored_.emplace(std::nullopt);
        return false;
    }
    YOLK_TRY(const std::optional<double> now, held_out());
    scored_ = now;
    if (!std::isfinite(reward)) return false;
    if (!now) return true;
    if (!std::isfinite(*now)) return false;
    if (!(*now > best_held_out_.value_or(-std::numeric_limits<double>::infinity()))) return false;
    best_held_out_ = now;
    return true;
}

/// Of several points in one call the best on these examples.
Result<void> SystemObjective::compete_drawn(std::span<const float> points, std::span<const double> rewards) {
    const std::size_t elements = space_.table.element_count();
    std::size_t best = 0;
    for (std::size_t i = 1; i < rewards.size(); ++i) {
        if (rewards[i] > rewards[best] || !std::isfinite(rewards[best])) best = i;
    }
    if (rewards.empty()) return {};
    const std::span<const float> point = points.subspan(elements * best, elements);
    YOLK_TRY(const bool keeps, is_to_keep([&] { return held_out_reward(point); }, rewards[best]));
    if (!keeps) return {};
    outcome_.best_reward = -std::numeric_limits<double>::infinity();
    compete(point, rewards[best]);
    return {};
}

}  // namespace yolk::hyper
