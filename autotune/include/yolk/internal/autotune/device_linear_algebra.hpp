// SPDX-License-Identifier: Apache-2.0
// The algebra of the house strategy on a device: docs/autotune.md, "Built on itself".
//
// The device scores all candidates in fp32 and bounds what each may gain; the host solves the n x n part in double at
// every step and works out, in double, the few candidates whose bound is not below the best of them. So proposals are
// those of host_linear_algebra() to the bit, as long as the bounds are bounds, which is what is checked: where a
// solve's residual, a gain, or (every 16th proposal) a score or variance of a sample lies outside its tolerance, or the
// device fails, the host takes over the regression, counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "yolk/block_inverse.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/autotune/algebra_report.hpp"
#include "yolk/internal/autotune/linear_algebra.hpp"
#include "yolk/matmul.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// Tolerances. Weights A^-1 y grow as the fitted noise falls, to hundreds of times the values, and fp32 rounds them and
/// what they multiply: that is what is off. Over six recorded surfaces 16 of 240 regressions passed one
/// (docs/autotune.md has the errors). A wide tolerance gives no other proposals; it costs candidates that are worked
/// out in double and need not have been.
inline constexpr double kMeanTolerance = 0x1p-7;      ///< of a mean, in units of the values' deviation
inline constexpr double kVarianceTolerance = 0x1p-9;  ///< of a variance, in units of the prior's
inline constexpr double kResidualTolerance = 0x1p-6;  ///< of A x - b, in units of b's largest element

/// What the plans of a bucket of measurements take.
struct DeviceAlgebraPlans {
    MatmulConfig scores;
    BlockInverseConfig inverse;
};

/// What makes algebras on one device and keeps what they need between searches. Threading: any; each algebra is one
/// thread's. It and the device must outlive the algebras.
class DeviceAlgebra {
   public:
    /// Checks the device's curvature primitives first (check_policy_fisher). Errors: what is wrong there, those of the
    /// dispatcher.
    [[nodiscard]] static Result<std::shared_ptr<DeviceAlgebra>> create(const Device& device);

    [[nodiscard]] std::unique_ptr<LinearAlgebra> make();
    [[nodiscard]] DeviceAlgebraCounts counts() const;
    /// Of the algebra that last proposed something; nothing before.
    [[nodiscard]] std::optional<DeviceAlgebraPlans> plans() const;

    struct Impl;  // src/algebra/device_linear_algebra.cpp

   private:
    explicit DeviceAlgebra(Owned<Impl> impl) : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

/// For StrategySettings::linear_algebra.
[[nodiscard]] std::function<std::unique_ptr<LinearAlgebra>()> on_device(std::shared_ptr<DeviceAlgebra> algebra);

}  // namespace yolk::autotune
