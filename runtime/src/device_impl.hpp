// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "descriptor_pools.hpp"
#include "device_context.hpp"
#include "memory_blocks.hpp"
#include "pipeline_cache.hpp"
#include "yolk/runtime/device.hpp"

namespace yolk {

/// Shared by the Device and by everything made from it; the last of them destroys the VkDevice.
struct Device::Impl {
    std::shared_ptr<Instance::Impl> instance;  ///< outlives the device
    DeviceContext context;
    VkQueue queue = VK_NULL_HANDLE;
    std::mutex queue_mutex;  ///< vkQueueSubmit wants one thread at a time

    // In the order in which they are made; pointers, because they want a living VkDevice.
    std::unique_ptr<MemoryBlocks> memory;
    std::unique_ptr<PipelineCache> pipelines;
    std::unique_ptr<DescriptorPools> descriptors;

    Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    [[nodiscard]] const DeviceFindings& findings() const noexcept { return *current_findings_.load(); }
    void set_findings(DeviceFindings findings);

    /// Of a timestamp, from the first one that was asked about: drivers count from anywhere, and a double holds only 53
    /// bits.
    [[nodiscard]] double nanoseconds(std::uint64_t ticks) noexcept;

   private:
    std::atomic<std::uint64_t> first_ticks_{0};  ///< 0: none yet
    std::mutex findings_mutex_;
    std::deque<DeviceFindings> all_findings_;  ///< none is dropped: references given out stay good
    std::atomic<const DeviceFindings*> current_findings_;
};

/// Makes the VkDevice and its parts. `index` is within instance->infos.
[[nodiscard]] Result<std::shared_ptr<Device::Impl>> make_device(const std::shared_ptr<Instance::Impl>& instance,
                                                                std::uint32_t index, const DeviceOptions& options);

}  // namespace yolk
