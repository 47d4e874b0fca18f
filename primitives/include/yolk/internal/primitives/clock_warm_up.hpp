// SPDX-License-Identifier: Apache-2.0
// A GPU's clock falls while the device idles, and rises only after it has worked for a while: an H200 (driver 580.159)
// ran the same roll-out in .34 ms, and in 1.86 ms after the host had computed a reference for some seconds. Whoever
// times kernels between pieces of host work therefore makes the device work first.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"

namespace yolk {

/// Keeps a device at its clock. One thread at a time; device and dispatcher must outlive it.
class ClockWarmUp {
   public:
    ClockWarmUp(const Device& device, Dispatcher& dispatcher) noexcept;
    ~ClockWarmUp();
    ClockWarmUp(ClockWarmUp&&) noexcept;
    ClockWarmUp& operator=(ClockWarmUp&&) noexcept;

    /// Runs multiply-adds in registers, about a millisecond at a time, until three in a row take at most a tenth longer
    /// than the shortest that was ever seen here; the first call also until none was shorter for .2 s. At most a
    /// second, then the clock is as high as it gets. Nothing on CPU drivers, whose clock is the host's.
    /// Errors: out of memory, driver, device lost.
    [[nodiscard]] Result<void> wake();

   private:
    struct Work;
    [[nodiscard]] Result<void> prepare();
    [[nodiscard]] Result<double> seconds_of_a_run();

    const Device* device_;
    Dispatcher* dispatcher_;
    std::unique_ptr<Work> work_;  ///< from the first wake() on
};

}  // namespace yolk
