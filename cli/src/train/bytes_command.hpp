// SPDX-License-Identifier: Apache-2.0
// `yolk train bytes`, under the command `train`, and `yolk sample`.
#pragma once

#include "options.hpp"

namespace yolk::cli {

[[nodiscard]] Command add_train_bytes_command(App& train);
[[nodiscard]] Command add_sample_command(App& app);

}  // namespace yolk::cli
