// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk devices`.
[[nodiscard]] Command add_devices_command(App& app);

}  // namespace yolk::cli
