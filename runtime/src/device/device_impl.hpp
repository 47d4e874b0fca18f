// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "descriptor_pools.hpp"
#include "device_context.hpp"
#include "memory_blocks.hpp"
#include "pipeline_cache.hpp"
#include "timeline_progress.hpp"
#include "yolk/device.hpp"
#include "yolk/internal/runtime/shape_requests.hpp"

namespace yolk {

/// vkQueueSubmit wants one thread at a time: of ours, and of the owner of an adopted device.
class QueueMutex {
   public:
    void lock() { callers != nullptr ? callers->lock() : own_.lock(); }
    void unlock() { callers != nullptr ? callers->unlock() : own_.unlock(); }

    std::mutex* callers = nullptr;  ///< set before the first lock

   private:
    std::mutex own_;
};

struct ByFamilyAndShape {
    bool operator()(const ShapeRequest& a, const ShapeRequest& b) const;
};

/// Shared by the Device and by everything made from it; the last of them destroys the VkDevice.
struct Device::Impl {
    std::shared_ptr<Instance::Impl> instance;  ///< outlives the device
    DeviceContext context;
    VkQueue queue = VK_NULL_HANDLE;
    TimelineProgress progress;
    QueueMutex queue_mutex;
    bool adopted = false;  ///< the VkDevice is the caller's
    std::chrono::nanoseconds hang_limit = kHangLimit;
    std::atomic<const void*> wait_teller{nullptr};  ///< of all waits that take long one is told

    // In the order in which they are made; pointers, because they want a living VkDevice.
    std::unique_ptr<MemoryBlocks> memory;
    std::unique_ptr<PipelineCache> pipelines;
    std::unique_ptr<DescriptorPools> descriptors;

    /// Held over the check of a SharedTimeline's value and the call that signals or submits it. One for all timelines:
    /// a submission may signal several.
    std::mutex timelines_mutex;

    std::mutex asked_mutex;
    std::set<ShapeRequest, ByFamilyAndShape> asked;  ///< guarded by it

    Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    [[nodiscard]] const DeviceFindings& findings() const noexcept { return *current_findings_.load(); }
    void set_findings(DeviceFindings findings);

    [[nodiscard]] std::shared_ptr<const TuningTable> tuning_table() {
        const std::lock_guard lock(tuning_mutex_);
        return tuning_table_;
    }
    void set_tuning_table(std::shared_ptr<const TuningTable> table) {
        const std::lock_guard lock(tuning_mutex_);
        tuning_table_.swap(table);  // the old one dies outside, with `table`
    }

    /// Of a timestamp, from the first one that was asked about: drivers count from anywhere, and a double holds only 53
    /// bits.
    [[nodiscard]] double nanoseconds(std::uint64_t ticks) noexcept;

   private:
    std::atomic<std::uint64_t> first_ticks_{0};  ///< 0: none yet
    std::mutex findings_mutex_;
    std::deque<DeviceFindings> all_findings_;  ///< none is dropped: references given out stay good
    std::atomic<const DeviceFindings*> current_findings_;
    std::mutex tuning_mutex_;
    std::shared_ptr<const TuningTable> tuning_table_;
};

/// Everything of a device that has its VkDevice, queue family and info already: the function table, the queue where
/// none was given, memory, pipelines.
[[nodiscard]] Result<void> equip_device(Device::Impl& device, VkInstance instance, bool has_debug_utils,
                                        const DeviceOptions& options);

/// The portable floor's features. A device that Yolk makes itself gets those of low precision besides, where it has
/// them.
[[nodiscard]] VkPhysicalDeviceVulkan12Features needed_features() noexcept;
/// `name` is the device's, for the error where the driver does not list its extensions.
[[nodiscard]] Result<std::vector<const char*>> needed_extensions(VkPhysicalDevice device, const std::string& name);

/// Makes the VkDevice and its parts. `index` is within instance->infos.
[[nodiscard]] Result<std::shared_ptr<Device::Impl>> make_device(const std::shared_ptr<Instance::Impl>& instance,
                                                                std::uint32_t index, const DeviceOptions& options);

}  // namespace yolk
