// SPDX-License-Identifier: Apache-2.0
#include "device_health.hpp"

#include <fmt/format.h>

namespace yolk {

void DeviceHealth::mark_lost(const std::string& work) noexcept {
    const std::lock_guard lock(mutex_);
    if (!good()) return;
    work_ = work;
    state_.store(State::Lost);
}

void DeviceHealth::mark_hung(const std::string& work, std::chrono::nanoseconds limit) noexcept {
    const std::lock_guard lock(mutex_);
    if (hung()) return;
    if (good()) work_ = work;  // of a lost device whose work goes on, what it was lost at is told
    limit_ = limit;
    state_.store(State::Hung);
}

Error DeviceHealth::error(const std::string& what, const std::string& device) const {
    const std::lock_guard lock(mutex_);
    const std::string happened =
        hung() ? fmt::format("hangs: {} made no progress for {} and was given up", work_, duration_text(limit_))
               : fmt::format("was lost during {}", work_);
    return {ErrorKind::DeviceLost,
            fmt::format("Cannot {}: device '{}' {}. Drop what was made from this device and make a new one; if that "
                        "fails too, restart the process, or the machine's driver.",
                        what, device, happened)};
}

std::string duration_text(std::chrono::nanoseconds duration) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
    return milliseconds % 1000 == 0 ? fmt::format("{} s", milliseconds / 1000) : fmt::format("{} ms", milliseconds);
}

}  // namespace yolk
