// SPDX-License-Identifier: Apache-2.0
// fitness: raw returns to the weights of the update (docs/kernels/fitness.md). Statistics are exact integers, so any
// order and any split gives the same bytes. Class E for the int8 weights given the scores, P for the summary's floats;
// float rules are class T.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "yolk/internal/abi/fitness_summary.h"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

enum class FitnessRule {
    PairDifference,  ///< the default: f+ - f-, scaled to int8
    PairSign,        ///< ternary
    CentredRank,     ///< ties averaged, quantized to int8 per pair
    ZScore,          ///< float; population variance, eps 1e-5
    GroupZScore,     ///< float; group mean, global variance
};
/// "pair-difference", "pair-sign", "centred-rank", "z-score", "group-z-score".
constexpr auto enum_words(FitnessRule /*type*/) {
    return std::to_array<std::string_view>(
        {"pair-difference", "pair-sign", "centred-rank", "z-score", "group-z-score"});
}
[[nodiscard]] constexpr std::string_view to_string(FitnessRule rule) noexcept { return word_of(rule); }
[[nodiscard]] Result<FitnessRule> parse_fitness_rule(std::string_view name);
/// Whether the rule ends in int8, as exact mode demands; else its weights are floats.
[[nodiscard]] bool is_integer_rule(FitnessRule rule) noexcept;
/// Whether the rule compares the two members of a pair, so that it needs antithetic sampling.
[[nodiscard]] bool is_pair_rule(FitnessRule rule) noexcept;

struct FitnessConfig {
    std::uint32_t workgroup_size = 64;
    /// 1: a workgroup, of at least 64, brings statistics together in shared memory and shares a tile of the sort.
    std::uint32_t by_group = 0;
};

struct FitnessViews {
    BufferView returns;  ///< fp32 [episodes, population]; not-finite ones count as the worst finite score
    BufferView scores;   ///< out, fp32 [population], as they came (not-finite kept)
    /// Out, one weight per pair. Integer rules: int8, four to a word, little end first, padded with zeros to a multiple
    /// of 4 pairs. Float rules: fp32 w = shaped(f+) - shaped(f-). Without antithetic sampling one per member,
    /// shaped(f).
    BufferView weights;
    BufferView summary;  ///< out, one abi::fitness::Summary
};

struct FitnessPipelines;  // primitives/src/fitness/fitness.cpp
struct FitnessBindings;   // likewise

/// Barriers between its own dispatches are inside; the caller puts one before and after.
struct FitnessDesc {
    using Config = FitnessConfig;
    using Views = FitnessViews;
    using Pipelines = std::shared_ptr<const FitnessPipelines>;
    using Bindings = std::shared_ptr<const FitnessBindings>;

    std::uint32_t population = 0;  ///< 2 ... 2^20; even where members come in pairs
    std::uint32_t episodes = 1;    ///< a member's score is the mean over them, summed in ascending order
    FitnessRule rule = FitnessRule::PairDifference;
    bool robust = false;           ///< pair difference: scale by the smaller of the maximum and six medians
    std::uint32_t group_size = 0;  ///< members per group for GroupZScore; divides the population
    /// Members come in pairs and weights are one per pair; false: one per member, and the pair rules are refused.
    bool antithetic = true;
    std::optional<FitnessConfig> config{};  ///< unset: the device's table, else the heuristic
};
[[nodiscard]] std::uint64_t fitness_weights_bytes(const FitnessDesc& desc) noexcept;

template <>
const Operation<FitnessDesc>& operation_of<FitnessDesc>();
using FitnessPlan = Plan<FitnessDesc>;
using BoundFitness = Bound<FitnessDesc>;
/// Several dispatches; scratch for the statistics. Errors besides those of every plan: a population that is odd where
/// members come in pairs, a rule of pairs where they do not, groups that do not divide it, more episodes or members to
/// sort than the loops of the device allow.
inline constexpr Planner<FitnessDesc> plan_fitness;

}  // namespace yolk
