// SPDX-License-Identifier: Apache-2.0
// A driver of a few functions, for what no real one does on demand: run out of memory, refuse a mapping, fail a
// compilation. One at a time: the functions of Vulkan carry no user data.
#pragma once

#include <volk.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "device_context.hpp"

namespace yolk {

class FakeDriver {
   public:
    FakeDriver() {
        current_ = this;
        context.vk.vkAllocateMemory = allocate_memory;
        context.vk.vkFreeMemory = free_memory;
        context.vk.vkMapMemory = map_memory;
        context.vk.vkUnmapMemory = unmap_memory;
        context.vk.vkCreatePipelineCache = create_pipeline_cache;
        context.vk.vkDestroyPipelineCache = destroy_pipeline_cache;
        context.vk.vkGetPipelineCacheData = get_pipeline_cache_data;
        context.vk.vkCreateShaderModule = create_shader_module;
        context.vk.vkDestroyShaderModule = destroy_shader_module;
        context.vk.vkCreateDescriptorSetLayout = create_set_layout;
        context.vk.vkDestroyDescriptorSetLayout = destroy_set_layout;
        context.vk.vkCreatePipelineLayout = create_pipeline_layout;
        context.vk.vkDestroyPipelineLayout = destroy_pipeline_layout;
        context.vk.vkCreateComputePipelines = create_pipelines;
        context.vk.vkDestroyPipeline = destroy_pipeline;
        // A small discrete GPU: 1 MiB of its own memory, 16 MiB of the host's.
        context.info.name = "fake";
        context.info.uuid = "000102030405060708090a0b0c0d0e0f";
        context.info.driver_version = 7;
        context.info.heaps = {{.size_bytes = 1U << 20U, .device_local = true}, {.size_bytes = 16U << 20U}};
        context.info.memory_types = {{.heap = 0, .device_local = true},
                                     {.heap = 1, .host_visible = true, .host_cached = true}};
        context.info.limits.max_memory_allocation_size = 1U << 30U;
        context.info.limits.max_memory_allocation_count = 64;
        context.info.limits.non_coherent_atom_size = 64;
        context.info.limits.max_push_constants_size = 128;
        context.info.limits.max_storage_buffers_per_stage = 8;
    }
    ~FakeDriver() { current_ = nullptr; }
    FakeDriver(const FakeDriver&) = delete;
    FakeDriver& operator=(const FakeDriver&) = delete;

    DeviceContext context;
    VkResult allocate_result = VK_SUCCESS;
    VkDeviceSize largest_allocation = UINT64_MAX;  ///< above it: out of device memory
    VkResult map_result = VK_SUCCESS;
    std::map<std::uint64_t, std::vector<std::byte>> memory;  ///< what is allocated
    int allocations = 0;

    std::vector<std::byte> initial_data;  ///< what the pipeline cache was made from
    std::vector<std::byte> cache_data;    ///< what it answers when it is read
    VkResult compile_result = VK_SUCCESS;
    std::atomic<int> compilations{0};
    VkPipelineCache compiled_with = VK_NULL_HANDLE;  ///< the driver's cache of the last compilation
    VkPipelineCreateFlags compile_flags = 0;         ///< of the last compilation
    std::atomic<int> living_objects{0};              ///< pipelines, layouts, shader modules, caches
    std::mutex code_mutex;
    std::vector<std::uint32_t> code;  ///< of the last shader module; several threads may compile

   private:
    static inline FakeDriver* current_ = nullptr;
    std::atomic<std::uint64_t> next_handle_{1};

    template <class Handle>
    static void make(Handle* handle) {
        *handle = reinterpret_cast<Handle>(current_->next_handle_.fetch_add(1));
        current_->living_objects.fetch_add(1);
    }
    template <class Handle>
    static void unmake(Handle handle) {
        if (handle != VK_NULL_HANDLE) current_->living_objects.fetch_sub(1);
    }

    static VkResult allocate_memory(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                                    VkDeviceMemory* memory) {
        if (current_->allocate_result != VK_SUCCESS) return current_->allocate_result;
        if (info->allocationSize > current_->largest_allocation) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
        const std::uint64_t handle = current_->next_handle_.fetch_add(1);
        current_->memory[handle].resize(info->allocationSize);
        ++current_->allocations;
        *memory = reinterpret_cast<VkDeviceMemory>(handle);
        return VK_SUCCESS;
    }
    static void free_memory(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks*) {
        current_->memory.erase(reinterpret_cast<std::uint64_t>(memory));
    }
    static VkResult map_memory(VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags,
                               void** data) {
        if (current_->map_result != VK_SUCCESS) return current_->map_result;
        *data = current_->memory.at(reinterpret_cast<std::uint64_t>(memory)).data();
        return VK_SUCCESS;
    }
    static void unmap_memory(VkDevice, VkDeviceMemory) {}

    static VkResult create_pipeline_cache(VkDevice, const VkPipelineCacheCreateInfo* info, const VkAllocationCallbacks*,
                                          VkPipelineCache* cache) {
        const auto* data = static_cast<const std::byte*>(info->pInitialData);
        current_->initial_data.assign(data, data + info->initialDataSize);
        make(cache);
        return VK_SUCCESS;
    }
    static void destroy_pipeline_cache(VkDevice, VkPipelineCache cache, const VkAllocationCallbacks*) { unmake(cache); }
    static VkResult get_pipeline_cache_data(VkDevice, VkPipelineCache, std::size_t* size, void* data) {
        const std::size_t all = current_->cache_data.size();
        if (data != nullptr) std::memcpy(data, current_->cache_data.data(), std::min(*size, all));
        const bool whole = data == nullptr || *size >= all;
        *size = data == nullptr ? all : std::min(*size, all);
        return whole ? VK_SUCCESS : VK_INCOMPLETE;
    }
    static VkResult create_shader_module(VkDevice, const VkShaderModuleCreateInfo* info, const VkAllocationCallbacks*,
                                         VkShaderModule* module) {
        {
            const std::lock_guard lock(current_->code_mutex);
            current_->code.assign(info->pCode, info->pCode + info->codeSize / sizeof(std::uint32_t));
        }
        make(module);
        return VK_SUCCESS;
    }
    static void destroy_shader_module(VkDevice, VkShaderModule module, const VkAllocationCallbacks*) { unmake(module); }
    static VkResult create_set_layout(VkDevice, const VkDescriptorSetLayoutCreateInfo*, const VkAllocationCallbacks*,
                                      VkDescriptorSetLayout* layout) {
        make(layout);
        return VK_SUCCESS;
    }
    static void destroy_set_layout(VkDevice, VkDescriptorSetLayout layout, const VkAllocationCallbacks*) {
        unmake(layout);
    }
    static VkResult create_pipeline_layout(VkDevice, const VkPipelineLayoutCreateInfo*, const VkAllocationCallbacks*,
                                           VkPipelineLayout* layout) {
        make(layout);
        return VK_SUCCESS;
    }
    static void destroy_pipeline_layout(VkDevice, VkPipelineLayout layout, const VkAllocationCallbacks*) {
        unmake(layout);
    }
    static VkResult create_pipelines(VkDevice, VkPipelineCache cache, std::uint32_t,
                                     const VkComputePipelineCreateInfo* info, const VkAllocationCallbacks*,
                                     VkPipeline* pipeline) {
        current_->compilations.fetch_add(1);
        current_->compiled_with = cache;
        current_->compile_flags = info->flags;
        if (current_->compile_result != VK_SUCCESS) return current_->compile_result;
        make(pipeline);
        return VK_SUCCESS;
    }
    static void destroy_pipeline(VkDevice, VkPipeline pipeline, const VkAllocationCallbacks*) { unmake(pipeline); }
};

}  // namespace yolk
