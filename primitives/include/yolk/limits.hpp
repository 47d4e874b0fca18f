// SPDX-License-Identifier: Apache-2.0
// How fast a device is at one thing, measured by kernels that do nothing else (docs/kernels/limits.md): what speeds of
// other kernels are set beside.
#pragma once

#include <chrono>
#include <cstdint>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/primitives/arithmetic_unit.hpp"

namespace yolk {

/// The multiply-adds per second that a unit of the device reaches in registers: the best of several numbers of
/// independent chains and workgroup sizes, each timed by the device's clock. Takes about a second on a CPU driver that
/// is not busy. 0: the unit is ArithmeticUnit::Other, its path is closed on the device, or it is not done by `until`,
/// for the best of a part would be too low a limit.
/// Errors: no timestamps, out of memory, driver.
[[nodiscard]] Result<double> measure_multiply_adds_per_second(
    const Device& device, Dispatcher& dispatcher, ArithmeticUnit unit = ArithmeticUnit::Fp32Lanes,
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max());

/// [m, k] by [k, n], each extent from 1 to 2^14.
struct TextbookProduct {
    std::uint64_t m = 0, n = 0, k = 0;
};
/// The multiply-adds of the product per second by the textbook's 16 x 16 kernel, which pads each extent to a multiple
/// of 16 (what it computes there does not count): the baseline of benchmarks. The same errors, and BadInput for another
/// extent.
[[nodiscard]] Result<double> measure_textbook_matmul(const Device& device, Dispatcher& dispatcher,
                                                     const TextbookProduct& product);

}  // namespace yolk
