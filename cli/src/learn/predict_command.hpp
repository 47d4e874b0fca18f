// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk predict MODEL DATA`.
[[nodiscard]] Command add_predict_command(App& app);

}  // namespace yolk::cli
