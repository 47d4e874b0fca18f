// SPDX-License-Identifier: Apache-2.0
#include "timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device_impl.hpp"
#include "vk_result.hpp"

namespace yolk {

Result<std::shared_ptr<Timeline>> Timeline::create(const std::shared_ptr<Device::Impl>& device) {
    auto timeline = std::make_shared<Timeline>();
    timeline->device = device;
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                         .initialValue = 0};
    const VkSemaphoreCreateInfo info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    const DeviceContext& context = device->context;
    const VkResult result = context.vk.vkCreateSemaphore(context.handle, &info, nullptr, &timeline->handle);
    if (result != VK_SUCCESS)
        return vk_error(result, fmt::format("create a timeline semaphore of device '{}'", context.info.name));
    return timeline;
}

Timeline::~Timeline() {
    if (handle != VK_NULL_HANDLE) device->context.vk.vkDestroySemaphore(device->context.handle, handle, nullptr);
}

VkResult Timeline::wait(std::uint64_t value, std::chrono::nanoseconds timeout) const noexcept {
    const VkSemaphoreWaitInfo info{
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &handle, .pValues = &value};
    const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
    return device->context.vk.vkWaitSemaphores(device->context.handle, &info, nanoseconds);
}

VkResult Timeline::poll(std::uint64_t value) const noexcept {
    std::uint64_t reached = 0;
    const VkResult result = device->context.vk.vkGetSemaphoreCounterValue(device->context.handle, handle, &reached);
    if (result != VK_SUCCESS) return result;
    return reached >= value ? VK_SUCCESS : VK_NOT_READY;
}

}  // namespace yolk
