// SPDX-License-Identifier: Apache-2.0
// Tests that run as if memory were discrete, in place of the driver's own: a tenth, drawn by name.
#pragma once

#include <string>
#include <string_view>

namespace yolk::testing {

/// Whether a test ("suite.case/parameter") is in the tenth: its name's XXH3 is a multiple of ten. So the same tests are
/// drawn in every run, on every machine and in any order, and a test keeps its lot until it is renamed.
[[nodiscard]] bool is_drawn(std::string_view test);

/// Reads YOLK_TEST_DISCRETE and YOLK_DEVICE_MODEL, before the first test. What is wrong with the first, for people, or
/// nothing.
[[nodiscard]] std::string read_device_model();
/// Sets YOLK_DEVICE_MODEL for a test that is drawn, and says so; takes it away for the others. Nothing where no test is
/// drawn (YOLK_TEST_DISCRETE is unset, or YOLK_DEVICE_MODEL is set for all).
void set_device_model(const std::string& test);

}  // namespace yolk::testing
