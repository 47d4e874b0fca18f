// SPDX-License-Identifier: Apache-2.0
#include "descriptor_pools.hpp"

#include <fmt/format.h>

#include <array>

#include "vk_result.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kSetsPerPool = 128;
/// Enough of each type for any one kernel (PipelineCache refuses more than 32 bindings); kernels bind 6 on average.
constexpr std::uint32_t kStoragePerPool = 8 * kSetsPerPool;
constexpr std::uint32_t kUniformPerPool = 2 * kSetsPerPool;
constexpr std::uint32_t kTexelPerPool = 2 * kSetsPerPool;

}  // namespace

DescriptorPools::~DescriptorPools() {
    if (context_.abandon(pools_.size())) return;
    for (const VkDescriptorPool pool : pools_) context_.vk.vkDestroyDescriptorPool(context_.handle, pool, nullptr);
}

Result<VkDescriptorPool> DescriptorPools::add_pool() {
    const std::array sizes{VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kStoragePerPool},
                           VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, kUniformPerPool},
                           VkDescriptorPoolSize{VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, kTexelPerPool}};
    const VkDescriptorPoolCreateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                          .flags = VK_DESCRIPTOR_POOL_CREATE_FREE_DESCRIPTOR_SET_BIT,
                                          .maxSets = kSetsPerPool,
                                          .poolSizeCount = sizes.size(),
                                          .pPoolSizes = sizes.data()};
    VkDescriptorPool pool = VK_NULL_HANDLE;
    const VkResult result = context_.vk.vkCreateDescriptorPool(context_.handle, &info, nullptr, &pool);
    if (result != VK_SUCCESS)
        return vk_error(result, fmt::format("create a descriptor pool of device '{}'", context_.info.name));
    pools_.push_back(pool);
    return pool;
}

Result<DescriptorSet> DescriptorPools::allocate(const Pipeline& pipeline) {
    const std::lock_guard lock(mutex_);
    VkDescriptorSetAllocateInfo info{.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                     .descriptorSetCount = 1,
                                     .pSetLayouts = &pipeline.set_layout};
    const std::string what = fmt::format("allocate the bindings of the kernel [{}]", pipeline.name);
    DescriptorSet set;
    for (const VkDescriptorPool pool : pools_) {
        info.descriptorPool = set.pool = pool;
        const VkResult result = context_.vk.vkAllocateDescriptorSets(context_.handle, &info, &set.handle);
        if (result == VK_SUCCESS) return set;
        if (result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL)
            return vk_error(result, what);  // pools are kept: another would not help, and would stay
    }
    YOLK_TRY(set.pool, add_pool());
    info.descriptorPool = set.pool;
    const VkResult result = context_.vk.vkAllocateDescriptorSets(context_.handle, &info, &set.handle);
    if (result != VK_SUCCESS) return vk_error(result, what);
    return set;
}

void DescriptorPools::free(const DescriptorSet& set) noexcept {
    if (set.handle == VK_NULL_HANDLE || context_.health.hung()) return;  // abandoned with its pool
    const std::lock_guard lock(mutex_);
    context_.vk.vkFreeDescriptorSets(context_.handle, set.pool, 1, &set.handle);
}

}  // namespace yolk
