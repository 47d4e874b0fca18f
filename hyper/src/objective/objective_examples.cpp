// SPDX-License-Identifier: Apache-2.0
// A search's examples: traced, and the rewards on those that it does not learn from.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "objective.hpp"
#include "scored_example.hpp"

namespace yolk::hyper {

Result<std::vector<std::string>> SystemObjective::searched_groups() const {
    YOLK_TRY(const ParameterSet set, working_set(system_->parameters(), options_.evolution));
    return optimized_groups(set);
}

Result<void> SystemObjective::prepare(std::span<const Example> examples, Prepared& prepared) {
    // What candidates change is computed for each of them; the traces need not have it.
    const auto searched = [this] { return searched_groups(); };
    YOLK_TRY(prepared.traced, system_->trace_all(examples, searched));
    YOLK_TRY(const std::vector<std::string> varying, searched());
    for (std::size_t i = 0; i < examples.size(); ++i) {
        prepared.expected.push_back(examples[i].expected);
        if (!metric_->on_device) continue;
        auto scored = scored_example(prepared.traced[i], *metric_, examples[i].expected, varying);
        if (!scored) return std::move(scored).error().while_doing(fmt::format("scoring example {}", i));
        prepared.traced[i] = *std::move(scored);
    }
    return {};
}

bool SystemObjective::held_out_due(std::uint32_t generation) const noexcept {
    const std::uint32_t every = options_.held_out_every;
    return generation >= options_.generations || (every != 0 && generation % every == 0);
}

Result<std::optional<double>> SystemObjective::held_out_reward(std::span<const float> coordinates) {
    if (!held_out_) return std::optional<double>();
    YOLK_TRY(const std::vector<Candidate> candidates, candidates_at(coordinates, 1));
    YOLK_TRY(PopulationOutputs outputs, held_out_->evaluator->evaluate(candidates));
    count_shares(outputs.pooled);
    YOLK_TRY(const PopulationEvaluation evaluation,
             score_population(std::move(outputs), held_out_->expected, *metric_));
    return std::optional(evaluation.rewards.front());
}

Result<void> SystemObjective::look_at_held_out(const Perturbations& around) {
    if (scored_) return {};  // where generations draw examples, when the mean was evaluated
    if (!held_out_due(outcome_.generations)) {
        scored_.emplace(std::nullopt);
        return {};
    }
    YOLK_TRY(scored_, held_out_reward(around));
    return {};
}

Result<std::optional<double>> SystemObjective::held_out_reward(const Perturbations& around) {
    if (!held_out_) return std::optional<double>();
    Perturbations mean = around;
    mean.first_member = -1;
    mean.members = 1;
    YOLK_TRY(PopulationOutputs outputs, held_out_->evaluator->evaluate(mean));
    count_shares(outputs.pooled);
    YOLK_TRY(const PopulationEvaluation evaluation,
             score_population(std::move(outputs), held_out_->expected, *metric_));
    YOLK_TRY_VOID(look_at(around));
    return std::optional(evaluation.rewards.front());
}

Result<void> SystemObjective::look_at(std::span<const float> mean) {
    if (!options_.look) return {};
    YOLK_TRY(looked_, options_.look(mean));
    return {};
}

Result<void> SystemObjective::look_at(const Perturbations& around) {
    if (!options_.look) return {};
    std::vector<float> mean(around.mean.begin(), around.mean.end());
    if (!around.device_mean.empty()) {
        const BufferView on_device = around.device_mean.part(0, around.table.size_bytes());
        YOLK_TRY_VOID(dispatcher_->download(on_device, std::as_writable_bytes(std::span(mean))));
        for (const ParameterId row : host_rows_) {  // the device's may be outside their bounds
            const ParameterDesc& desc = around.table.parameters()[row.value];
            const std::span<const float> values =
                around.mean.subspan(around.table.offset(row), std::size_t{desc.rows} * desc.columns);
            std::ranges::copy(values, mean.begin() + around.table.offset(row));
        }
    }
    return look_at(mean);
}

}  // namespace yolk::hyper
