// SPDX-License-Identifier: Apache-2.0
// What a driver does, found by running on it: whether its fp32 arithmetic can carry exact mode, how many loop
// iterations it really makes (docs/quirks.md), and whether its paths of low precision are right.
#pragma once

#include "yolk/device.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// Runs the probes once per device and keeps the findings in it (Device::findings); later calls return what was found.
///  - execution: a driver may compile kernels and run none (Mesa's drivers on null devices). Then the other probes are
///  not run, and paths of low precision are open whose kernels compile.
///  - arithmetic: products, sums and cancellations whose correctly rounded results are known, `precise` chains that a
///  contraction to
///    fused multiply-add would change, values around the smallest normal; each compared by bit pattern.
///  - loop limit: lavapipe 22.3 leaves every loop after 65,535 iterations in all; nested and flat loops are counted.
///  - paths of low precision that the features open (yolk/internal/runtime/low_precision.hpp): known answers each; a
///  wrong one is closed with a warning.
[[nodiscard]] Result<DeviceFindings> probe(const Device& device);

}  // namespace yolk
