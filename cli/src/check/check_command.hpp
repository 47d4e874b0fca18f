// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk check`: kernels against their oracles and twins; with --run, whole training runs against the exact twin.
[[nodiscard]] Command add_check_command(App& app);

}  // namespace yolk::cli
