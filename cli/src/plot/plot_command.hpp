// SPDX-License-Identifier: Apache-2.0
// `yolk plot`: learning curves of training runs and of systems' searches.
#pragma once

#include "options.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_plot_command(App& app);

}  // namespace yolk::cli
