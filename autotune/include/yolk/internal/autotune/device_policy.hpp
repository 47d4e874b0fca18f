// SPDX-License-Identifier: Apache-2.0
// The population of `eggroll` on a device, by Yolk's own kernels: evolve's Evolution holds the logits, perturbs,
// updates and moves them; perturbed_embedding and matmul score all candidates for all members in two dispatches;
// covariance, inverse_sqrt, block_inverse and natural_gradient make the step. All of it is exact, so that a search has
// the bits of policy_kernels_on_host(), which goes on where a device fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "yolk/device.hpp"
#include "yolk/internal/autotune/algebra_report.hpp"
#include "yolk/internal/autotune/policy_kernels.hpp"
#include "yolk/internal/core/owned.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// What makes policies' kernels on one device and keeps what they need between searches. Threading: any; what it makes
/// is one thread's. It and the device must outlive what it makes.
class DevicePolicies {
   public:
    /// Errors: a device that fails the arithmetic probe (Unsupported, with the reason), those of the dispatcher.
    [[nodiscard]] static Result<std::shared_ptr<DevicePolicies>> create(const Device& device);

    [[nodiscard]] std::unique_ptr<PolicyKernels> make();
    [[nodiscard]] DevicePolicyCounts counts() const;

    struct Impl;  // src/algebra/device_policy.cpp

   private:
    explicit DevicePolicies(Owned<Impl> impl) : impl_(std::move(impl)) {}
    Owned<Impl> impl_;
};

/// For StrategySettings::policy_kernels.
[[nodiscard]] std::function<std::unique_ptr<PolicyKernels>()> on_device(std::shared_ptr<DevicePolicies> policies);

}  // namespace yolk::autotune
