// SPDX-License-Identifier: Apache-2.0
#include "yolk/vulkan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "buffer_impl.hpp"
#include "device_impl.hpp"
#include "dispatcher_impl.hpp"
#include "instance_impl.hpp"
#include "physical_device_info.hpp"
#include "private_access.hpp"
#include "recorder_impl.hpp"
#include "sharing_support.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/queue_family.hpp"

namespace yolk {

namespace {

Result<void> check_handles(std::initializer_list<std::pair<const void*, const char*>> handles) {
    for (const auto& [handle, name] : handles) {
        if (handle == nullptr) return bad_input("Cannot adopt the device: its {} is null.", name);
    }
    return {};
}

/// The physical device as data, where it reaches the floor.
Result<DeviceInfo> floor_device(VkInstance instance, VkPhysicalDevice physical_device) {
    YOLK_TRY_VOID(load_vulkan());
    // The loader's functions dispatch by handle: those that another instance gave serve this one.
    if (volkGetLoadedInstance() == VK_NULL_HANDLE) volkLoadInstanceOnly(instance);
    YOLK_TRY(DeviceInfo info, physical_device_info(instance, physical_device, 0));
    const std::vector<std::string> missing = missing_from_floor(info);
    if (missing.empty()) return info;
    return unsupported("Device '{}' cannot run Yolk's kernels; it lacks: {}.", info.name, fmt::join(missing, ", "));
}

/// Whether the chain of a VkDeviceCreateInfo enables the floor's two features, in any of the structures that can.
struct EnabledFeatures {
    bool scalar_block_layout = false;
    bool timeline_semaphore = false;
};

EnabledFeatures enabled_features(const VkDeviceCreateInfo& info) {
    EnabledFeatures enabled;
    for (const auto* next = static_cast<const VkBaseInStructure*>(info.pNext); next != nullptr; next = next->pNext) {
        if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES) {
            const auto* features = reinterpret_cast<const VkPhysicalDeviceVulkan12Features*>(next);
            enabled.scalar_block_layout |= features->scalarBlockLayout == VK_TRUE;
            enabled.timeline_semaphore |= features->timelineSemaphore == VK_TRUE;
        } else if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES) {
            enabled.scalar_block_layout |=
                reinterpret_cast<const VkPhysicalDeviceScalarBlockLayoutFeatures*>(next)->scalarBlockLayout == VK_TRUE;
        } else if (next->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES) {
            enabled.timeline_semaphore |=
                reinterpret_cast<const VkPhysicalDeviceTimelineSemaphoreFeatures*>(next)->timelineSemaphore == VK_TRUE;
        }
    }
    return enabled;
}

Result<void> check_create_info(const AdoptedDevice& adopted, const DeviceInfo& device) {
    const VkDeviceCreateInfo& info = *adopted.create_info;
    std::vector<std::string> missing;
    const EnabledFeatures enabled = enabled_features(info);
    if (!enabled.scalar_block_layout) missing.emplace_back("feature scalarBlockLayout");
    if (!enabled.timeline_semaphore) missing.emplace_back("feature timelineSemaphore");
    YOLK_TRY(const std::vector<const char*> extensions, needed_extensions(adopted.physical_device, device.name));
    for (const char* needed : extensions) {
        const auto* end = info.ppEnabledExtensionNames + info.enabledExtensionCount;
        const bool found = std::any_of(info.ppEnabledExtensionNames, end,
                                       [&](const char* name) { return std::strcmp(name, needed) == 0; });
        if (!found) missing.push_back(fmt::format("extension {}", needed));
    }
    const auto* queues = info.pQueueCreateInfos;
    if (std::none_of(queues, queues + info.queueCreateInfoCount,
                     [&](const auto& queue) { return queue.queueFamilyIndex == adopted.queue_family; })) {
        missing.push_back(fmt::format("a queue of family {}", adopted.queue_family));
    }
    if (missing.empty()) return {};
    return bad_input(
        "Cannot adopt the device on '{}': it was made without {}. Enable what device_needs() says, and ask for the "
        "queue.",
        device.name, fmt::join(missing, ", "));
}

Result<void> check_family(const AdoptedDevice& adopted, const DeviceInfo& device) {
    if (adopted.queue_family >= device.queue_families.size()) {
        return bad_input("Cannot adopt the device on '{}': there is no queue family {}, it has {}.", device.name,
                         adopted.queue_family, device.queue_families.size());
    }
    if (device.queue_families[adopted.queue_family].compute) return {};
    return bad_input(
        "Cannot adopt the device on '{}': its queue family {} has no compute. Use the family that "
        "device_needs() says.",
        device.name, adopted.queue_family);
}

}  // namespace

Result<DeviceNeeds> device_needs(VkInstance instance, VkPhysicalDevice physical_device) {
    YOLK_TRY_VOID(check_handles({{instance, "VkInstance"}, {physical_device, "VkPhysicalDevice"}}));
    YOLK_TRY(const DeviceInfo info, floor_device(instance, physical_device));
    const auto family = select_queue_family(info.queue_families);
    if (!family) return unsupported("Device '{}' has no compute queue.", info.name);
    YOLK_TRY(std::vector<const char*> extensions, needed_extensions(physical_device, info.name));
    return DeviceNeeds{.features = needed_features(),
                       .extensions = std::move(extensions),
                       .sharing_extensions = sharing_extensions(info.sharing),
                       .queue_family = *family};
}

Result<Device> adopt_device(const AdoptedDevice& adopted, const DeviceOptions& options) {
    YOLK_TRY_VOID(check_handles({{adopted.instance, "VkInstance"},
                                 {adopted.physical_device, "VkPhysicalDevice"},
                                 {adopted.device, "VkDevice"},
                                 {adopted.queue, "VkQueue"}}));
    auto impl = std::make_shared<Device::Impl>();
    impl->adopted = true;
    DeviceContext& context = impl->context;
    YOLK_TRY(DeviceInfo info, floor_device(adopted.instance, adopted.physical_device));
    // What the owner enabled above the floor is not known.
    context.info = without_low_precision(std::move(info));
    YOLK_TRY_VOID(check_family(adopted, context.info));
    context.info.features.pipeline_statistics = false;
    if (adopted.create_info != nullptr) YOLK_TRY_VOID(check_create_info(adopted, context.info));
    context.info.sharing = enabled_sharing(context.info.sharing, adopted.create_info);
    context.handle = adopted.device;
    context.physical = adopted.physical_device;
    context.queue_family = adopted.queue_family;
    impl->queue = adopted.queue;
    impl->queue_mutex.callers = adopted.queue_mutex;
    YOLK_TRY_VOID(equip_device(*impl, adopted.instance, adopted.has_debug_utils, options));
    return Interop::device(std::move(impl));
}

Result<Buffer> adopt_buffer(const Device& device, const AdoptedBuffer& adopted) {
    if (adopted.buffer == VK_NULL_HANDLE || adopted.size_bytes == 0) {
        return bad_input("Cannot adopt the buffer [{}]: its handle is null or it has 0 bytes.", adopted.label);
    }
    if ((adopted.usage & kBufferUsage) == 0) {
        return bad_input(
            "Cannot adopt the buffer [{}] with usage {:#x}: it can be neither storage, nor uniform, nor copied.",
            adopted.label, adopted.usage);
    }
    if (!adopted.mapped.empty() && adopted.mapped.size() != adopted.size_bytes) {
        return bad_input("Cannot adopt the buffer [{}]: {} of its {} bytes are mapped. Map all or none.", adopted.label,
                         adopted.mapped.size(), adopted.size_bytes);
    }
    auto impl = std::make_unique<Buffer::Impl>();
    impl->device = device.impl();
    impl->handle = adopted.buffer;
    impl->adopted = true;
    impl->usage = adopted.usage;
    impl->size_bytes = adopted.size_bytes;
    impl->label = adopted.label;
    impl->host = adopted.mapped.empty() ? nullptr : adopted.mapped.data();
    impl->host_access = impl->host != nullptr;
    return Interop::buffer(std::move(impl));
}

Result<Recorder> record_into(const Device& device, VkCommandBuffer commands, const std::string& label) {
    if (commands == VK_NULL_HANDLE) return bad_input("Cannot record [{}]: the command buffer is null.", label);
    auto impl = std::make_unique<Recorder::Impl>();
    impl->device = device.impl();
    impl->label = label;
    impl->record_into(commands);
    return Interop::recorder(std::move(impl));
}

SemaphoreValue semaphore_of(const Submission& submission) noexcept {
    if (submission.dispatcher == nullptr) return {};
    return {.semaphore = Interop::impl(*submission.dispatcher)->timeline->handle, .value = submission.serial.value};
}

}  // namespace yolk
