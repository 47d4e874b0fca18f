// SPDX-License-Identifier: Apache-2.0
#include "binding_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "buffer_impl.hpp"
#include "device_impl.hpp"
#include "vk_result.hpp"

namespace yolk {
namespace {

constexpr std::size_t kMaxBindings = 32;

struct KindFacts {
    const char* name;
    std::uint64_t max_range;  ///< bytes
    VkBufferUsageFlags usage;
};

KindFacts facts_of(const BindingKinds& kinds, std::uint32_t index, const DeviceLimits& limits) {
    switch (kinds.type_of(index)) {
        case VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER:
            return {"uniform", limits.max_uniform_buffer_range, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT};
        case VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER: {
            const std::uint64_t element_bytes = ((kinds.texel4_mask >> index) & 1U) != 0 ? 16 : 4;
            return {"texel", element_bytes * limits.max_texel_buffer_elements,
                    VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT};
        }
        default: return {"storage", limits.max_storage_buffer_range, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    }
}

Result<void> check_binding(const DeviceContext& context, const Pipeline& pipeline, std::uint32_t index,
                           const BufferView& view) {
    const KindFacts kind = facts_of(pipeline.signature.kinds, index, context.info.limits);
    const std::string what = fmt::format("binding {} ({}) of the kernel [{}]", index, kind.name, pipeline.name);
    YOLK_TRY_VOID(check_view(view, 1, kind.max_range, what.c_str()));
    if (&view.buffer->device->context != &context) {
        return bad_input("Cannot use {}: the buffer [{}] was made by another device.", what, view.buffer->label);
    }
    return view.buffer->check_usage(kind.usage, "Cannot use " + what);
}

/// A view of the whole elements in `view`.
Result<VkBufferView> make_texel_view(const DeviceContext& context, const Pipeline& pipeline, std::uint32_t index,
                                     const BufferView& view) {
    // Where there is not one vector, none is read: an element stands in, so that the view does not leave its buffer.
    const bool vectors = ((pipeline.signature.kinds.texel4_mask >> index) & 1U) != 0 && view.size_bytes >= 16;
    const std::uint64_t element_bytes = vectors ? 16 : 4;
    const VkBufferViewCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
        .buffer = view.buffer->handle,
        .format = vectors ? VK_FORMAT_R32G32B32A32_SFLOAT : VK_FORMAT_R32_SFLOAT,
        .offset = view.offset_bytes,
        .range = std::max(view.size_bytes / element_bytes, std::uint64_t{1}) * element_bytes};
    VkBufferView made = VK_NULL_HANDLE;
    const VkResult result = context.vk.vkCreateBufferView(context.handle, &info, nullptr, &made);
    if (result == VK_SUCCESS) return made;
    return vk_error(result, fmt::format("make a texel view of the buffer [{}] for binding {} of the kernel [{}]",
                                        view.buffer->label, index, pipeline.name));
}

}  // namespace

Binding::Impl::~Impl() {
    if (!device) return;
    device->descriptors->free(set);  // NOLINT(clang-analyzer-unix.MismatchedDeallocator): not that free
    const DeviceContext& context = device->context;
    if (texel_views.empty() || context.abandon(texel_views.size())) return;
    for (const VkBufferView view : texel_views) context.vk.vkDestroyBufferView(context.handle, view, nullptr);
}

Result<std::unique_ptr<Binding::Impl>> make_binding(const std::shared_ptr<Device::Impl>& device, PipelineHandle handle,
                                                    std::span<const BufferView> views) {
    const auto* pipeline = static_cast<const Pipeline*>(handle.impl);
    if (pipeline == nullptr)
        return bad_input("Cannot bind: the pipeline handle is empty. Get one from Device::pipeline.");
    const DeviceContext& context = device->context;
    if (pipeline->context != &context) {
        return bad_input("Cannot bind the kernel [{}]: its pipeline belongs to another device.", pipeline->name);
    }
    if (pipeline->handle == VK_NULL_HANDLE)
        return bad_input("Cannot bind the kernel [{}]: its pipeline was left out (Device::leave_out_pipelines).",
                         pipeline->name);
    if (views.size() != pipeline->signature.binding_count) {
        return bad_input("Cannot bind the kernel [{}]: it has {} bindings, {} views were given.", pipeline->name,
                         pipeline->signature.binding_count, views.size());
    }
    for (std::uint32_t b = 0; b < views.size(); ++b) YOLK_TRY_VOID(check_binding(context, *pipeline, b, views[b]));

    auto impl = std::make_unique<Binding::Impl>();
    impl->device = device;
    impl->pipeline = pipeline;
    YOLK_TRY(impl->set, device->descriptors->allocate(*pipeline));
    std::array<VkDescriptorBufferInfo, kMaxBindings> buffers{};
    std::array<VkBufferView, kMaxBindings> texels{};
    std::array<VkWriteDescriptorSet, kMaxBindings> writes{};
    for (std::uint32_t b = 0; b < views.size(); ++b) {
        const VkDescriptorType type = pipeline->signature.kinds.type_of(b);
        buffers[b] = {.buffer = views[b].buffer->handle, .offset = views[b].offset_bytes, .range = views[b].size_bytes};
        writes[b] = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                     .dstSet = impl->set.handle,
                     .dstBinding = b,
                     .descriptorCount = 1,
                     .descriptorType = type,
                     .pBufferInfo = &buffers[b],
                     .pTexelBufferView = &texels[b]};
        if (type == VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER) {
            YOLK_TRY(texels[b], make_texel_view(context, *pipeline, b, views[b]));
            impl->texel_views.push_back(texels[b]);
        }
    }
    context.vk.vkUpdateDescriptorSets(context.handle, static_cast<std::uint32_t>(views.size()), writes.data(), 0,
                                      nullptr);
    return impl;
}

}  // namespace yolk
