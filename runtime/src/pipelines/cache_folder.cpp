// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "yolk/device.hpp"

namespace yolk {
namespace {

/// Unset and empty are the same.
std::filesystem::path folder_from(const char* variable) {
    const char* value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing of ours sets the environment
    return value != nullptr ? std::filesystem::path(value) : std::filesystem::path();
}

}  // namespace

std::filesystem::path default_cache_folder() {
    if (auto own = folder_from("YOLK_CACHE"); !own.empty()) return own;
    // The base directory specification wants a relative XDG path ignored.
    if (auto base = folder_from("XDG_CACHE_HOME"); base.is_absolute()) return base / "yolk";
    if (auto home = folder_from("HOME"); !home.empty()) return home / ".cache" / "yolk";
    return {};
}

}  // namespace yolk
