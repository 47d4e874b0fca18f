// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "yolk/internal/primitives/float_format.hpp"
#include "yolk/internal/runtime/device_info.hpp"
#include "yolk/matmul.hpp"

namespace yolk {

inline constexpr auto kF16 = FloatFormat::F16;

/// A device with matrix units of 16 x 16 x 16, of int8 16 x 16 x 32, and subgroups of 32, as data.
inline DeviceInfo with_matrix_units() {
    DeviceInfo info;
    info.kind = DeviceKind::Discrete;
    info.limits.subgroup_size = 32;
    info.limits.max_shared_memory_size = 32768;
    info.features.shader_float16 = info.features.storage_16bit = info.features.vulkan_memory_model = true;
    info.features.cooperative_matrix_nv = true;
    info.features.cooperative_matrix_khr = info.features.bfloat16_matrices = info.features.shader_int8 = true;
    constexpr auto kBf16 = ComponentType::BF16, kI8 = ComponentType::I8;
    constexpr auto kF32 = ComponentType::F32, kI32 = ComponentType::I32;
    info.cooperative_shapes = {{.m = 16, .n = 16, .k = 16},
                               {16, 16, 16, kBf16, kBf16, kF32, kF32, true},
                               {16, 16, 32, kI8, kI8, kI32, kI32, true}};
    return info;
}

/// A product that they may take, b as a layer's weights lie.
inline MatmulDesc half_product(std::uint32_t size) {
    return {.m = size, .n = size, .k = size, .a = {.format = kF16}, .b = {.transposed = true, .format = kF16}};
}

}  // namespace yolk
