// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk tune kernel FILE`: the same search on a compute shader of the user's own (docs/own_kernels.md).
[[nodiscard]] Command add_tune_kernel(App& tune);

}  // namespace yolk::cli
