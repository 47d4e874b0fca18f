// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "yolk/result.hpp"

namespace yolk {

/// Whether $YOLK_LOG is a level of log.hpp, or not set. Error: BadInput, with the levels. A program that does not ask
/// logs from Info on, and says why once.
[[nodiscard]] Result<void> check_log_level();

}  // namespace yolk
