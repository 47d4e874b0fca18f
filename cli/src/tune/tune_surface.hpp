// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"
#include "yolk/internal/autotune/strategy.hpp"

namespace yolk::cli {

/// `yolk tune surface FILE`: how good a strategy is on a surface that was recorded before. Uses no device.
[[nodiscard]] Command add_tune_surface(App& tune);

/// --step and --lr, of the strategies that follow a gradient.
void add_gradient_flags(App& app, autotune::StrategySettings& settings);

}  // namespace yolk::cli
