// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "yolk/internal/runtime/instance.hpp"

namespace yolk::testing {

/// What is wrong with YOLK_TEST_VALIDATION ("on", "off" or unset), for people; empty where nothing is.
[[nodiscard]] std::string check_validation_variable();

/// Keeps a message unless the allow-list has it. Called by the layer, on any thread.
void record_validation_message(const ValidationMessage& message);

/// What was kept since the last call.
[[nodiscard]] std::vector<ValidationMessage> take_recorded_messages();

}  // namespace yolk::testing
