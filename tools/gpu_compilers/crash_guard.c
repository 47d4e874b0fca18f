// SPDX-License-Identifier: Apache-2.0
// A Vulkan layer that survives the crash of a driver's compiler: tools/gpu-check --all compiles hundreds of thousands
// of pipelines in one process, and one that brings it down must not stop all those behind it, run after run.
//
// YOLK_CRASH_GUARD names a folder with two folders in it. A file in flight/ stands for a pipeline that the driver is
// compiling; it is there before the driver is called, and goes when the driver returns. After a crash coverage.py moves
// what is left to crashed/. A pipeline with a file there does not reach the driver: it is refused with
// VK_ERROR_INVALID_SHADER_NV, a result that no compute pipeline gets otherwise, so that yolk names its configuration. A
// file's name is the hash of the code and the constants that the driver gets.
//
// For one instance and one device, as yolk inspect has them.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

static PFN_vkGetInstanceProcAddr next_instance_function;
static PFN_vkGetDeviceProcAddr next_device_function;

// Of the module that this thread made last: yolk makes a module, then its pipeline.
static _Thread_local VkShaderModule last_module;
static _Thread_local uint64_t last_code;

static uint64_t fnv(uint64_t hash, const void* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) hash = (hash ^ ((const unsigned char*)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void path_of(char* path, size_t size, const char* folder, uint64_t hash) {
    const char* guard = getenv("YOLK_CRASH_GUARD");
    snprintf(path, size, "%s/%s/%016" PRIx64, guard ? guard : ".", folder, hash);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo* info,
                                                    const VkAllocationCallbacks* allocator, VkShaderModule* module) {
    const PFN_vkCreateShaderModule next =
        (PFN_vkCreateShaderModule)next_device_function(device, "vkCreateShaderModule");
    const VkResult result = next(device, info, allocator, module);
    last_module = *module;
    last_code = fnv(UINT64_C(0xcbf29ce484222325), info->pCode, info->codeSize);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                       const VkComputePipelineCreateInfo* infos,
                                                       const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
    const PFN_vkCreateComputePipelines next =
        (PFN_vkCreateComputePipelines)next_device_function(device, "vkCreateComputePipelines");
    if (count != 1 || infos->stage.module != last_module)
        return next(device, cache, count, infos, allocator, pipelines);
    uint64_t hash = last_code;
    const VkSpecializationInfo* constants = infos->stage.pSpecializationInfo;
    if (constants) hash = fnv(hash, constants->pData, constants->dataSize);
    char path[4096];
    path_of(path, sizeof path, "crashed", hash);
    if (access(path, F_OK) == 0) {
        *pipelines = VK_NULL_HANDLE;
        return VK_ERROR_INVALID_SHADER_NV;
    }
    path_of(path, sizeof path, "flight", hash);
    const int file = open(path, O_CREAT | O_WRONLY, 0666);
    if (file >= 0) close(file);
    const VkResult result = next(device, cache, count, infos, allocator, pipelines);
    unlink(path);
    return result;
}

// The loader leaves in the chain who comes next; it is advanced for the one behind.
static VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                           VkInstance* instance) {
    VkLayerInstanceCreateInfo* link = (VkLayerInstanceCreateInfo*)info->pNext;
    while (link &&
           !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerInstanceCreateInfo*)link->pNext;
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    next_instance_function = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    return ((PFN_vkCreateInstance)next_instance_function(VK_NULL_HANDLE, "vkCreateInstance"))(info, allocator,
                                                                                              instance);
}

static VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                         const VkAllocationCallbacks* allocator, VkDevice* device) {
    VkLayerDeviceCreateInfo* link = (VkLayerDeviceCreateInfo*)info->pNext;
    while (link &&
           !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO && link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerDeviceCreateInfo*)link->pNext;
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    const PFN_vkGetInstanceProcAddr instance_function = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    next_device_function = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    return ((PFN_vkCreateDevice)instance_function(VK_NULL_HANDLE, "vkCreateDevice"))(physical, info, allocator, device);
}

static PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char* name) {
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_function;
    if (!strcmp(name, "vkCreateShaderModule")) return (PFN_vkVoidFunction)create_module;
    if (!strcmp(name, "vkCreateComputePipelines")) return (PFN_vkVoidFunction)create_pipelines;
    return next_device_function ? next_device_function(device, name) : NULL;
}

static PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char* name) {
    if (!strcmp(name, "vkGetInstanceProcAddr")) return (PFN_vkVoidFunction)instance_function;
    if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_function;
    if (!strcmp(name, "vkCreateInstance")) return (PFN_vkVoidFunction)create_instance;
    if (!strcmp(name, "vkCreateDevice")) return (PFN_vkVoidFunction)create_device;
    return next_instance_function ? next_instance_function(instance, name) : NULL;
}

// What the loader looks up in the library.
__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
    interface->loaderLayerInterfaceVersion = 2;
    interface->pfnGetInstanceProcAddr = instance_function;
    interface->pfnGetDeviceProcAddr = device_function;
    interface->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
