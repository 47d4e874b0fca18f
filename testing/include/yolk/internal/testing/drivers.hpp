// SPDX-License-Identifier: Apache-2.0
// Which Vulkan drivers the test process sees.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace yolk::testing {

/// ICD files, and what is wrong with them (a sentence for each: what to do; empty where all is well).
struct DriverSelection {
    std::vector<std::filesystem::path> files;
    std::string wrong;
};
/// lavapipe's and SwiftShader's among the files that were found.
[[nodiscard]] DriverSelection required_drivers(const std::vector<std::filesystem::path>& found);
/// Those of `list`, a value of YOLK_TEST_DRIVERS: files, colons between them.
[[nodiscard]] DriverSelection given_drivers(std::string_view list);

/// $YOLK_TEST_DRIVERS; empty: the tests run on lavapipe and SwiftShader.
[[nodiscard]] std::string_view drivers_asked_for();

/// Shows the Vulkan loader those that were asked for and no others. Must run before the first thread. Returns what is
/// wrong.
[[nodiscard]] std::string select_drivers();

}  // namespace yolk::testing
