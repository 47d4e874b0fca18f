// SPDX-License-Identifier: Apache-2.0
// What tells pipelines, and their layouts, apart.
#pragma once

#include <volk.h>

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/internal/shaders/kernel.hpp"

namespace yolk {

/// Which bindings of a kernel are no storage buffers, as its module says.
struct BindingKinds {
    std::uint32_t uniform_mask = 0;
    std::uint32_t texel_mask = 0;
    std::uint32_t texel4_mask = 0;

    BindingKinds() = default;
    explicit BindingKinds(const KernelModule& kernel) noexcept
        : uniform_mask(kernel.uniform_mask), texel_mask(kernel.texel_mask), texel4_mask(kernel.texel4_mask) {}
    [[nodiscard]] VkDescriptorType type_of(std::uint32_t binding) const noexcept {
        if (((uniform_mask >> binding) & 1U) != 0) return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        if ((((texel_mask | texel4_mask) >> binding) & 1U) != 0) return VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
        return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    }
    auto operator<=>(const BindingKinds&) const = default;
};

/// What kernels with one pipeline layout share.
struct KernelSignature {
    std::uint32_t binding_count = 0;
    BindingKinds kinds;
    std::uint32_t params_bytes = 0;

    KernelSignature() = default;
    explicit KernelSignature(const KernelModule& kernel) noexcept
        : binding_count(kernel.binding_count), kinds(kernel), params_bytes(kernel.params_bytes) {}
    auto operator<=>(const KernelSignature&) const = default;
};

struct PipelineKey {
    PipelineKey(const KernelModule& kernel, std::span<const SpecConstant> values);

    std::uint64_t spirv_hash;
    KernelSignature signature;
    std::vector<SpecConstant> constants;  ///< by id

    auto operator<=>(const PipelineKey&) const = default;
    [[nodiscard]] std::uint64_t identity() const noexcept;  ///< PipelineReport::identity
};

}  // namespace yolk
