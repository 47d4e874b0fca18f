// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk generate MODEL`.
[[nodiscard]] Command add_generate_command(App& app);

}  // namespace yolk::cli
