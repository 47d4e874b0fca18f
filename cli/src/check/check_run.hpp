// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "yolk/device.hpp"
#include "yolk/train.hpp"

namespace yolk::cli {

/// Trains with `options` (nothing is written, nothing stops early) on every device, with two tile configurations each,
/// and holds the state hash after each generation against the exact twin's. Returns the exit code: 1 where any differs.
[[nodiscard]] Result<int> check_run(const std::vector<Device>& devices, train::TrainOptions options, bool json,
                                    bool quiet);

}  // namespace yolk::cli
