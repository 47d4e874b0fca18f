// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_inspect_command(App& app);

}  // namespace yolk::cli
