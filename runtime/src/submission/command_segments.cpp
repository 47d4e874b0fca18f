// SPDX-License-Identifier: Apache-2.0
#include "command_segments.hpp"

#include <fmt/format.h>

#include "label_guard.hpp"
#include "vk_result.hpp"

namespace yolk {

Result<void> CommandSegments::create(const DeviceContext& context, const std::string& label) {
    label_ = label;
    const std::string what = fmt::format("create the recorder [{}]", label);
    const VkCommandPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                       .queueFamilyIndex = context.queue_family};
    YOLK_TRY_VOID(vk_check(context.vk.vkCreateCommandPool(context.handle, &info, nullptr, &pool_), what));
    return vk_check(allocate(context), what);
}

void CommandSegments::destroy(const DeviceContext& context) noexcept {
    const auto guard = guard_labels(context);
    context.vk.vkDestroyCommandPool(context.handle, pool_, nullptr);
    pool_ = VK_NULL_HANDLE;
    segments_.clear();
    used_ = 0;
}

VkResult CommandSegments::begin(const DeviceContext& context) noexcept {
    used_ = 0;
    const VkResult result = [&] {
        const auto guard = guard_labels(context);
        return context.vk.vkResetCommandPool(context.handle, pool_, 0);
    }();
    return result == VK_SUCCESS ? open(context) : result;
}

VkResult CommandSegments::open(const DeviceContext& context) noexcept {
    if (used_ == segments_.size()) {
        if (const VkResult made = allocate(context); made != VK_SUCCESS) return made;
    }
    const VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                        .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    const auto guard = guard_labels(context);
    const VkResult result = context.vk.vkBeginCommandBuffer(segments_[used_].commands, &info);
    if (result == VK_SUCCESS) ++used_;
    return result;
}

VkResult CommandSegments::close(const DeviceContext& context, const FixedLabel& last_label,
                                std::uint64_t cost) noexcept {
    segments_[used_ - 1].last_label = last_label;
    segments_[used_ - 1].cost = cost;
    return context.vk.vkEndCommandBuffer(current());
}

std::uint64_t CommandSegments::cost() const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < used_; ++i)
        sum = segments_[i].cost > UINT64_MAX - sum ? UINT64_MAX : sum + segments_[i].cost;
    return sum;
}

VkResult CommandSegments::allocate(const DeviceContext& context) noexcept {
    const VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                           .commandPool = pool_,
                                           .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                           .commandBufferCount = 1};
    CommandSegment segment;
    const VkResult result = context.vk.vkAllocateCommandBuffers(context.handle, &info, &segment.commands);
    if (result != VK_SUCCESS) return result;
    context.name(VK_OBJECT_TYPE_COMMAND_BUFFER, segment.commands, label_);
    segments_.push_back(segment);
    return result;
}

}  // namespace yolk
