// SPDX-License-Identifier: Apache-2.0
// DeviceInfos for the pure decisions: lavapipe and SwiftShader as vulkaninfo shows them, the GPUs in the shape that
// such GPUs report, reduced to what a decision depends on.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "yolk/internal/runtime/device_info.hpp"

namespace yolk::tables {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

[[nodiscard]] constexpr std::uint32_t vulkan(std::uint32_t major, std::uint32_t minor, std::uint32_t patch) {
    return major << 22U | minor << 12U | patch;
}

/// What all of them share: a device exactly on the floor.
[[nodiscard]] inline DeviceInfo on_the_floor() {
    DeviceInfo device;
    device.name = "Floor";
    device.api_version = vulkan(1, 2, 0);
    device.has_compute_queue = true;
    device.features.timeline_semaphore = true;
    device.features.scalar_block_layout = true;
    device.limits = {.max_storage_buffer_range = 128 * kMiB,
                     .max_uniform_buffer_range = 65536,
                     .min_storage_buffer_offset_alignment = 256,
                     .min_uniform_buffer_offset_alignment = 256,
                     .non_coherent_atom_size = 256,
                     .max_memory_allocation_size = kGiB,
                     .max_memory_allocation_count = 4096,
                     .max_push_constants_size = 128,
                     .max_shared_memory_size = 32768,
                     .max_workgroup_invocations = 256,
                     .max_workgroup_size = {256, 256, 64},
                     .max_workgroup_count = {65535, 65535, 65535},
                     .max_storage_buffers_per_stage = 16,
                     .max_texel_buffer_elements = 65536,
                     .subgroup_size = 4,
                     .timestamp_period_ns = 1.0};
    return device;
}

/// Multiplications m x n x k of one kind of operands.
inline void add_shapes(DeviceInfo& device, std::initializer_list<std::array<std::uint32_t, 3>> sides,
                       ComponentType operands, ComponentType sums, bool khr = true) {
    for (const auto& [m, n, k] : sides)
        device.cooperative_shapes.push_back({m, n, k, operands, operands, sums, sums, khr});
}

[[nodiscard]] inline DeviceInfo geforce_3080(std::uint32_t index) {
    DeviceInfo device = on_the_floor();
    device.index = index;
    device.name = "NVIDIA GeForce RTX 3080";
    device.kind = DeviceKind::Discrete;
    device.vendor_id = 0x10DE;
    device.vendor = "NVIDIA";
    device.driver_name = "NVIDIA";
    device.api_version = vulkan(1, 3, 277);
    device.uuid = "5a1c6f7e00112233445566778899aab" + std::to_string(index % 10);
    device.limits.max_storage_buffer_range = 4 * kGiB - 1;
    device.limits.max_shared_memory_size = 49152;
    device.limits.max_push_constants_size = 256;
    device.limits.max_workgroup_invocations = 1024;
    device.limits.max_storage_buffers_per_stage = 1048576;
    device.limits.subgroup_size = 32;
    device.features = {.timeline_semaphore = true,
                       .scalar_block_layout = true,
                       .shader_float16 = true,
                       .shader_int8 = true,
                       .storage_16bit = true,
                       .storage_8bit = true,
                       .shader_integer_dot_product = true,
                       .integer_dot_accelerated = true,
                       .cooperative_matrix_khr = true,
                       .cooperative_matrix_nv = true,
                       .buffer_device_address = true,
                       .push_descriptor = true,
                       .subgroup_size_control = true,
                       .vulkan_memory_model = true};
    for (const bool khr : {true, false}) {
        for (const ComponentType sums : {ComponentType::F16, ComponentType::F32})
            add_shapes(device, {{16, 16, 16}, {16, 8, 16}, {16, 8, 8}}, ComponentType::F16, sums, khr);
        add_shapes(device, {{16, 16, 32}, {16, 8, 32}}, ComponentType::U8, ComponentType::U32, khr);
        add_shapes(device, {{16, 16, 32}, {16, 8, 32}}, ComponentType::I8, ComponentType::I32, khr);
    }
    device.heaps = {{10 * kGiB, true}, {24 * kGiB, false}, {256 * kMiB, true}};
    return device;
}

[[nodiscard]] inline DeviceInfo radeon_7900(std::uint32_t index) {
    DeviceInfo device = geforce_3080(index);
    device.name = "AMD Radeon RX 7900 XTX (RADV NAVI31)";
    device.vendor_id = 0x1002;
    device.vendor = "AMD";
    device.driver_name = "radv";
    device.uuid = "00000000030000000000000000000000";
    device.limits.max_shared_memory_size = 65536;
    device.limits.subgroup_size = 64;
    device.features.cooperative_matrix_nv = false;
    device.cooperative_shapes.clear();  // as RADV lists them, without those of mixed signs
    add_shapes(device, {{16, 16, 16}}, ComponentType::U8, ComponentType::U32);
    add_shapes(device, {{16, 16, 16}}, ComponentType::I8, ComponentType::I32);
    add_shapes(device, {{16, 16, 16}}, ComponentType::F16, ComponentType::F16);
    add_shapes(device, {{16, 16, 16}}, ComponentType::F16, ComponentType::F32);
    device.heaps = {{24 * kGiB, true}, {32 * kGiB, false}};
    return device;
}

/// RDNA 4: bf16, too.
[[nodiscard]] inline DeviceInfo radeon_9070(std::uint32_t index) {
    DeviceInfo device = radeon_7900(index);
    device.name = "AMD Radeon RX 9070 XT (RADV GFX1201)";
    device.features.bfloat16_matrices = true;
    add_shapes(device, {{16, 16, 16}}, ComponentType::BF16, ComponentType::BF16);
    add_shapes(device, {{16, 16, 16}}, ComponentType::BF16, ComponentType::F32);
    return device;
}

/// Hopper; Ada lists the same, and floats of 8 bits, which Yolk does not know.
[[nodiscard]] inline DeviceInfo h100(std::uint32_t index) {
    DeviceInfo device = geforce_3080(index);
    device.name = "NVIDIA H100 80GB HBM3";
    device.features.bfloat16_matrices = true;
    add_shapes(device, {{16, 16, 16}, {16, 8, 16}, {16, 8, 8}}, ComponentType::BF16, ComponentType::F32);
    device.heaps = {{80 * kGiB, true}, {128 * kGiB, false}};
    return device;
}

/// Xe2 with Mesa's driver: fragments that are wider than high.
[[nodiscard]] inline DeviceInfo arc_b580(std::uint32_t index) {
    DeviceInfo device = radeon_9070(index);
    device.name = "Intel(R) Arc(tm) B580 Graphics (BMG G21)";
    device.vendor_id = 0x8086;
    device.vendor = "Intel";
    device.driver_name = "Intel open-source Mesa driver";
    device.limits.subgroup_size = 32;
    device.cooperative_shapes.clear();
    add_shapes(device, {{8, 16, 16}}, ComponentType::F16, ComponentType::F32);
    add_shapes(device, {{8, 16, 16}}, ComponentType::BF16, ComponentType::F32);
    add_shapes(device, {{8, 16, 32}}, ComponentType::I8, ComponentType::I32);
    device.heaps = {{12 * kGiB, true}};
    return device;
}

[[nodiscard]] inline DeviceInfo intel_xe(std::uint32_t index) {
    DeviceInfo device = on_the_floor();
    device.index = index;
    device.name = "Intel(R) Iris(R) Xe Graphics (TGL GT2)";
    device.kind = DeviceKind::Integrated;
    device.vendor_id = 0x8086;
    device.vendor = "Intel";
    device.driver_name = "Intel open-source Mesa driver";
    device.api_version = vulkan(1, 3, 230);
    device.uuid = "8680499a010000000002000000000000";
    device.limits.max_storage_buffer_range = 4 * kGiB - 1;
    device.limits.max_shared_memory_size = 65536;
    device.limits.max_workgroup_invocations = 1024;
    device.limits.max_storage_buffers_per_stage = 64;
    device.limits.subgroup_size = 32;
    device.features.shader_float16 = device.features.storage_16bit = true;
    device.features.shader_int8 = device.features.storage_8bit = true;
    device.features.shader_integer_dot_product = device.features.integer_dot_accelerated = true;
    device.features.vulkan_memory_model = true;
    device.heaps = {{12 * kGiB, true}};
    return device;
}

/// Raspberry Pi 4, as of Mesa 22.3: Vulkan 1.2, but no scalar block layout, and 16 KiB of shared memory.
[[nodiscard]] inline DeviceInfo raspberry_pi_4(std::uint32_t index) {
    DeviceInfo device = on_the_floor();
    device.index = index;
    device.name = "V3D 4.2";
    device.kind = DeviceKind::Integrated;
    device.vendor_id = 0x14E4;
    device.vendor = "Broadcom";
    device.driver_name = "V3DV Mesa";
    device.api_version = vulkan(1, 2, 230);
    device.uuid = "000014e4be485fd3000000000000000a";
    device.features.scalar_block_layout = false;
    device.limits.max_shared_memory_size = 16384;
    device.heaps = {{2 * kGiB, true}};
    return device;
}

/// A phone of 2018: Vulkan 1.1.
[[nodiscard]] inline DeviceInfo mali_g72(std::uint32_t index) {
    DeviceInfo device = on_the_floor();
    device.index = index;
    device.name = "Mali-G72";
    device.kind = DeviceKind::Integrated;
    device.vendor_id = 0x13B5;
    device.vendor = "ARM";
    device.api_version = vulkan(1, 1, 97);
    device.features = {};
    device.heaps = {{4 * kGiB, true}};
    return device;
}

[[nodiscard]] inline DeviceInfo lavapipe(std::uint32_t index) {
    DeviceInfo device = on_the_floor();
    device.index = index;
    device.name = "llvmpipe (LLVM 15.0.6, 256 bits)";
    device.kind = DeviceKind::Cpu;
    device.vendor_id = 0x10005;
    device.vendor = "Mesa";
    device.driver_name = "llvmpipe";
    device.driver_info = "Mesa 22.3.6 (LLVM 15.0.6)";
    device.api_version = vulkan(1, 3, 230);
    device.uuid = "6d65736132322e332e36000000000000";
    device.limits.max_workgroup_invocations = 1024;
    device.limits.max_storage_buffers_per_stage = 32;
    device.limits.subgroup_size = 8;
    device.features.shader_float16 = device.features.shader_int8 = true;
    device.features.storage_16bit = device.features.storage_8bit = true;
    device.features.shader_integer_dot_product = device.features.vulkan_memory_model = true;
    device.heaps = {{2 * kGiB, true}};
    return device;
}

/// lavapipe of Mesa 26.1, whose matrix units are there to be tested.
[[nodiscard]] inline DeviceInfo lavapipe_26(std::uint32_t index) {
    DeviceInfo device = lavapipe(index);
    device.name = "llvmpipe (LLVM 19.1.7, 256 bits)";
    device.driver_info = "Mesa 26.1.6-1~bpo13+1 (LLVM 19.1.7)";
    device.api_version = vulkan(1, 4, 354);
    device.features.cooperative_matrix_khr = true;
    add_shapes(device, {{8, 8, 8}}, ComponentType::F16, ComponentType::F16);
    add_shapes(device, {{8, 8, 8}}, ComponentType::F16, ComponentType::F32);
    add_shapes(device, {{8, 8, 8}}, ComponentType::U8, ComponentType::U32);
    add_shapes(device, {{8, 8, 8}}, ComponentType::I8, ComponentType::I32);
    return device;
}

[[nodiscard]] inline DeviceInfo swiftshader(std::uint32_t index) {
    DeviceInfo device = on_the_floor();
    device.index = index;
    device.name = "SwiftShader Device (Subzero)";
    device.kind = DeviceKind::Cpu;
    device.vendor_id = 0x1AE0;
    device.vendor = "Google";
    device.driver_name = "SwiftShader driver";
    device.api_version = vulkan(1, 3, 0);
    device.uuid = "53776966745368616465725554940000";
    device.limits.max_storage_buffer_range = kGiB;
    device.limits.max_storage_buffers_per_stage = 30;
    device.features.shader_integer_dot_product = device.features.vulkan_memory_model = true;
    device.heaps = {{2 * kGiB, true}};
    return device;
}

}  // namespace yolk::tables
