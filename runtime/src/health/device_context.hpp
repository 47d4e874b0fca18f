// SPDX-License-Identifier: Apache-2.0
// What every part of a logical device needs of it: the handle, its own function table, the facts, the counters.
#pragma once

#include <volk.h>

#include <cstdint>
#include <string>

#include "device_health.hpp"
#include "submission_pace.hpp"
#include "yolk/internal/core/counters.hpp"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/internal/runtime/memory_type.hpp"

namespace yolk {

/// Owned by Device::Impl, which outlives the parts that refer to it. Immutable after creation, except for the counters,
/// the pace and the health, which are thread-safe.
struct DeviceContext {
    VkDevice handle = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    /// Functions of this device, without the loader's dispatch. The global device functions of volk are never loaded:
    /// two devices of different drivers live in one process.
    VolkDeviceTable vk{};
    DeviceInfo info;
    MemoryPolicy memory_policy = MemoryPolicy::Native;  ///< settled: never Automatic
    std::uint32_t queue_family = 0;
    /// Bits of a timestamp that count; 0 where the queue has none.
    std::uint32_t timestamp_bits = 0;
    /// How far values of one timeline semaphore may be apart; at first the least that Vulkan allows.
    std::uint64_t max_timeline_difference = 0x7FFFFFFF;
    /// What one submission may cost (LinearGrid::cost_per_group).
    mutable SubmissionPace pace;
    mutable OperationCounters counters;
    mutable DeviceHealth health;

    /// info.heaps, with the budgets of this moment.
    [[nodiscard]] std::vector<MemoryHeapInfo> heaps_now() const;

    // Null without the debug-utils extension.
    PFN_vkSetDebugUtilsObjectNameEXT set_object_name = nullptr;
    PFN_vkCmdBeginDebugUtilsLabelEXT begin_label = nullptr;
    PFN_vkCmdEndDebugUtilsLabelEXT end_label = nullptr;

    /// Shown by debuggers, captures and validation messages. No-op without debug utils.
    template <class Handle>
    void name(VkObjectType type, Handle object, const std::string& text) const noexcept {
        set_name(type, reinterpret_cast<std::uint64_t>(object), text.c_str());
    }

    /// As vk_error, and remembers a loss. `work` names what ran when the driver said so.
    [[nodiscard]] Error error(VkResult result, const std::string& what, const std::string& work) const;
    /// The error of every call once the device is not good. `what` completes "Cannot ...".
    [[nodiscard]] Error failed(const std::string& what) const { return health.error(what, info.name); }
    /// Whether `handles`, which their owner was about to destroy, must be left to a hung device; then they are counted.
    [[nodiscard]] bool abandon(std::uint64_t handles) const noexcept;

   private:
    void set_name(VkObjectType type, std::uint64_t object, const char* text) const noexcept;
};

}  // namespace yolk
