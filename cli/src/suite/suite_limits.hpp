// SPDX-License-Identifier: Apache-2.0
// How fast a device is at multiply-adds and at moving memory, each measured when it is first asked for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/internal/primitives/arithmetic_unit.hpp"
#include "yolk/result.hpp"

namespace yolk::cli {

class SuiteLimits {
   public:
    /// Operations per second, a multiply-add counted as two; 0 for units whose limit is not known.
    [[nodiscard]] Result<double> operations(Dispatcher& dispatcher, ArithmeticUnit unit);
    /// Bytes read and written per second by the fastest of a kernel that copies, one that only reads, and the driver's
    /// own copy, over buffers of `bytes` in all, so that a cache counts for small ones. Sizes are rounded down to a
    /// power of 4, from 64 KiB to 64 MiB (256 MiB on GPUs).
    [[nodiscard]] Result<double> bytes(Dispatcher& dispatcher, double bytes);

    struct Known {
        std::string name, unit;
        double rate = 0.0;
    };
    /// What was measured so far.
    [[nodiscard]] std::vector<Known> known() const;

   private:
    std::map<ArithmeticUnit, double> operations_;
    std::map<std::uint64_t, double> bytes_;
};

}  // namespace yolk::cli
