// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk init`.
[[nodiscard]] Command add_init_command(App& app);

}  // namespace yolk::cli
