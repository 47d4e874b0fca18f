// SPDX-License-Identifier: Apache-2.0
// `yolk system NAME ...`: the commands of a system, for those that are shipped.
#pragma once

#include "options.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_system_command(App& app);

}  // namespace yolk::cli
