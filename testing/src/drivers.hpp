// SPDX-License-Identifier: Apache-2.0
// Which Vulkan drivers the test process sees.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace yolk::testing {

/// What $YOLK_TEST_DEVICES says.
enum class DeviceSet {
    Required,  ///< unset: lavapipe and SwiftShader, and nothing else
    All,       ///< "all": the two, and every other device found
    Found,     ///< "found": whatever is found, the two not required (a machine with a GPU driver only)
};
[[nodiscard]] DeviceSet device_set();

/// The ICD files to use of those found, and what is missing (a sentence per driver: how to install it; empty where all
/// is well).
struct DriverSelection {
    std::vector<std::filesystem::path> files;
    std::string missing;
};
[[nodiscard]] DriverSelection select_from(const std::vector<std::filesystem::path>& found, DeviceSet set);

/// Points the Vulkan loader at the drivers, unless the user has chosen some (VK_ICD_FILENAMES or VK_DRIVER_FILES). Must
/// run before the first thread. Returns what is missing or wrong; empty where all is well.
[[nodiscard]] std::string select_drivers();

}  // namespace yolk::testing
