// SPDX-License-Identifier: Apache-2.0
// Labels in command buffers, where a validation layer keeps them.
#pragma once

#include <mutex>

#include "device_context.hpp"

namespace yolk {

/// Held over each call that makes the validation layer touch its labels: begin, end, and the begin, reset and end of
/// command buffers. That of Debian 12 (1.3.239) has one map for all devices of an instance, and erases from it without
/// a lock when a command pool is destroyed, so that threads crash in it, each on a device of its own (docs/quirks.md).
/// A recording has few labels, and the lock is free unless other threads record at this moment. Nothing is held where
/// there are no labels.
[[nodiscard]] inline std::unique_lock<std::mutex> guard_labels(const DeviceContext& context) noexcept {
    static std::mutex mutex;
    return context.begin_label == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(mutex);
}

}  // namespace yolk
