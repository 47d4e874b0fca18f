// SPDX-License-Identifier: Apache-2.0
#include "binding_impl.hpp"

#include <fmt/format.h>

#include <array>

#include "buffer_impl.hpp"
#include "device_impl.hpp"

namespace yolk {
namespace {

constexpr std::size_t kMaxBindings = 32;

Result<void> check_binding(const DeviceContext& context, const Pipeline& pipeline, std::uint32_t index,
                           const BufferView& view) {
    const bool uniform = ((pipeline.uniform_mask >> index) & 1U) != 0;
    const DeviceLimits& limits = context.info.limits;
    const std::string what =
        fmt::format("binding {} ({}) of the kernel [{}]", index, uniform ? "uniform" : "storage", pipeline.name);
    YOLK_TRY_VOID(
        check_view(view, 1, uniform ? limits.max_uniform_buffer_range : limits.max_storage_buffer_range, what.c_str()));
    if (&view.buffer->impl()->device->context != &context) {
        return bad_input(
            fmt::format("Cannot use {}: the buffer [{}] was made by another device.", what, view.buffer->label()));
    }
    return view.buffer->impl()->check_usage(
        uniform ? VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT : VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, "Cannot use " + what);
}

}  // namespace

Binding::Binding() noexcept = default;
Binding::~Binding() = default;
Binding::Binding(Binding&&) noexcept = default;
Binding& Binding::operator=(Binding&&) noexcept = default;
Binding::Binding(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Binding::Impl::~Impl() {
    if (device) device->descriptors->free(set);  // NOLINT(clang-analyzer-unix.MismatchedDeallocator): not that free
}

Result<std::unique_ptr<Binding::Impl>> make_binding(const std::shared_ptr<Device::Impl>& device, PipelineHandle handle,
                                                    std::span<const BufferView> views) {
    const auto* pipeline = static_cast<const Pipeline*>(handle.impl);
    if (pipeline == nullptr)
        return bad_input("Cannot bind: the pipeline handle is empty. Get one from Device::pipeline.");
    const DeviceContext& context = device->context;
    if (pipeline->context != &context) {
        return bad_input(
            fmt::format("Cannot bind the kernel [{}]: its pipeline belongs to another device.", pipeline->name));
    }
    if (views.size() != pipeline->binding_count) {
        return bad_input(fmt::format("Cannot bind the kernel [{}]: it has {} bindings, {} views were given.",
                                     pipeline->name, pipeline->binding_count, views.size()));
    }
    for (std::uint32_t b = 0; b < views.size(); ++b) YOLK_TRY_VOID(check_binding(context, *pipeline, b, views[b]));

    auto impl = std::make_unique<Binding::Impl>();
    impl->device = device;
    impl->pipeline = pipeline;
    YOLK_TRY(impl->set, device->descriptors->allocate(*pipeline));
    std::array<VkDescriptorBufferInfo, kMaxBindings> buffers{};
    std::array<VkWriteDescriptorSet, kMaxBindings> writes{};
    for (std::uint32_t b = 0; b < views.size(); ++b) {
        const bool uniform = ((pipeline->uniform_mask >> b) & 1U) != 0;
        buffers[b] = {
            .buffer = views[b].buffer->impl()->handle, .offset = views[b].offset_bytes, .range = views[b].size_bytes};
        writes[b] = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                     .dstSet = impl->set.handle,
                     .dstBinding = b,
                     .descriptorCount = 1,
                     .descriptorType = uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                     .pBufferInfo = &buffers[b]};
    }
    context.vk.vkUpdateDescriptorSets(context.handle, static_cast<std::uint32_t>(views.size()), writes.data(), 0,
                                      nullptr);
    return impl;
}

}  // namespace yolk
