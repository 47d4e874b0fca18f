// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <volk.h>

#include <memory>
#include <span>
#include <vector>

#include "descriptor_pools.hpp"
#include "yolk/device.hpp"

namespace yolk {

struct Binding::Impl {
    std::shared_ptr<Device::Impl> device;
    const Pipeline* pipeline = nullptr;
    DescriptorSet set;
    std::vector<VkBufferView> texel_views;

    Impl() = default;
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();
};

[[nodiscard]] Result<std::unique_ptr<Binding::Impl>> make_binding(const std::shared_ptr<Device::Impl>& device,
                                                                  PipelineHandle pipeline,
                                                                  std::span<const BufferView> views);

}  // namespace yolk
