// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk train TASK`.
[[nodiscard]] Command add_train_command(App& app);

}  // namespace yolk::cli
