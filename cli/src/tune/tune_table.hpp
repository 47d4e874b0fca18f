// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk tune table`: what is in it, why a shape gets what it gets, and changes by hand.
[[nodiscard]] Command add_tune_table(App& tune);

}  // namespace yolk::cli
