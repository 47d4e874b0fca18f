// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk bench step`: times the step calls of autotune in two of their forms and on the host, and shows what they
/// dispatch.
[[nodiscard]] Command add_step_bench(App& bench);

}  // namespace yolk::cli
