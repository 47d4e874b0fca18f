// SPDX-License-Identifier: Apache-2.0
#include "fitness_steps.hpp"

#include <algorithm>

#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"

namespace yolk {
namespace {

namespace abi_fi = abi::fitness;

/// What the loops besides those over items cost: 256 bins, limbs.
constexpr std::uint64_t kOtherLoops = 512;
/// Of 8 bits, in a key of 32; a digit has as many values as there are counters per tile.
constexpr std::uint32_t kDigits = 4;
constexpr std::uint32_t kDigitValues = 256;
constexpr std::uint64_t kLeastGroupTile = 256;
/// Beyond this many, invocations of fitness_scores take several members; fewer atomics, still more than any device runs
/// at once.
constexpr std::uint64_t kScoreInvocations = 16384;

std::uint32_t narrow(std::uint64_t value) { return static_cast<std::uint32_t>(value); }

/// Invocations for `items` when each takes the same number of them, at least items / most_invocations.
std::uint32_t strided(std::uint64_t items, std::uint64_t most_invocations) {
    return narrow(ceil_div(items, ceil_div(items, most_invocations)));
}

bool sorts(const FitnessDesc& desc) {
    return desc.rule == FitnessRule::CentredRank && desc.population > kMaxCountedRanks;
}

/// Keys per tile of the sort: the smallest power of two whose square is not below the population. An invocation goes
/// over a tile, another over all tiles, so neither should be long. A workgroup's tile is at least as long as the
/// largest workgroup.
std::uint32_t tile_length_of(const FitnessDesc& desc) {
    std::uint64_t length = is_by_group(desc) ? kLeastGroupTile : 1;
    while (length * length < desc.population) length *= 2;
    return narrow(length);
}

/// Invocations that share a tile, or a value of the digit.
std::uint64_t lanes_of(const FitnessDesc& desc) { return is_by_group(desc) ? desc.config->workgroup_size : 1; }

std::uint32_t tile_count_of(const FitnessDesc& desc) {
    return narrow(ceil_div<std::uint64_t>(desc.population, tile_length_of(desc)));
}

abi_fi::Params common_params(const FitnessDesc& desc) {
    abi_fi::Params params{};
    params.population = desc.population;
    params.episodes = desc.episodes;
    params.group_size = desc.rule == FitnessRule::GroupZScore ? desc.group_size : 1;
    params.reciprocal_episodes = 1.0F / static_cast<float>(desc.episodes);
    params.reciprocal_population = 1.0F / static_cast<float>(desc.population);
    params.reciprocal_group_size = 1.0F / static_cast<float>(params.group_size);
    return params;
}

Result<void> check_fitness_loops(const FitnessDesc& desc, std::uint64_t loop_budget) {
    if (loop_budget < loop_cost(1, loop_cost(desc.episodes)) + kOtherLoops) {
        return unsupported(
            "[fitness] averages {} episodes, but the loops of an invocation may cost only {} on this device. Use "
            "fewer episodes per member.",
            desc.episodes, loop_budget);
    }
    if (!sorts(desc)) return {};
    // fitness_sort_count has the longest loops: there are no more tiles than keys in one. By group they are shorter.
    const std::uint64_t needed = 2 * loop_cost(kDigitValues) + loop_cost(tile_length_of(desc));
    if (loop_budget >= needed) return {};
    return unsupported(
        "The rule centred-rank of [fitness] sorts {} members, in loops that cost {} per invocation, but "
        "they may cost only {} on this device. Use at most {} members or another rule.",
        desc.population, needed, loop_budget, kMaxCountedRanks);
}

/// Most stages go over their share of the members; scores over their episodes as well, ranks over the others', the sort
/// over tiles and counters, which by group `lanes` invocations share.
std::uint64_t cost_of(const FitnessStep& step, std::uint64_t lanes) {
    constexpr std::uint64_t kMemberCost = 64;
    constexpr std::uint64_t kCounterCost = 8;
    const abi_fi::Params& params = step.params;
    switch (step.stage) {
        case FitnessStage::Ranks: return 4 * std::uint64_t{params.population};
        case FitnessStage::Finish:
        case FitnessStage::Select: return 4 * kOtherLoops;
        case FitnessStage::SortCount:
            return (kMemberCost * params.tile_length + 2 * kCounterCost * std::uint64_t{kDigitValues}) / lanes;
        case FitnessStage::SortOffsets:
            return kCounterCost * ceil_div<std::uint64_t>(std::uint64_t{kDigitValues} + params.tile_count, lanes);
        case FitnessStage::SortScatter: return kMemberCost * params.tile_length / lanes;
        case FitnessStage::SortedRanks: return 4 * kMemberCost;  // two bisections
        default: break;
    }
    const auto share = ceil_div<std::uint64_t>(params.population, step.invocations);
    return share * (kMemberCost + (step.stage == FitnessStage::Scores ? 4 * std::uint64_t{params.episodes} : 0));
}

void add_median_steps(std::vector<FitnessStep>& steps, abi_fi::Params params) {
    for (params.digit = 0; params.digit < 4; ++params.digit) {
        steps.push_back({FitnessStage::Histogram, params, params.invocation_count});
        steps.push_back({FitnessStage::Select, params, 1});
    }
}

void add_sort_steps(std::vector<FitnessStep>& steps, abi_fi::Params params, const FitnessDesc& desc) {
    params.tile_length = tile_length_of(desc);
    params.tile_count = tile_count_of(desc);
    const std::uint64_t lanes = lanes_of(desc);
    for (params.digit = 0; params.digit < kDigits; ++params.digit) {
        steps.push_back({FitnessStage::SortCount, params, lanes * params.tile_count});
        steps.push_back({FitnessStage::SortOffsets, params, lanes * kDigitValues});
        steps.push_back({FitnessStage::SortScatter, params, lanes * params.tile_count});
    }
    steps.push_back({FitnessStage::SortedRanks, params, params.population});
}

void add_rank_steps(std::vector<FitnessStep>& steps, const abi_fi::Params& params, const FitnessDesc& desc) {
    if (sorts(desc)) {
        add_sort_steps(steps, params, desc);
    } else {
        steps.push_back({FitnessStage::Ranks, params, params.population});
    }
    steps.push_back({FitnessStage::RankMoments, params, params.invocation_count});
}

}  // namespace

bool is_by_group(const FitnessDesc& desc) noexcept { return desc.config && desc.config->by_group != 0; }

Result<std::vector<FitnessStep>> fitness_steps(const FitnessDesc& desc, std::uint64_t loop_budget) {
    YOLK_TRY_VOID(check_fitness_loops(desc, loop_budget));
    const auto twos = ceil_div<std::uint64_t>(desc.population, 2);  // an odd population's last member is alone
    const std::uint64_t weight_count = desc.antithetic ? desc.population / 2 : desc.population;
    std::vector<FitnessStep> steps;
    abi_fi::Params params = common_params(desc);
    const std::uint64_t members_by_loops = iterations_within(loop_budget - kOtherLoops, loop_cost(desc.episodes));
    const auto fewest = ceil_div<std::uint64_t>(desc.population, std::max<std::uint64_t>(1, members_by_loops));
    params.invocation_count = strided(desc.population, std::max(kScoreInvocations, fewest));
    steps.push_back({FitnessStage::Scores, params, params.invocation_count});
    // From here on the count of fitness_moments: the last kernels must know it to undo its offsets.
    params.invocation_count = strided(twos, abi::fitness::kMaxInvocations);
    steps.push_back({FitnessStage::Moments, params, params.invocation_count});
    if (desc.rule == FitnessRule::PairDifference && desc.robust) add_median_steps(steps, params);
    if (desc.rule == FitnessRule::CentredRank) add_rank_steps(steps, params, desc);
    FitnessStep weights{FitnessStage::Weights, params, weight_count};
    if (is_integer_rule(desc.rule)) {
        weights.invocations = ceil_div<std::uint64_t>(weight_count, 4);
        weights.params.invocation_count = narrow(weights.invocations);
    }
    steps.push_back(weights);
    steps.push_back({FitnessStage::Finish, params, 1});
    for (FitnessStep& step : steps) step.cost_per_invocation = cost_of(step, lanes_of(desc));
    return steps;
}

std::uint64_t fitness_state_words(const FitnessDesc& desc) noexcept {
    const std::uint64_t head = abi::fitness::kStateArray;
    if (sorts(desc)) {
        return head + std::uint64_t{2} * desc.population + std::uint64_t{kDigitValues} * tile_count_of(desc);
    }
    if (desc.rule == FitnessRule::CentredRank) return head + desc.population;
    if (desc.rule == FitnessRule::GroupZScore) {
        return head + std::uint64_t{abi::fitness::kGroupLimbs} * (desc.population / desc.group_size);
    }
    return desc.robust ? abi::fitness::kStateArray : abi::fitness::kStateHistogram;
}

std::uint64_t fitness_zeroed_words(const FitnessDesc& desc) noexcept {
    // What lies behind is written before it is read.
    if (sorts(desc)) return abi::fitness::kStateArray;
    return desc.rule == FitnessRule::CentredRank ? abi::fitness::kStateHistogram : fitness_state_words(desc);
}

}  // namespace yolk
