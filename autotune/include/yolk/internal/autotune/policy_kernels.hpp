// SPDX-License-Identifier: Apache-2.0
// What the strategy `eggroll` computes with, behind an interface so that a device can do it (device_policy.hpp): the
// population of a policy over the candidates of a search, and evolve's generations of it.
//
// The policy is a factorised softmax. Its logits are one matrix of evolve, a row per parameter of the space and a
// column per value; rows with fewer values leave the rest at zero, where nothing reads it. A member's score of a
// candidate is the sum of its perturbed logits of the candidate's values: a product of the member's matrix, as one row,
// with one-hot columns.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "yolk/internal/autotune/space.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/shaped_generation.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// Of a search.
struct PolicyDesc {
    std::shared_ptr<const CandidateSet> candidates{};
    std::uint32_t rows = 0;     ///< parameters of the space
    std::uint32_t columns = 0;  ///< values of the parameter that has most
    ParameterTable table{};     ///< one matrix, [rows, columns]
    evolve::EvolutionOptions options{};
};
/// Error (BadInput): evolve::validate's.
[[nodiscard]] Result<PolicyDesc> policy_desc(std::shared_ptr<const CandidateSet> candidates,
                                             const evolve::EvolutionOptions& options);

/// P in the step P G, a block per row of the logits.
enum class PolicyMetric {
    InverseSqrt,  ///< (M + damping trace(M)/n I)^-1/2, M = X^T X / samples
    Inverse,      ///< F^-1
};
struct PolicyPreconditioner {
    PolicyMetric metric = PolicyMetric::InverseSqrt;
    /// InverseSqrt: X, [rows, samples, columns]; Inverse: F, [rows, columns, columns].
    std::vector<float> blocks{};
    std::uint32_t samples = 0;
    float damping = 0.0F;  ///< of InverseSqrt
};

/// One search's. The state is the caller's, so that another implementation can go on from it at any point: the host's
/// and a device's give the same bits. Errors: those of the device. One thread at a time.
class PolicyKernels {
   public:
    PolicyKernels() = default;
    virtual ~PolicyKernels() = default;
    PolicyKernels(const PolicyKernels&) = delete;
    PolicyKernels& operator=(const PolicyKernels&) = delete;
    PolicyKernels(PolicyKernels&&) = delete;
    PolicyKernels& operator=(PolicyKernels&&) = delete;

    /// Before all else, once; `initial` is the state that the search begins with.
    [[nodiscard]] virtual Result<void> begin(const PolicyDesc& desc, const evolve::EvolutionState& initial) = 0;
    /// Scores of all candidates by all members of the state's generation: [population, candidates].
    [[nodiscard]] virtual Result<void> scores(const evolve::EvolutionState& state, std::span<float> out) = 0;
    /// evolve's gradient of the weights, [rows, columns].
    [[nodiscard]] virtual Result<std::vector<float>> gradient(const evolve::EvolutionState& state,
                                                              const evolve::ShapedGeneration& shaped) = 0;
    /// P `gradient`. A block that has no P gives zeros.
    [[nodiscard]] virtual Result<std::vector<float>> preconditioned(const PolicyPreconditioner& preconditioner,
                                                                    std::span<const float> gradient) = 0;
    /// evolve's step along `gradient`: the next generation's state.
    [[nodiscard]] virtual Result<void> move(evolve::EvolutionState& state, const evolve::ShapedGeneration& shaped,
                                            std::span<const float> gradient) = 0;
    /// The caller has changed the parameters of the state.
    [[nodiscard]] virtual Result<void> place(const evolve::EvolutionState& state) = 0;
    /// The caller goes on without it, from this error on.
    virtual void gave_up(const Error& /*error*/) {}
};

/// By the exact twins. Never fails.
[[nodiscard]] std::unique_ptr<PolicyKernels> policy_kernels_on_host();

}  // namespace yolk::autotune
