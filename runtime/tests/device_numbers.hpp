// SPDX-License-Identifier: Apache-2.0
// Devices in the order in which their functions were loaded, so that a fault can be held to one of them. Known by the
// loader's dispatch table, which is the first word of a VkDevice and of its queues.
#pragma once

#include <volk.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace yolk::testing::wrapping {

class DeviceNumbers {
   public:
    void add(VkDevice device) {
        const std::lock_guard lock(mutex_);
        numbers_[*reinterpret_cast<void**>(device)] = ++made_;
    }
    [[nodiscard]] std::uint32_t made() const {
        const std::lock_guard lock(mutex_);
        return made_;
    }
    /// Of a device or a queue, from 1; 0: not one of ours.
    template <class Handle>
    [[nodiscard]] std::uint32_t of(Handle handle) const {
        const std::lock_guard lock(mutex_);
        const auto found = numbers_.find(*reinterpret_cast<void**>(handle));
        return found == numbers_.end() ? 0 : found->second;
    }

   private:
    mutable std::mutex mutex_;
    std::map<void*, std::uint32_t> numbers_;
    std::uint32_t made_ = 0;
};

}  // namespace yolk::testing::wrapping
