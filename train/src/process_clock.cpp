// SPDX-License-Identifier: Apache-2.0
#include "process_clock.hpp"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace yolk::train {
namespace {

const std::chrono::steady_clock::time_point kInitialized = std::chrono::steady_clock::now();

/// Field 22 of /proc/self/stat: clock ticks after boot. Fields are counted after the last ')', as the second may hold
/// anything.
std::optional<double> start_after_boot() {
    std::ifstream file("/proc/self/stat");
    std::string text;
    if (!std::getline(file, text)) return std::nullopt;
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int field = 3; field < 22; ++field) fields >> skipped;
    unsigned long long ticks = 0;
    if (!(fields >> ticks)) return std::nullopt;
    const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
    if (ticks_per_second <= 0) return std::nullopt;
    return static_cast<double>(ticks) / static_cast<double>(ticks_per_second);
}

}  // namespace

double process_seconds() {
    const double since_initialized =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - kInitialized).count();
    timespec now{};
    const std::optional<double> start = start_after_boot();
    if (!start || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return since_initialized;
    const double seconds = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - *start;
    // The process began before its static initialization; anything else means that the two clocks do not belong
    // together.
    return seconds >= since_initialized ? seconds : since_initialized;
}

}  // namespace yolk::train
