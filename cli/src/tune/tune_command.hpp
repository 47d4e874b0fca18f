// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_tune_command(App& app);

}  // namespace yolk::cli
