// SPDX-License-Identifier: Apache-2.0
// `yolk tune --algebra`: where the house strategy's algebra is done.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "options.hpp"
#include "yolk/autotune/device_linear_algebra.hpp"
#include "yolk/core/json.hpp"

namespace yolk::cli {

struct AlgebraFlags {
    std::string algebra;  ///< host, device or auto; empty: the command's default
};
void add_algebra_flag(App& app, AlgebraFlags& flags);
/// Error (BadInput): not one of host, device, auto; device with a strategy that has no such algebra.
[[nodiscard]] Result<void> check_algebra(const std::string& algebra, const std::string& strategy);

/// What was chosen, and what came of it.
class ChosenAlgebra {
   public:
    /// `algebra`: host, device or auto. Opens the device only where it may be used, with what its tuning table says.
    /// auto: the device where a step over `candidates` after 64 measurements is faster there. Errors: those of the
    /// device, for `device` alone.
    [[nodiscard]] static Result<ChosenAlgebra> choose(const std::string& algebra, const std::string& strategy,
                                                      std::size_t candidates, const CommonFlags& common);

    [[nodiscard]] bool on_device() const noexcept { return algebra_ != nullptr; }
    /// For StrategySettings::linear_algebra; empty on the host.
    [[nodiscard]] std::function<std::unique_ptr<autotune::LinearAlgebra>()> factory() const;
    /// Adds `algebra` and what was counted.
    void add_to(Json& json) const;
    /// For people: "algebra on llvmpipe: 1,234 proposals, the host took over 0 times". Empty where there is nothing to
    /// say.
    [[nodiscard]] std::string line() const;

   private:
    std::unique_ptr<Device> device_;  ///< outlives the algebra
    std::shared_ptr<autotune::DeviceAlgebra> algebra_;
    std::string why_;  ///< the host, although the device was to be tried
    std::optional<double> host_milliseconds_, device_milliseconds_;
};

}  // namespace yolk::cli
