// SPDX-License-Identifier: Apache-2.0
#include "device_health.hpp"

#include <fmt/format.h>

#include "yolk/internal/core/wait_notice.hpp"

namespace yolk {

void DeviceHealth::mark_lost(const std::string& work) noexcept {
    const std::lock_guard lock(mutex_);
    if (!good()) return;
    work_ = work;
    state_.store(State::Lost);
}

void DeviceHealth::mark_hung(const std::string& work, const GivenUp& given_up) noexcept {
    const std::lock_guard lock(mutex_);
    if (hung()) return;
    if (good()) work_ = work;  // of a lost device whose work goes on, what it was lost at is told
    given_up_ = given_up;
    state_.store(State::Hung);
}

Error DeviceHealth::error(const std::string& what, const std::string& device) const {
    const std::lock_guard lock(mutex_);
    const std::string happened =
        hung()
            ? fmt::format("hangs: {} made no progress for {} and was given up{}", work_, duration_text(given_up_.after),
                          given_up_.was_asked_to_end ? ", as the process was asked to end" : "")
            : fmt::format("was lost during {}", work_);
    return {ErrorKind::DeviceLost,
            fmt::format("Cannot {}: device '{}' {}. Drop what was made from this device and make a new one; if that "
                        "fails too, restart the process, or the machine's driver.",
                        what, device, happened)};
}

}  // namespace yolk
