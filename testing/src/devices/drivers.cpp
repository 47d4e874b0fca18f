// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/testing/drivers.hpp"

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

constexpr const char* kDrivers = "YOLK_TEST_DRIVERS";

/// A driver that every device test runs on where no others are asked for.
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

DriverSelection required_drivers(const std::vector<std::filesystem::path>& found) {
    DriverSelection selection;
    for (const RequiredDriver& driver : kRequired) {
        const auto file = std::find_if(found.begin(), found.end(), [&](const std::filesystem::path& path) {
            return path.filename().string().starts_with(driver.file_prefix);
        });
        if (file != found.end()) {
            selection.files.push_back(*file);
        } else {
            selection.wrong += fmt::format(
                "The driver {} is not installed ({}*.json is in none of {}), and every device test needs it. On Debian "
                "install the package {}, or set {} to the files of other drivers.\n",
                driver.name, driver.file_prefix, fmt::join(kFolders, ", "), driver.package, kDrivers);
        }
    }
    return selection;
}

DriverSelection given_drivers(std::string_view list) {
    DriverSelection selection;
    while (!list.empty()) {
        const std::size_t length = std::min(list.find(':'), list.size());
        const std::filesystem::path file(list.substr(0, length));
        list.remove_prefix(std::min(length + 1, list.size()));
        if (file.empty()) continue;
        std::error_code ignored;  // a file that cannot be looked at is none
        if (std::filesystem::is_regular_file(file, ignored)) {
            selection.files.push_back(file);
        } else {
            selection.wrong += fmt::format(
                "{} names '{}', which is not a file. It takes the JSON files of Vulkan drivers, with colons between "
                "them, such as /usr/share/vulkan/icd.d/nvidia_icd.json.\n",
                kDrivers, file.string());
        }
    }
    if (selection.files.empty() && selection.wrong.empty()) {
        selection.wrong = fmt::format("{} names no file.\n", kDrivers);
    }
    return selection;
}

std::string_view drivers_asked_for() {
    const char* value = std::getenv(kDrivers);  // NOLINT(concurrency-mt-unsafe): nothing sets it
    return value != nullptr ? value : "";
}

std::string select_drivers() {
    const std::string_view wanted = drivers_asked_for();
    const DriverSelection selection = wanted.empty() ? required_drivers(icd_files()) : given_drivers(wanted);
    std::string joined;
    for (const std::filesystem::path& file : selection.files) joined += (joined.empty() ? "" : ":") + file.string();
    // The newer name would come first.
    unsetenv("VK_DRIVER_FILES");                    // NOLINT(concurrency-mt-unsafe): before the first thread
    setenv("VK_ICD_FILENAMES", joined.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    return selection.wrong;
}

}  // namespace yolk::testing
