// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk eval POLICY`.
[[nodiscard]] Command add_eval_command(App& app);

}  // namespace yolk::cli
