// SPDX-License-Identifier: Apache-2.0
// `system NAME parameters`: what its hyperfunctions have to tune, numbers and texts.
#pragma once

#include "options.hpp"
#include "system_commands.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_parameters_command(App& app, const MakeSystemTask& make);

}  // namespace yolk::cli
