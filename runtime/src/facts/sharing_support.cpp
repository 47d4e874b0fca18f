// SPDX-License-Identifier: Apache-2.0
#include "sharing_support.hpp"

#include <algorithm>
#include <string_view>

#include "buffer_usage.hpp"
#include "physical_device_info.hpp"
#include "vk_result.hpp"

namespace yolk {
namespace {

HandleSupport ask_memory(VkPhysicalDevice device, VkExternalMemoryHandleTypeFlagBits type) {
    const VkPhysicalDeviceExternalBufferInfo asked{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, .usage = kBufferUsage, .handleType = type};
    VkExternalBufferProperties answer{.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(device, &asked, &answer);
    const VkExternalMemoryFeatureFlags features = answer.externalMemoryProperties.externalMemoryFeatures;
    return {.can_export = (features & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT) != 0,
            .can_import = (features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) != 0};
}

HandleSupport ask_timeline(VkPhysicalDevice device) {
    const VkSemaphoreTypeCreateInfo type{.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                         .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkPhysicalDeviceExternalSemaphoreInfo asked{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &type,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties answer{.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(device, &asked, &answer);
    return {.can_export = (answer.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) != 0,
            .can_import = (answer.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT) != 0};
}

std::uint64_t ask_host_pointer_alignment(VkPhysicalDevice device) {
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 asked{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host};
    vkGetPhysicalDeviceProperties2(device, &asked);
    return host.minImportedHostPointerAlignment;
}

const char* what_it_must_be(HandleType type) {
    switch (type) {
        case HandleType::OpaqueFd: return "the handle as memory that it has exported";
        case HandleType::DmaBuf: return "the descriptor as a dma-buf whose memory it can use";
        case HandleType::HostPointer: break;
    }
    return "these bytes as memory of the process that it can use";
}

bool any(const HandleSupport& support) { return support.can_export || support.can_import; }

}  // namespace

SharingSupport ask_sharing(VkPhysicalDevice device, const std::vector<VkExtensionProperties>& extensions) {
    SharingSupport sharing;
    if (contains(extensions, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) {
        sharing.opaque_fd = ask_memory(device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT);
        if (contains(extensions, VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME))
            sharing.dma_buf = ask_memory(device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT);
    }
    if (contains(extensions, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
        // SwiftShader lists the extension and imports no buffer by it.
        sharing.host_pointer = ask_memory(device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT);
        if (sharing.host_pointer.can_import) sharing.host_pointer_alignment = ask_host_pointer_alignment(device);
    }
    if (contains(extensions, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME)) sharing.timeline = ask_timeline(device);
    return sharing;
}

std::uint64_t ask_timeline_difference(VkPhysicalDevice device) {
    VkPhysicalDeviceTimelineSemaphoreProperties timeline{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_PROPERTIES};
    VkPhysicalDeviceProperties2 asked{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &timeline};
    vkGetPhysicalDeviceProperties2(device, &asked);
    return timeline.maxTimelineSemaphoreValueDifference;
}

Error refused_import(Error error, HandleType type, std::string_view what, bool has_room) {
    const bool short_of_nothing = has_room && error.native == VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (error.native != VK_ERROR_INVALID_EXTERNAL_HANDLE && !short_of_nothing) return error;
    return bad_input("Cannot import {}: the driver does not take {}. It returned {}{}.", what, what_it_must_be(type),
                     vk_result_name(static_cast<VkResult>(error.native)),
                     short_of_nothing ? ", although the heap has room" : "");
}

std::vector<const char*> sharing_extensions(const SharingSupport& sharing) {
    std::vector<const char*> extensions;
    if (any(sharing.opaque_fd) || any(sharing.dma_buf)) extensions.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    if (any(sharing.dma_buf)) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME);
    if (any(sharing.host_pointer)) extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    if (any(sharing.timeline)) extensions.push_back(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    return extensions;
}

SharingSupport enabled_sharing(const SharingSupport& sharing, const VkDeviceCreateInfo* info) {
    const auto enabled = [info](std::string_view name) {
        if (info == nullptr) return false;
        const auto* end = info->ppEnabledExtensionNames + info->enabledExtensionCount;
        return std::any_of(info->ppEnabledExtensionNames, end, [name](const char* given) { return name == given; });
    };
    SharingSupport left;
    if (enabled(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) {
        left.opaque_fd = sharing.opaque_fd;
        if (enabled(VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME)) left.dma_buf = sharing.dma_buf;
    }
    if (enabled(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
        left.host_pointer = sharing.host_pointer;
        left.host_pointer_alignment = sharing.host_pointer_alignment;
    }
    if (enabled(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME)) left.timeline = sharing.timeline;
    return left;
}

}  // namespace yolk
