// SPDX-License-Identifier: Apache-2.0
// Where the house strategy's algebra is done: on the host, on a device, or wherever a step is faster.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "yolk/autotune/device_linear_algebra.hpp"
#include "yolk/core/result.hpp"
#include "yolk/runtime/device.hpp"

namespace yolk::autotune {

enum class AlgebraPlace { Host, Device, Auto };
/// "host", "device", "auto".
[[nodiscard]] Result<AlgebraPlace> parse_algebra_place(std::string_view text);
/// natural and bayes; the others propose without a regression.
[[nodiscard]] bool has_algebra(std::string_view strategy) noexcept;

/// Opens the device that the algebra may be done on, with what its tuning table says.
using OpenDevice = std::function<Result<Device>()>;

/// What was chosen, and what came of it.
struct AlgebraReport {
    bool on_device = false;
    std::string device{};  ///< its name
    std::string why{};     ///< the host, although the device was tried
    /// Medians of a step, where both were timed.
    std::optional<double> host_milliseconds{}, device_milliseconds{};
    DeviceAlgebraCounts counts{};
};

class ChosenAlgebra {
   public:
    /// Opens the device only where it may be used. Auto: the device where a step over `candidates` after 64
    /// measurements is faster there. A strategy without an algebra: the host. Errors: those of the device, for Device
    /// alone.
    [[nodiscard]] static Result<ChosenAlgebra> choose(AlgebraPlace place, std::string_view strategy,
                                                      std::size_t candidates, const OpenDevice& open);

    [[nodiscard]] bool on_device() const noexcept { return algebra_ != nullptr; }
    /// For StrategySettings::linear_algebra; empty on the host.
    [[nodiscard]] std::function<std::unique_ptr<LinearAlgebra>()> factory() const;
    [[nodiscard]] AlgebraReport report() const;

   private:
    std::unique_ptr<Device> device_;  ///< outlives the algebra
    std::shared_ptr<DeviceAlgebra> algebra_;
    std::string why_;
    std::optional<double> host_milliseconds_, device_milliseconds_;
};

}  // namespace yolk::autotune
