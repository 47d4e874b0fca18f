// SPDX-License-Identifier: Apache-2.0
#include "physical_device_info.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cooperative_matrix.hpp"
#include "sharing_support.hpp"
#include "vk_list.hpp"
#include "yolk/internal/runtime/queue_family.hpp"

namespace yolk {
namespace {

DeviceKind device_kind(VkPhysicalDeviceType type) noexcept {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return DeviceKind::Integrated;
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return DeviceKind::Discrete;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return DeviceKind::Virtual;
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return DeviceKind::Cpu;
        default: return DeviceKind::Other;
    }
}

// PCI ids and the registered ids of Khronos (from 0x10000).
std::string vendor_name(std::uint32_t id) {
    switch (id) {
        case 0x1002: return "AMD";
        case 0x1010: return "Imagination";
        case 0x106B: return "Apple";
        case 0x10DE: return "NVIDIA";
        case 0x13B5: return "ARM";
        case 0x14E4: return "Broadcom";
        case 0x1AE0: return "Google";
        case 0x5143: return "Qualcomm";
        case 0x8086: return "Intel";
        case 0x10005: return "Mesa";
        default: return fmt::format("0x{:04x}", id);
    }
}

bool supports_1_2(const VkPhysicalDeviceProperties& properties) { return properties.apiVersion >= VK_API_VERSION_1_2; }

void fill_features(VkPhysicalDevice device, const std::vector<VkExtensionProperties>& extensions,
                   DeviceFeatures& features) {
    VkPhysicalDeviceVulkan12Features vulkan12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDevice16BitStorageFeatures storage16{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES};
    VkPhysicalDeviceSubgroupSizeControlFeatures subgroup{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    VkPhysicalDeviceCooperativeMatrixFeaturesNV matrix_nv{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV};

    KhrCooperativeMatrixFeatures matrix_khr{};
    KhrShaderBfloat16Features bfloat16{};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};

    VkPhysicalDeviceFeatures2 asked{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    void** tail = &asked.pNext;
    chain(tail, vulkan12);
    chain(tail, storage16);
    const bool has_dot = contains(extensions, VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    const bool has_subgroup = contains(extensions, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    const bool has_matrix_nv = contains(extensions, VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME);
    if (has_dot) chain(tail, dot);
    if (has_subgroup) chain(tail, subgroup);
    if (has_matrix_nv) chain(tail, matrix_nv);
    if (contains(extensions, kKhrCooperativeMatrix)) chain(tail, matrix_khr);
    if (contains(extensions, kKhrShaderBfloat16)) chain(tail, bfloat16);
    if (contains(extensions, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)) chain(tail, executables);
    vkGetPhysicalDeviceFeatures2(device, &asked);

    features.timeline_semaphore = vulkan12.timelineSemaphore == VK_TRUE;
    features.scalar_block_layout = vulkan12.scalarBlockLayout == VK_TRUE;
    features.shader_float16 = vulkan12.shaderFloat16 == VK_TRUE;
    features.shader_int8 = vulkan12.shaderInt8 == VK_TRUE;
    features.storage_8bit = vulkan12.storageBuffer8BitAccess == VK_TRUE;
    features.buffer_device_address = vulkan12.bufferDeviceAddress == VK_TRUE;
    features.storage_16bit = storage16.storageBuffer16BitAccess == VK_TRUE;
    features.shader_integer_dot_product = dot.shaderIntegerDotProduct == VK_TRUE;
    features.subgroup_size_control = subgroup.subgroupSizeControl == VK_TRUE;
    features.cooperative_matrix_nv = matrix_nv.cooperativeMatrix == VK_TRUE;
    features.cooperative_matrix_khr = matrix_khr.cooperativeMatrix == VK_TRUE;
    features.bfloat16_matrices =
        bfloat16.shaderBFloat16Type == VK_TRUE && bfloat16.shaderBFloat16CooperativeMatrix == VK_TRUE;
    // With device scope, or it is of no use: see OptionalFeatures.
    features.vulkan_memory_model =
        vulkan12.vulkanMemoryModel == VK_TRUE && vulkan12.vulkanMemoryModelDeviceScope == VK_TRUE;
    features.pipeline_statistics = executables.pipelineExecutableInfo == VK_TRUE;
    features.push_descriptor = contains(extensions, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
    features.memory_budget = contains(extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
}

void fill_compute_units(VkPhysicalDevice device, const std::vector<VkExtensionProperties>& extensions,
                        DeviceLimits& limits) {
    VkPhysicalDeviceShaderCorePropertiesAMD amd{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nv{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    VkPhysicalDeviceProperties2 asked{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    void** tail = &asked.pNext;
    if (contains(extensions, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) chain(tail, amd);
    if (contains(extensions, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) chain(tail, nv);
    if (asked.pNext == nullptr) return;
    vkGetPhysicalDeviceProperties2(device, &asked);
    limits.max_resident_subgroups = std::max(amd.wavefrontsPerSimd, nv.shaderWarpsPerSM);
    const std::uint32_t of_amd =
        amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
    limits.compute_units = std::max(of_amd, nv.shaderSMCount);
}

void fill_driver(VkPhysicalDevice device, DeviceInfo& info) {
    VkPhysicalDeviceMaintenance3Properties allocation{.sType =
                                                          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES};
    VkPhysicalDeviceSubgroupProperties subgroup{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceIDProperties id{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 asked{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    void** tail = &asked.pNext;
    chain(tail, allocation);
    chain(tail, subgroup);
    chain(tail, id);
    chain(tail, driver);
    VkPhysicalDeviceShaderIntegerDotProductProperties dot{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_PROPERTIES};
    if (info.features.shader_integer_dot_product) chain(tail, dot);
    VkPhysicalDeviceSubgroupSizeControlProperties sizes{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    if (info.features.subgroup_size_control) chain(tail, sizes);
    vkGetPhysicalDeviceProperties2(device, &asked);

    info.features.integer_dot_accelerated = dot.integerDotProduct4x8BitPackedSignedAccelerated == VK_TRUE;

    info.driver_name = driver.driverName;
    info.driver_info = driver.driverInfo;
    for (const std::uint8_t byte : id.deviceUUID) info.uuid += fmt::format("{:02x}", byte);
    for (const std::uint8_t byte : id.driverUUID) info.driver_uuid += fmt::format("{:02x}", byte);
    info.limits.max_memory_allocation_size = allocation.maxMemoryAllocationSize;
    info.limits.subgroup_size = subgroup.subgroupSize;
    info.limits.min_subgroup_size = sizes.minSubgroupSize == 0 ? subgroup.subgroupSize : sizes.minSubgroupSize;
}

void fill_limits(const VkPhysicalDeviceLimits& from, DeviceLimits& to) {
    to.max_storage_buffer_range = from.maxStorageBufferRange;
    to.max_uniform_buffer_range = from.maxUniformBufferRange;
    to.min_storage_buffer_offset_alignment = from.minStorageBufferOffsetAlignment;
    to.min_uniform_buffer_offset_alignment = from.minUniformBufferOffsetAlignment;
    to.min_texel_buffer_offset_alignment = from.minTexelBufferOffsetAlignment;
    to.non_coherent_atom_size = from.nonCoherentAtomSize;
    to.max_memory_allocation_count = from.maxMemoryAllocationCount;
    to.max_push_constants_size = from.maxPushConstantsSize;
    to.max_shared_memory_size = from.maxComputeSharedMemorySize;
    to.max_workgroup_invocations = from.maxComputeWorkGroupInvocations;
    std::copy_n(from.maxComputeWorkGroupSize, 3, to.max_workgroup_size.begin());
    std::copy_n(from.maxComputeWorkGroupCount, 3, to.max_workgroup_count.begin());
    to.max_storage_buffers_per_stage = from.maxPerStageDescriptorStorageBuffers;
    to.max_texel_buffer_elements = from.maxTexelBufferElements;
    to.timestamp_period_ns = static_cast<double>(from.timestampPeriod);
}

void fill_memory(VkPhysicalDevice device, DeviceInfo& info) {
    VkPhysicalDeviceMemoryProperties memory{};
    vkGetPhysicalDeviceMemoryProperties(device, &memory);
    for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        const VkMemoryHeap& heap = memory.memoryHeaps[i];
        info.heaps.push_back({heap.size, (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0});
    }
    constexpr VkMemoryPropertyFlags kSpecial =
        VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
        VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        const VkMemoryType& type = memory.memoryTypes[i];
        info.memory_types.push_back({
            .heap = type.heapIndex,
            .device_local = (type.propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT) != 0,
            .host_visible = (type.propertyFlags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0,
            .host_coherent = (type.propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0,
            .host_cached = (type.propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0,
            .special = (type.propertyFlags & kSpecial) != 0,
        });
    }
}

void fill_queues(VkPhysicalDevice device, DeviceInfo& info) {
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    for (const VkQueueFamilyProperties& family : families) {
        info.queue_families.push_back({.compute = (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0,
                                       .graphics = (family.queueFlags & VK_QUEUE_GRAPHICS_BIT) != 0,
                                       .queue_count = family.queueCount,
                                       .timestamp_bits = family.timestampValidBits});
    }
    const auto chosen = select_queue_family(info.queue_families);
    info.has_compute_queue = chosen.has_value();
    // It has timestamps where any family with compute has.
    if (!chosen || info.queue_families[*chosen].timestamp_bits == 0) info.limits.timestamp_period_ns = 0.0;
}

}  // namespace

Result<std::vector<VkExtensionProperties>> extensions_of(VkPhysicalDevice device, const std::string& name) {
    return vk_list<VkExtensionProperties>(fmt::format("list the extensions of device '{}'", name),
                                          [device](std::uint32_t* count, VkExtensionProperties* items) {
                                              return vkEnumerateDeviceExtensionProperties(device, nullptr, count,
                                                                                          items);
                                          });
}

bool contains(const std::vector<VkExtensionProperties>& list, std::string_view name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const VkExtensionProperties& entry) { return name == entry.extensionName; });
}

void fill_budgets(VkPhysicalDevice device, const DeviceFeatures& features, std::vector<MemoryHeapInfo>& heaps) {
    if (!features.memory_budget) return;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkPhysicalDeviceMemoryProperties2 asked{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                            .pNext = &budget};
    vkGetPhysicalDeviceMemoryProperties2(device, &asked);
    for (std::size_t i = 0; i < heaps.size(); ++i)
        heaps[i].budget = MemoryBudget{.budget_bytes = budget.heapBudget[i], .used_bytes = budget.heapUsage[i]};
}

Result<DeviceInfo> physical_device_info(VkInstance instance, VkPhysicalDevice device, std::uint32_t index) {
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(device, &properties);
    DeviceInfo info;
    info.index = index;
    info.name = properties.deviceName;
    info.kind = device_kind(properties.deviceType);
    info.vendor_id = properties.vendorID;
    info.device_id = properties.deviceID;
    info.vendor = vendor_name(properties.vendorID);
    info.api_version = properties.apiVersion;
    info.driver_version = properties.driverVersion;
    fill_limits(properties.limits, info.limits);
    fill_memory(device, info);
    fill_queues(device, info);
    if (supports_1_2(properties)) {
        YOLK_TRY(const std::vector<VkExtensionProperties> extensions, extensions_of(device, info.name));
        fill_features(device, extensions, info.features);
        fill_budgets(device, info.features, info.heaps);
        fill_driver(device, info);
        info.cooperative_shapes = list_cooperative_shapes(instance, device, info.features);
        fill_compute_units(device, extensions, info.limits);
        info.sharing = ask_sharing(device, extensions);
    }
    return info;
}

}  // namespace yolk
