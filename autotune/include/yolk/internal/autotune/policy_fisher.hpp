// SPDX-License-Identifier: Apache-2.0
// The Fisher matrix of a log-linear policy by blocks, on a device, against the dense solve in double: what a device
// must get right before the tuner's algebra runs on it. For a policy whose parameters are independent the block form is
// exact: one block F_a = diag(p_a) - p_a p_a^T per parameter, and F_a (x) F_b for the table of a pair (Martens and
// Grosse 2015, K-FAC).
#pragma once

#include "yolk/dispatcher.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

struct PolicyFisherReport {
    /// Largest differences in units of the largest element of what they are held against.
    double fisher = 0.0;       ///< covariance: blocks against the policy's own p
    double step = 0.0;         ///< block_inverse and natural_gradient: all blocks against the dense, damped solve
    double pair_fisher = 0.0;  ///< F_a (x) F_b against the enumerated Fisher matrix of the pair's table, on the host
    double pair_step = 0.0;    ///< kronecker_precondition against the dense solve of the damped product
    bool singular_reported = false;    ///< undamped, each block has the vector of ones for its null direction
    bool indefinite_reported = false;  ///< [[4, 3], [3, 2]] is no Fisher matrix
};
/// fp32 solves of condition numbers below 100.
inline constexpr double kPolicyFisherTolerance = 0x1p-14;

/// Three parameters of four values with uneven probabilities, enumerated. Errors: those of the primitives.
[[nodiscard]] Result<PolicyFisherReport> policy_fisher_report(Dispatcher& dispatcher);
/// An error (Unsupported) that says what is outside the tolerance, or was not reported.
[[nodiscard]] Result<void> check_policy_fisher(Dispatcher& dispatcher);

}  // namespace yolk::autotune
