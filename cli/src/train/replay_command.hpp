// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk replay LOG`.
[[nodiscard]] Command add_replay_command(App& app);

}  // namespace yolk::cli
