// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk tune prior train`: what the house strategy begins with, trained by EGGROLL over recorded surfaces.
[[nodiscard]] Command add_tune_prior(App& tune);

}  // namespace yolk::cli
