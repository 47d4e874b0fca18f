// SPDX-License-Identifier: Apache-2.0
// Descriptor sets from pools that grow in number; freed one by one with their bindings.
#pragma once

#include <volk.h>

#include <mutex>
#include <string>
#include <vector>

#include "device_context.hpp"
#include "pipeline_cache.hpp"
#include "yolk/result.hpp"

namespace yolk {

struct DescriptorSet {
    VkDescriptorSet handle = VK_NULL_HANDLE;
    VkDescriptorPool pool = VK_NULL_HANDLE;
};

/// Thread-safe. Pools are kept until the device goes.
class DescriptorPools {
   public:
    explicit DescriptorPools(const DeviceContext& context) : context_(context) {}
    ~DescriptorPools();
    DescriptorPools(const DescriptorPools&) = delete;
    DescriptorPools& operator=(const DescriptorPools&) = delete;

    [[nodiscard]] Result<DescriptorSet> allocate(const Pipeline& pipeline);
    void free(const DescriptorSet& set) noexcept;

   private:
    [[nodiscard]] Result<VkDescriptorPool> add_pool();

    const DeviceContext& context_;
    std::mutex mutex_;
    std::vector<VkDescriptorPool> pools_;
};

}  // namespace yolk
