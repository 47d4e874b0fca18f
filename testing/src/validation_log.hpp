// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "yolk/runtime/instance.hpp"

namespace yolk::testing {

/// Keeps a message unless the allow-list has it. Called by the layer, on any thread.
void record_validation_message(const ValidationMessage& message);

/// What was kept since the last call.
[[nodiscard]] std::vector<ValidationMessage> take_recorded_messages();

}  // namespace yolk::testing
