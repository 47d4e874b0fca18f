// SPDX-License-Identifier: Apache-2.0
// How many multiply-adds a device makes in a second, roughly: what its first submissions are sized by.
#pragma once

#include "yolk/dispatcher.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// By the host's clock, from submission to the end of the wait, of a second run after one that may compile: too low
/// rather than too high. 2^26 multiply-adds in registers: 3 ms at 2 * 10^10 a second, and mostly the price of a
/// submission on a large GPU.
[[nodiscard]] Result<double> measure_rate(Dispatcher& dispatcher);

}  // namespace yolk
