// SPDX-License-Identifier: Apache-2.0
// `yolk tune` and `yolk tune device`: search, prove, time, and keep what was found in the table.
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// The flags, and what runs with them; for `yolk tune` itself and for its subcommand `device`.
[[nodiscard]] std::function<Result<int>()> add_device_tuning(App& app);
[[nodiscard]] Command add_tune_device(App& tune);

}  // namespace yolk::cli
