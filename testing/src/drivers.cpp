// SPDX-License-Identifier: Apache-2.0
#include "drivers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace yolk::testing {
namespace {

/// A driver that every device test runs on.
struct RequiredDriver {
    const char* name;
    const char* file_prefix;  ///< of its ICD file: lvp_icd.x86_64.json, lvp_icd.aarch64.json, ...
    const char* package;      ///< Debian's
};
constexpr std::array<RequiredDriver, 2> kRequired{{
    {"lavapipe", "lvp_icd", "mesa-vulkan-drivers"},
    {"SwiftShader", "vk_swiftshader_icd", "chromium"},
}};
/// Where the loader looks, then where browsers keep SwiftShader.
constexpr std::array<const char*, 6> kFolders{"/etc/vulkan/icd.d",       "/usr/local/share/vulkan/icd.d",
                                              "/usr/share/vulkan/icd.d", "/usr/lib/chromium",
                                              "/usr/lib64/chromium",     "/usr/lib/chromium-browser"};

const char* environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before the first thread
    return value != nullptr ? value : "";
}

/// Every ICD file in the standard folders, sorted so that runs agree.
std::vector<std::filesystem::path> icd_files() {
    std::vector<std::filesystem::path> files;
    for (const char* folder : kFolders) {
        std::error_code ignored;  // a folder that is not there holds nothing
        for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
            const std::string name = entry.path().filename().string();
            if (name.ends_with(".json") && name.find("_icd") != std::string::npos) files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

DeviceSet device_set() {
    const std::string_view wanted = environment("YOLK_TEST_DEVICES");
    if (wanted == "all") return DeviceSet::All;
    if (wanted == "found") return DeviceSet::Found;
    return DeviceSet::Required;
}

DriverSelection select_from(const std::vector<std::filesystem::path>& found, DeviceSet set) {
    DriverSelection selection;
    for (const RequiredDriver& driver : kRequired) {
        const auto file = std::find_if(found.begin(), found.end(), [&](const std::filesystem::path& path) {
            return path.filename().string().starts_with(driver.file_prefix);
        });
        if (file != found.end()) {
            selection.files.push_back(*file);
        } else if (set != DeviceSet::Found) {
            selection.missing += fmt::format(
                "The driver {} is not installed ({}*.json is in none of {}), and every device test needs it. On Debian "
                "install the package {}, or set VK_ICD_FILENAMES to its file.\n",
                driver.name, driver.file_prefix, fmt::join(kFolders, ", "), driver.package);
        }
    }
    if (set == DeviceSet::Required) return selection;
    for (const std::filesystem::path& path : found) {
        const bool chosen = std::find(selection.files.begin(), selection.files.end(), path) != selection.files.end();
        if (!chosen) selection.files.push_back(path);
    }
    return selection;
}

std::string select_drivers() {
    const std::string_view wanted = environment("YOLK_TEST_DEVICES");
    if (!wanted.empty() && wanted != "all" && wanted != "found") {
        return fmt::format("YOLK_TEST_DEVICES is '{}'; it may be 'all', 'found', or unset.\n", wanted);
    }
    if (environment("VK_ICD_FILENAMES")[0] != '\0' || environment("VK_DRIVER_FILES")[0] != '\0') return "";
    const DriverSelection selection = select_from(icd_files(), device_set());
    std::string joined;
    for (const std::filesystem::path& file : selection.files) joined += (joined.empty() ? "" : ":") + file.string();
    // NOLINTNEXTLINE(concurrency-mt-unsafe): before the first thread
    setenv("VK_ICD_FILENAMES", joined.c_str(), 1);
    return selection.missing;
}

}  // namespace yolk::testing
