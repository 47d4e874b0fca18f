// SPDX-License-Identifier: Apache-2.0
// For engines that own Vulkan already: their VkDevice and queue, their buffers as views, their semaphores, their
// command buffers. The only public header that names Vulkan types. Handles that are passed in stay the caller's, who
// keeps them alive until everything that Yolk made from them is gone, and whose own Vulkan calls stay his.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk {

/// What a VkDevice must be made with for Yolk to work on it.
struct DeviceNeeds {
    std::uint32_t api_version = VK_API_VERSION_1_2;  ///< at least, of the instance and of the device
    /// Those that are VK_TRUE must be enabled; chain it, or merge it into a structure of your own.
    VkPhysicalDeviceVulkan12Features features{};
    std::vector<const char*> extensions;  ///< to be enabled on the device; literals
    /// Optional: further extensions, which sharing needs (yolk/shared_memory.hpp).
    std::vector<const char*> sharing_extensions;
    std::uint32_t queue_family = 0;  ///< a good choice; any with compute will do
};

/// Errors: a null handle; below the portable floor (says what the device lacks).
[[nodiscard]] Result<DeviceNeeds> device_needs(VkInstance instance, VkPhysicalDevice physical_device);

struct AdoptedDevice {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t queue_family = 0;
    /// Held over every vkQueueSubmit of Yolk's; hold it over your own. Null: nobody else uses the queue while Yolk
    /// submits.
    std::mutex* queue_mutex = nullptr;
    bool has_debug_utils = false;  ///< VK_EXT_debug_utils is enabled on the instance: names and labels are set
    /// What `device` was made from; where given, it is held against device_needs() and what lacks is named. The
    /// extensions of yolk/internal/runtime/sharing.hpp count as enabled where it names them, so that without it nothing
    /// is shared.
    const VkDeviceCreateInfo* create_info = nullptr;
};

/// A Device on the caller's VkDevice; paths of low precision are closed on it. It never destroys, waits idle or
/// otherwise takes over the VkDevice; the caller destroys that after the Device and all that was made from it. Errors:
/// a null handle, device_needs' errors, a feature or extension that create_info lacks, a queue family without compute.
[[nodiscard]] Result<Device> adopt_device(const AdoptedDevice& adopted, const DeviceOptions& options = {});

struct AdoptedBuffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    std::uint64_t size_bytes = 0;
    VkBufferUsageFlags usage = 0;      ///< as it was made; a use that it lacks is refused
    std::span<std::byte> mapped = {};  ///< where the caller has mapped it; flushing is then his
    std::string label = "adopted buffer";
};

/// A Buffer over the caller's VkBuffer, for views. Its memory is bound, and an offset of 256 in it is an offset that
/// the device can bind. Errors: a null handle, no bytes, no usage that Yolk has.
[[nodiscard]] Result<Buffer> adopt_buffer(const Device& device, const AdoptedBuffer& adopted);

/// A recorder that writes into the caller's command buffer, which is being recorded, outside of a render pass. It
/// begins with a barrier against earlier compute and transfer work of the queue. Nothing is cut: a submission is as
/// long as what is recorded (docs/adr/0007-long-work-is-cut.md). Call finish() for what went wrong; begin(), timestamps
/// and Dispatcher::submit are refused. Bindings and buffers must outlive the work, which Yolk cannot watch.
[[nodiscard]] Result<Recorder> record_into(const Device& device, VkCommandBuffer commands,
                                           const std::string& label = "recording into a caller's command buffer");

/// A semaphore to wait on or to signal; the value is ignored for binary ones.
struct SemaphoreValue {
    VkSemaphore semaphore = VK_NULL_HANDLE;
    std::uint64_t value = 0;
};

/// For Dispatcher::submit. At most 16 waits (Submissions waited for included) and 15 signals.
struct CallerSemaphores {
    std::span<const SemaphoreValue> wait_before = {};
    std::span<const SemaphoreValue> signal_after = {};
};

/// What a submission signals when it is done, for submissions of the caller's own to wait on; valid as long as the
/// dispatcher.
[[nodiscard]] SemaphoreValue semaphore_of(const Submission& submission) noexcept;

}  // namespace yolk
