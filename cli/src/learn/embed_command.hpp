// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

namespace yolk::cli {

/// `yolk embed MODEL`.
[[nodiscard]] Command add_embed_command(App& app);

}  // namespace yolk::cli
