// SPDX-License-Identifier: Apache-2.0
#include "bare_replay.hpp"

#include <volk.h>

#include "binding_impl.hpp"
#include "device_impl.hpp"
#include "vk_result.hpp"

namespace yolk::bench {

struct BareReplay::Impl {
    std::shared_ptr<Device::Impl> device;
    const Binding::Impl* binding = nullptr;
    std::span<const std::byte> params;
    GroupCount groups;
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkSemaphore semaphore = VK_NULL_HANDLE;
    std::uint64_t value = 0;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl() {
        const DeviceContext& context = device->context;
        context.vk.vkQueueWaitIdle(device->queue);
        context.vk.vkDestroySemaphore(context.handle, semaphore, nullptr);
        context.vk.vkDestroyCommandPool(context.handle, pool, nullptr);
    }

    [[nodiscard]] VkResult create_objects() {
        const DeviceContext& context = device->context;
        const VkCommandPoolCreateInfo pool_info{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                                .queueFamilyIndex = context.queue_family};
        VkResult result = context.vk.vkCreateCommandPool(context.handle, &pool_info, nullptr, &pool);
        if (result != VK_SUCCESS) return result;
        const VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               .commandPool = pool,
                                               .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                               .commandBufferCount = 1};
        result = context.vk.vkAllocateCommandBuffers(context.handle, &info, &commands);
        if (result != VK_SUCCESS) return result;
        const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                             .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
        const VkSemaphoreCreateInfo semaphore_info{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
        return context.vk.vkCreateSemaphore(context.handle, &semaphore_info, nullptr, &semaphore);
    }

    void barrier(VkPipelineStageFlags stages, VkAccessFlags from, VkAccessFlags to) const {
        const VkMemoryBarrier memory{
            .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = from, .dstAccessMask = to};
        device->context.vk.vkCmdPipelineBarrier(commands, stages, stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
    }

    void record_kernels(std::uint32_t kernels) const {
        constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
        constexpr VkPipelineStageFlags kTransfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
        constexpr VkAccessFlags kWrite = VK_ACCESS_SHADER_WRITE_BIT;
        constexpr VkAccessFlags kUse = VK_ACCESS_SHADER_READ_BIT | kWrite | VK_ACCESS_UNIFORM_READ_BIT;
        constexpr VkAccessFlags kCopy = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
        const VolkDeviceTable& vk = device->context.vk;
        const Pipeline& pipeline = *binding->pipeline;
        barrier(kCompute | kTransfer, kWrite | VK_ACCESS_TRANSFER_WRITE_BIT, kUse | kCopy);
        for (std::uint32_t i = 0; i < kernels; ++i) {
            vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
            vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                                       &binding->set.handle, 0, nullptr);
            vk.vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                  pipeline.signature.params_bytes, params.data());
            vk.vkCmdDispatch(commands, groups.x, groups.y, groups.z);
            barrier(kCompute, kWrite, kUse);
        }
    }
};

BareReplay::BareReplay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BareReplay::~BareReplay() = default;
BareReplay::BareReplay(BareReplay&&) noexcept = default;

Result<BareReplay> BareReplay::create(const Device& device, const Binding& binding, std::span<const std::byte> params,
                                      GroupCount groups) {
    if (binding.impl() == nullptr || binding.impl()->pipeline->signature.params_bytes != params.size())
        return bad_input("The bare replay needs a binding and the parameters of its kernel.");
    auto impl = std::make_unique<Impl>();
    impl->device = device.impl();
    impl->binding = binding.impl();
    impl->params = params;
    impl->groups = groups;
    YOLK_TRY_VOID(vk_check(impl->create_objects(), "create the bare replay"));
    return BareReplay(std::move(impl));
}

Result<void> BareReplay::record(std::uint32_t kernels) {
    const DeviceContext& context = impl_->device->context;
    VkResult result = context.vk.vkResetCommandPool(context.handle, impl_->pool, 0);
    const VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                        .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    if (result == VK_SUCCESS) result = context.vk.vkBeginCommandBuffer(impl_->commands, &info);
    if (result == VK_SUCCESS) {
        impl_->record_kernels(kernels);
        result = context.vk.vkEndCommandBuffer(impl_->commands);
    }
    if (result != VK_SUCCESS) return vk_error(result, "record the bare replay");
    return {};
}

Result<void> BareReplay::submit_and_wait() {
    const DeviceContext& context = impl_->device->context;
    const std::uint64_t value = ++impl_->value;
    const VkTimelineSemaphoreSubmitInfo timeline{.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                 .signalSemaphoreValueCount = 1,
                                                 .pSignalSemaphoreValues = &value};
    const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                              .pNext = &timeline,
                              .commandBufferCount = 1,
                              .pCommandBuffers = &impl_->commands,
                              .signalSemaphoreCount = 1,
                              .pSignalSemaphores = &impl_->semaphore};
    VkResult result = context.vk.vkQueueSubmit(impl_->device->queue, 1, &submit, VK_NULL_HANDLE);
    const VkSemaphoreWaitInfo wait{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                   .semaphoreCount = 1,
                                   .pSemaphores = &impl_->semaphore,
                                   .pValues = &value};
    if (result == VK_SUCCESS) result = context.vk.vkWaitSemaphores(context.handle, &wait, UINT64_MAX);
    if (result != VK_SUCCESS) return vk_error(result, "run the bare replay");
    return {};
}

}  // namespace yolk::bench
