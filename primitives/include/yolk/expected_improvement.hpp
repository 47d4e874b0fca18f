// SPDX-License-Identifier: Apache-2.0
// expected_improvement: what measuring each candidate of a Gaussian posterior is expected to gain on the best value
// (Jones, Schonlau, Welch 1998, "Efficient global optimization of expensive black-box functions", equation 15), after
// its variance was brought up to date (docs/kernels/expected_improvement.md). Class P.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"

namespace yolk::abi::expected_improvement {
struct Params;
}

namespace yolk {

struct ExpectedImprovementConfig {
    std::uint32_t workgroup_size = 64;
    friend bool operator==(const ExpectedImprovementConfig&, const ExpectedImprovementConfig&) = default;
};

struct ExpectedImprovementViews {
    BufferView scores;     ///< fp32 [2, stride]: value scores v, unit scores u
    BufferView left{};     ///< fp32 [steps, stride]; empty for no steps
    BufferView right{};    ///< likewise; may be `left`
    BufferView prior;      ///< fp32 [count]; 1e30 keeps a candidate out
    BufferView variances;  ///< in and out, fp32 [count]: less the sum of left right over the steps, at least 1e-10
    BufferView out;        ///< fp32 [count]
};

/// The mean of a candidate is prior + v + level (1 - u) - mean_slack, its deviation d is
/// deviation sqrt(variance + variance_slack); its gain stretch d (z Phi(z) + phi(z)), z = (best - mean) / d, z at least
/// -11. With slacks of 0 and stretch 1 the expected improvement itself; with what mean and variance may be off, a bound
/// from above; with a power of two for stretch, gains that small ones of which are no zeros for kernels that take what
/// is below 2^-40 for zero.
struct ExpectedImprovementValues {
    std::uint32_t steps = 0;  ///< of the description's; more are taken for as many
    float level = 0.0F;
    float best = 0.0F;
    float deviation = 1.0F;  ///< above 0
    float mean_slack = 0.0F;
    float variance_slack = 0.0F;
    float stretch = 1.0F;
};

struct ExpectedImprovementDesc {
    using Config = ExpectedImprovementConfig;
    using Views = ExpectedImprovementViews;
    using Params = abi::expected_improvement::Params;
    /// Values that are not finite give gains that are not.
    using Call = void(const ExpectedImprovementValues& values);

    std::uint32_t count = 0;   ///< candidates; 0 is legal
    std::uint32_t stride = 0;  ///< from row to row of scores, left and right, in elements; at least count
    std::uint32_t steps = 0;   ///< rows of left and right, at most; 0 is legal
    std::optional<ExpectedImprovementConfig> config{};  ///< unset: the device's table, else its heuristic
};

template <>
const Operation<ExpectedImprovementDesc>& operation_of<ExpectedImprovementDesc>();
using ExpectedImprovementPlan = Plan<ExpectedImprovementDesc>;
using BoundExpectedImprovement = Bound<ExpectedImprovementDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: a stride below the count, more steps than the loops of
/// the device may make.
inline constexpr Planner<ExpectedImprovementDesc> plan_expected_improvement;

}  // namespace yolk
