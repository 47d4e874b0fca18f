// SPDX-License-Identifier: Apache-2.0
// Where a strategy's own work is done, the regression of `natural` and `bayes` or the population of `eggroll`: on the
// host, on a device, or wherever a step is faster.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "yolk/device.hpp"
#include "yolk/internal/autotune/algebra_report.hpp"
#include "yolk/internal/autotune/device_linear_algebra.hpp"
#include "yolk/internal/autotune/device_policy.hpp"
#include "yolk/internal/autotune/strategy.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

class ChosenAlgebra {
   public:
    /// Opens the device only where it may be used. Auto: the device where a step over `candidates` after 64
    /// measurements is faster there; of eggroll, where there is one. A strategy without an algebra: the host. Errors:
    /// those of the device, for Device alone.
    [[nodiscard]] static Result<ChosenAlgebra> choose(AlgebraPlace place, std::string_view strategy,
                                                      std::size_t candidates, const OpenDevice& open);

    [[nodiscard]] bool on_device() const noexcept { return algebra_ != nullptr || policies_ != nullptr; }
    /// Sets StrategySettings::linear_algebra and policy_kernels; on the host they stay empty.
    void set(StrategySettings& settings) const;
    [[nodiscard]] AlgebraReport report() const;

   private:
    std::unique_ptr<Device> device_;  ///< outlives the algebra
    std::shared_ptr<DeviceAlgebra> algebra_;
    std::shared_ptr<DevicePolicies> policies_;
    std::string why_;
    std::optional<double> host_milliseconds_, device_milliseconds_;
};

}  // namespace yolk::autotune
