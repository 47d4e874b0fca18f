// SPDX-License-Identifier: Apache-2.0
// Holds a device's queue until it is opened: what is submitted in between is certainly not finished.
#pragma once

#include <volk.h>

#include <memory>

#include "device_impl.hpp"
#include "timeline.hpp"
#include "yolk/internal/core/check.hpp"

namespace yolk {

class Gate {
   public:
    /// Everything submitted to the device's queue from now on waits: the second scope of a semaphore wait holds all
    /// that comes later in submission order.
    explicit Gate(const Device& device) : device_(device.impl()), timeline_(*Timeline::create(device_)) {
        constexpr std::uint64_t kOpen = 1;
        constexpr VkPipelineStageFlags kStage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        VkTimelineSemaphoreSubmitInfo values{};
        values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
        values.waitSemaphoreValueCount = 1;
        values.pWaitSemaphoreValues = &kOpen;
        VkSubmitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
        info.pNext = &values;
        info.waitSemaphoreCount = 1;
        info.pWaitSemaphores = &timeline_->handle;
        info.pWaitDstStageMask = &kStage;
        const std::lock_guard lock(device_->queue_mutex);
        YOLK_CHECK(device_->context.vk.vkQueueSubmit(device_->queue, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS);
    }
    ~Gate() {
        open();
        device_->context.vk.vkQueueWaitIdle(device_->queue);  // the semaphore is in use until then
    }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    void open() {
        if (opened_) return;
        opened_ = true;
        VkSemaphoreSignalInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = timeline_->handle;
        info.value = 1;
        YOLK_CHECK(device_->context.vk.vkSignalSemaphore(device_->context.handle, &info) == VK_SUCCESS);
    }

   private:
    std::shared_ptr<Device::Impl> device_;
    std::shared_ptr<Timeline> timeline_;
    bool opened_ = false;
};

}  // namespace yolk
