// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk bench tuner`: what the tuner's own step costs on the host, and on the device before and after the kernels that
/// it runs on were tuned.
[[nodiscard]] Command add_tuner_bench(App& bench);

}  // namespace yolk::cli
