// SPDX-License-Identifier: Apache-2.0
// A VkDevice as an engine has it, made without Yolk's Device: for the tests of yolk/vulkan.hpp.
#pragma once

#include <volk.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "instance_impl.hpp"
#include "yolk/internal/core/check.hpp"
#include "yolk/internal/runtime/memory_type.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/vulkan.hpp"

namespace yolk {

class CallersDevice {
   public:
    /// `shares`: it enables what sharing takes, too.
    explicit CallersDevice(const std::string& name, bool shares = false) {
        const auto& instance = yolk::testing::instance().impl();
        const VkPhysicalDevice physical = instance->physical_devices[yolk::testing::device_index(name)];
        const DeviceNeeds needs = *device_needs(instance->handle, physical);
        memory_types = yolk::testing::instance().devices()[yolk::testing::device_index(name)].memory_types;
        features = needs.features;
        extensions = needs.extensions;
        if (shares)
            extensions.insert(extensions.end(), needs.sharing_extensions.begin(), needs.sharing_extensions.end());
        queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                      .queueFamilyIndex = needs.queue_family,
                      .queueCount = 1,
                      .pQueuePriorities = &kPriority};
        info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                .pNext = &features,
                .queueCreateInfoCount = 1,
                .pQueueCreateInfos = &queue_info,
                .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
                .ppEnabledExtensionNames = extensions.data()};
        YOLK_CHECK(vkCreateDevice(physical, &info, nullptr, &device) == VK_SUCCESS);
        volkLoadDeviceTable(&vk, device);
        vk.vkGetDeviceQueue(device, needs.queue_family, 0, &queue);
        adopted = {.instance = instance->handle,
                   .physical_device = physical,
                   .device = device,
                   .queue = queue,
                   .queue_family = needs.queue_family,
                   .queue_mutex = &queue_mutex,
                   .has_debug_utils = instance->has_debug_utils,
                   .create_info = &info};
    }
    ~CallersDevice() {
        if (buffer != VK_NULL_HANDLE) vk.vkDestroyBuffer(device, buffer, nullptr);
        if (memory != VK_NULL_HANDLE) vk.vkFreeMemory(device, memory, nullptr);
        vk.vkDestroyDevice(device, nullptr);  // the validation layer names what is still alive
    }
    CallersDevice(const CallersDevice&) = delete;
    CallersDevice& operator=(const CallersDevice&) = delete;

    /// One buffer of host-visible memory, mapped; once.
    [[nodiscard]] AdoptedBuffer make_buffer(std::uint64_t size_bytes, VkBufferUsageFlags usage) {
        const VkBufferCreateInfo buffer_info{
            .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size_bytes, .usage = usage};
        YOLK_CHECK(vk.vkCreateBuffer(device, &buffer_info, nullptr, &buffer) == VK_SUCCESS);
        VkMemoryRequirements needs{};
        vk.vkGetBufferMemoryRequirements(device, buffer, &needs);
        // Not flushed: where memory is cached it is coherent, too, on every driver known.
        const VkMemoryAllocateInfo memory_info{
            .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
            .allocationSize = needs.size,
            .memoryTypeIndex = *select_memory_type(memory_types, needs.memoryTypeBits, MemoryDomain::Readback)};
        YOLK_CHECK(vk.vkAllocateMemory(device, &memory_info, nullptr, &memory) == VK_SUCCESS);
        YOLK_CHECK(vk.vkBindBufferMemory(device, buffer, memory, 0) == VK_SUCCESS);
        void* mapped = nullptr;
        YOLK_CHECK(vk.vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped) == VK_SUCCESS);
        return {.buffer = buffer,
                .size_bytes = size_bytes,
                .usage = usage,
                .mapped = {static_cast<std::byte*>(mapped), static_cast<std::size_t>(size_bytes)},
                .label = "engine buffer"};
    }

    static constexpr float kPriority = 1.0F;
    std::vector<MemoryTypeInfo> memory_types;
    VkPhysicalDeviceVulkan12Features features{};
    std::vector<const char*> extensions;
    VkDeviceQueueCreateInfo queue_info{};
    VkDeviceCreateInfo info{};
    VkDevice device = VK_NULL_HANDLE;
    VolkDeviceTable vk{};
    VkQueue queue = VK_NULL_HANDLE;
    std::mutex queue_mutex;
    AdoptedDevice adopted;
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
};

}  // namespace yolk
