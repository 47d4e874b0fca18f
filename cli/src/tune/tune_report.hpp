// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk tune report FILE`: a page about what the table holds, or about a recording.
[[nodiscard]] Command add_tune_report(App& tune);

}  // namespace yolk::cli
