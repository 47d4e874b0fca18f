// SPDX-License-Identifier: Apache-2.0
#include "fitness_steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/core/shape.hpp"
#include "yolk/runtime/loop_budget.hpp"

namespace yolk {
namespace {

using abi::fitness::Params;

/// What the loops besides those over items cost: 256 bins, limbs.
constexpr std::uint64_t kOtherLoops = 512;
/// Counting compares every member with every other.
constexpr std::uint32_t kMaxRankedPopulation = 32768;
/// Beyond this many, invocations of fitness_scores take several members; fewer atomics, still more than any device runs
/// at once.
constexpr std::uint64_t kScoreInvocations = 16384;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// Invocations for `items` when each takes the same number of them, at least items / most_invocations.
std::uint32_t strided(std::uint64_t items, std::uint64_t most_invocations) {
    return narrow(ceil_div(items, ceil_div(items, most_invocations)));
}

Params common_params(const FitnessDesc& desc) {
    Params params{};
    params.population = desc.population;
    params.episodes = desc.episodes;
    params.group_size = desc.rule == FitnessRule::GroupZScore ? desc.group_size : 1;
    params.reciprocal_episodes = 1.0F / static_cast<float>(desc.episodes);
    params.reciprocal_population = 1.0F / static_cast<float>(desc.population);
    params.reciprocal_group_size = 1.0F / static_cast<float>(params.group_size);
    return params;
}

Result<void> check_loops(const FitnessDesc& desc, std::uint64_t loop_budget) {
    if (loop_budget < loop_cost(1, loop_cost(desc.episodes)) + kOtherLoops) {
        return unsupported(fmt::format(
            "[fitness] averages {} episodes, but the loops of an invocation may cost only {} on this device. Use "
            "fewer episodes per member.",
            desc.episodes, loop_budget));
    }
    if (desc.rule == FitnessRule::CentredRank && desc.population > kMaxRankedPopulation) {
        return unsupported(fmt::format(
            "The rule centred-rank of [fitness] counts over all members, up to {} of them; the population is {}. Use a "
            "smaller population or another rule.",
            kMaxRankedPopulation, desc.population));
    }
    return {};
}

/// Every stage goes over its share of the members; scores over their episodes as well, ranks over the others'.
std::uint64_t cost_of(const FitnessStep& step) {
    constexpr std::uint64_t kMemberCost = 64;
    const std::uint64_t share = ceil_div<std::uint64_t>(step.params.population, step.invocations);
    if (step.stage == FitnessStage::Ranks) return 4 * std::uint64_t{step.params.other_count};
    if (step.stage == FitnessStage::Finish || step.stage == FitnessStage::Select) return 4 * kOtherLoops;
    return share * (kMemberCost + (step.stage == FitnessStage::Scores ? 4 * std::uint64_t{step.params.episodes} : 0));
}

void add_median_steps(std::vector<FitnessStep>& steps, Params params) {
    for (params.digit = 0; params.digit < 4; ++params.digit) {
        steps.push_back({FitnessStage::Histogram, params, params.invocation_count});
        steps.push_back({FitnessStage::Select, params, 1});
    }
}

void add_rank_steps(std::vector<FitnessStep>& steps, Params params, std::uint64_t loop_budget) {
    const std::uint64_t chunk =
        std::min<std::uint64_t>(params.population, iterations_within(loop_budget - kOtherLoops));
    for (std::uint64_t first = 0; first < params.population; first += chunk) {
        params.first_other = narrow(first);
        params.other_count = narrow(std::min(chunk, params.population - first));
        steps.push_back({FitnessStage::Ranks, params, params.population});
    }
    steps.push_back({FitnessStage::RankMoments, params, params.invocation_count});
}

}  // namespace

Result<std::vector<FitnessStep>> fitness_steps(const FitnessDesc& desc, std::uint64_t loop_budget) {
    YOLK_TRY_VOID(check_loops(desc, loop_budget));
    const std::uint64_t pairs = desc.population / 2;
    std::vector<FitnessStep> steps;
    Params params = common_params(desc);
    const std::uint64_t members_by_loops = iterations_within(loop_budget - kOtherLoops, loop_cost(desc.episodes));
    const std::uint64_t fewest = ceil_div<std::uint64_t>(desc.population, std::max<std::uint64_t>(1, members_by_loops));
    params.invocation_count = strided(desc.population, std::max(kScoreInvocations, fewest));
    steps.push_back({FitnessStage::Scores, params, params.invocation_count});
    // From here on the count of fitness_moments: the last kernels must know it to undo its offsets.
    params.invocation_count = strided(pairs, abi::fitness::kMaxInvocations);
    steps.push_back({FitnessStage::Moments, params, params.invocation_count});
    if (desc.rule == FitnessRule::PairDifference && desc.robust) add_median_steps(steps, params);
    if (desc.rule == FitnessRule::CentredRank) add_rank_steps(steps, params, loop_budget);
    FitnessStep weights{FitnessStage::Weights, params, pairs};
    if (is_integer_rule(desc.rule)) {
        weights.invocations = ceil_div<std::uint64_t>(pairs, 4);
        weights.params.invocation_count = narrow(weights.invocations);
    }
    steps.push_back(weights);
    steps.push_back({FitnessStage::Finish, params, 1});
    for (FitnessStep& step : steps) step.cost_per_invocation = cost_of(step);
    return steps;
}

std::uint64_t fitness_state_words(const FitnessDesc& desc) noexcept {
    const std::uint64_t head = abi::fitness::kStateArray;
    if (desc.rule == FitnessRule::CentredRank) return head + desc.population;
    if (desc.rule == FitnessRule::GroupZScore) {
        return head + std::uint64_t{abi::fitness::kGroupLimbs} * (desc.population / desc.group_size);
    }
    return desc.robust ? abi::fitness::kStateArray : abi::fitness::kStateHistogram;
}

std::uint64_t fitness_zeroed_words(const FitnessDesc& desc) noexcept {
    // The first dispatch of fitness_ranks overwrites its array.
    return desc.rule == FitnessRule::CentredRank ? abi::fitness::kStateHistogram : fitness_state_words(desc);
}

}  // namespace yolk
