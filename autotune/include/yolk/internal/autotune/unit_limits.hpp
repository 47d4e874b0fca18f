// SPDX-License-Identifier: Apache-2.0
// How fast a device is at most, by the unit that multiplies: what times of a tuning run are held against.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/primitives/arithmetic_unit.hpp"
#include "yolk/result.hpp"

namespace yolk::autotune {

/// The multiply-adds per second that a unit reaches; 0 where that is not known.
using LimitOfUnit = std::function<Result<double>(ArithmeticUnit)>;

/// Limits of a device, each measured when it is first asked for (measure_multiply_adds_per_second) and kept. One thread
/// at a time; device and dispatcher must outlive it.
class UnitLimits {
   public:
    /// `time`: for all measurements together; what is not done in it is not known.
    UnitLimits(const Device& device, Dispatcher& dispatcher, std::chrono::steady_clock::duration time)
        : device_(device), dispatcher_(dispatcher), time_left_(time) {}
    /// 0 where it is not known, which is logged once. Errors: out of memory, driver, device lost.
    [[nodiscard]] Result<double> of(ArithmeticUnit unit);

   private:
    const Device& device_;
    Dispatcher& dispatcher_;
    std::chrono::steady_clock::duration time_left_;
    std::array<std::optional<double>, kArithmeticUnits.size()> known_{};
};

}  // namespace yolk::autotune
