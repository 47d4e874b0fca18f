// SPDX-License-Identifier: Apache-2.0
// fitness: raw returns to the weights of the update (docs/kernels/fitness.md). Statistics are exact integers, so any
// order and any split gives the same bytes. Class E for the int8 weights given the scores, P for the summary's floats;
// float rules are class T.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "yolk/abi/fitness.h"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

enum class FitnessRule {
    PairDifference,  ///< the default: f+ - f-, scaled to int8
    PairSign,        ///< ternary
    CentredRank,     ///< ties averaged, quantized to int8 per pair
    ZScore,          ///< float; population variance, eps 1e-5
    GroupZScore,     ///< float; group mean, global variance
};
/// "pair-difference", "pair-sign", "centred-rank", "z-score", "group-z-score".
[[nodiscard]] std::string_view to_string(FitnessRule rule) noexcept;
[[nodiscard]] Result<FitnessRule> parse_fitness_rule(std::string_view name);
/// Whether the rule ends in int8, as exact mode demands; else its weights are floats.
[[nodiscard]] bool is_integer_rule(FitnessRule rule) noexcept;
/// Whether the rule compares the two members of a pair, so that it needs antithetic sampling.
[[nodiscard]] bool is_pair_rule(FitnessRule rule) noexcept;

struct FitnessConfig {
    std::uint32_t workgroup_size = 64;
};

struct FitnessDesc {
    std::uint32_t population = 0;  ///< 2 ... 2^20; even where members come in pairs
    std::uint32_t episodes = 1;    ///< a member's score is the mean over them, summed in ascending order
    FitnessRule rule = FitnessRule::PairDifference;
    bool robust = false;           ///< pair difference: scale by the smaller of the maximum and six medians
    std::uint32_t group_size = 0;  ///< members per group for GroupZScore; divides the population
    /// Members come in pairs and weights are one per pair; false: one per member, and the pair rules are refused.
    bool antithetic = true;
    std::optional<FitnessConfig> config{};  ///< unset: the device's table, else FitnessConfig{}
};

/// Its tuning space; the same for every shape and device. Any configuration gives the same bytes.
[[nodiscard]] ConfigSpace<FitnessConfig> fitness_space(const DeviceInfo& info, const FitnessDesc& desc);

struct FitnessViews {
    BufferView returns;  ///< fp32 [episodes, population]; not-finite ones count as the worst finite score
    BufferView scores;   ///< out, fp32 [population], as they came (not-finite kept)
    /// Out, one weight per pair. Integer rules: int8, four to a word, little end first, padded with zeros to a multiple
    /// of 4 pairs. Float rules: fp32 w = shaped(f+) - shaped(f-). Without antithetic sampling one per member,
    /// shaped(f).
    BufferView weights;
    BufferView summary;  ///< out, one abi::fitness::Summary
};
[[nodiscard]] std::uint64_t fitness_weights_bytes(const FitnessDesc& desc) noexcept;

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundFitness {
   public:
    /// Barriers between its own dispatches inside; the caller puts one before and after.
    void record(Recorder& recorder) const noexcept;
    BoundFitness() noexcept;
    ~BoundFitness();
    BoundFitness(BoundFitness&&) noexcept;
    BoundFitness& operator=(BoundFitness&&) noexcept;

   private:
    friend class FitnessPlan;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Immutable: threads may share it. The device must outlive it.
class FitnessPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept;
    [[nodiscard]] Result<BoundFitness> bind(const FitnessViews& views, const BufferView& scratch) const;
    FitnessPlan() noexcept;
    ~FitnessPlan();
    FitnessPlan(FitnessPlan&&) noexcept;
    FitnessPlan& operator=(FitnessPlan&&) noexcept;

   private:
    friend Result<FitnessPlan> plan_fitness(const Device&, const FitnessDesc&);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// `device` must outlive the plan. Errors: population, episodes or group size outside their ranges, a configuration
/// outside the space, robust with another rule than pair difference, a pair rule
/// without antithetic sampling, returns above the device's binding limit;
/// Unsupported: more episodes, or members to sort for ranks, than the device's loops allow.
[[nodiscard]] Result<FitnessPlan> plan_fitness(const Device& device, const FitnessDesc& desc);

}  // namespace yolk
