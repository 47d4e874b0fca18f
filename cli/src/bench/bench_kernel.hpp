// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk bench kernel`: times a family's benchmark problems over configurations of its tuning space.
[[nodiscard]] Command add_kernel_bench(App& bench);

}  // namespace yolk::cli
