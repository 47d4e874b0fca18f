// SPDX-License-Identifier: Apache-2.0
// A search's run of evolve over its policy: generations of antithetic low-rank members, and the step that each takes.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "yolk/internal/autotune/policy_kernels.hpp"
#include "yolk/internal/autotune/strategy.hpp"

namespace yolk::autotune {

inline constexpr std::uint32_t kPolicyMembers = 8;  ///< four pairs
inline constexpr std::uint32_t kPolicyWindow = 32;  ///< sample gradients that M is made of
inline constexpr float kPolicyDamping = 0.02F;      ///< of all steps but the plain one
inline constexpr float kLargestLogit = 6.0F;        ///< from the mean of its row

/// The population, its noise and its step: rank 1, sigma 1, pair differences, plain SGD.
[[nodiscard]] evolve::EvolutionOptions policy_options(float learning_rate, std::uint64_t seed);

class PolicyRun {
   public:
    /// Begins with zeros, the uniform policy. Kernels that fail are replaced by the host's, which go on with their
    /// bits.
    PolicyRun(PolicyDesc desc, Step step, std::unique_ptr<PolicyKernels> kernels);

    /// Of the generation that is under way: [kPolicyMembers, candidates]. Valid until the next call.
    [[nodiscard]] std::span<const float> scores();
    /// Ends the generation: `returns` of its members, higher is better.
    void follow(std::span<const float> returns);

    [[nodiscard]] const evolve::EvolutionState& state() const noexcept { return state_; }

   private:
    template <class Call>
    auto attempt(Call&& call);
    [[nodiscard]] std::size_t values_of(std::size_t row) const;
    void sample(const evolve::ShapedGeneration& shaped);
    [[nodiscard]] std::vector<float> stepped(std::vector<float> gradient);
    [[nodiscard]] PolicyPreconditioner sampled_covariance() const;
    [[nodiscard]] PolicyPreconditioner fisher() const;
    void clear_unused(std::span<float> matrix) const;
    void keep_in_bounds();

    PolicyDesc desc_;
    Step step_;
    evolve::EvolutionState state_;
    std::unique_ptr<PolicyKernels> kernels_;
    std::vector<float> scores_;
    std::deque<std::vector<float>> window_;  ///< sample gradients, [rows, columns]
};

}  // namespace yolk::autotune
