// SPDX-License-Identifier: Apache-2.0
// The portable floor and what lies above it. Every number is of design section "Portable floor".
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/low_precision.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kVulkan12 = 1U << 22U | 2U << 12U;
constexpr std::uint32_t kFloorInvocations = 256;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

/// Collects what is lacking, one entry a requirement.
class Floor {
   public:
    void need(bool met, std::string_view lacking) {
        if (!met) missing_.emplace_back(lacking);
    }
    void at_least(std::string_view what, std::uint64_t given, std::uint64_t needed, std::string_view unit) {
        if (given < needed) missing_.push_back(fmt::format("{} of {}{} ({} needed)", what, given, unit, needed));
    }
    void at_most(std::string_view what, std::uint64_t given, std::uint64_t allowed, std::string_view unit) {
        if (given > allowed)
            missing_.push_back(fmt::format("{} of {}{} (at most {} allowed)", what, given, unit, allowed));
    }
    [[nodiscard]] std::vector<std::string> take() && { return std::move(missing_); }

   private:
    std::vector<std::string> missing_;
};

void check_limits(const DeviceLimits& limits, Floor& floor) {
    constexpr std::string_view kBytes = " bytes";
    floor.at_least("workgroups", limits.max_workgroup_invocations, kFloorInvocations, " invocations");
    floor.at_least("workgroups along x", limits.max_workgroup_size[0], kFloorInvocations, " invocations");
    floor.at_least("a grid", *std::min_element(limits.max_workgroup_count.begin(), limits.max_workgroup_count.end()),
                   65535, " workgroups along a dimension");
    floor.at_least("shared memory", limits.max_shared_memory_size, 32768, kBytes);
    floor.at_least("push constants", limits.max_push_constants_size, 128, kBytes);
    floor.at_least("storage bindings", limits.max_storage_buffer_range, 128 * kMiB, kBytes);
    floor.at_least("uniform bindings", limits.max_uniform_buffer_range, 65536, kBytes);
    // Not of the design's list: the most storage buffers that one kernel may bind. Every known device of Vulkan 1.2 has
    // more.
    floor.at_least("storage buffers in a kernel", limits.max_storage_buffers_per_stage, 16, "");
    floor.at_least("texel buffers", limits.max_texel_buffer_elements, 65536, " elements");
    floor.at_most("a storage offset alignment", limits.min_storage_buffer_offset_alignment, 256, kBytes);
    floor.at_most("a uniform offset alignment", limits.min_uniform_buffer_offset_alignment, 256, kBytes);
    floor.at_most("a texel offset alignment", limits.min_texel_buffer_offset_alignment, 256, kBytes);
}

}  // namespace

std::vector<std::string> missing_from_floor(const DeviceInfo& device) {
    Floor floor;
    if (device.api_version < kVulkan12) {
        // Its other answers were never asked for: naming them would mislead.
        floor.need(false, fmt::format("Vulkan {} (1.2 needed)", version_text(device.api_version)));
        return std::move(floor).take();
    }
    floor.need(device.features.timeline_semaphore, "no timeline semaphores");
    floor.need(device.features.scalar_block_layout, "no scalar block layout");
    floor.need(device.has_compute_queue, "no queue for compute");
    check_limits(device.limits, floor);
    return std::move(floor).take();
}

std::vector<OptionalPath> optional_paths(const DeviceInfo& device) {
    const DeviceFeatures& has = device.features;
    const DeviceLimits& limits = device.limits;
    return {
        {"fp16", has.shader_float16 && has.storage_16bit, "shaderFloat16 and storageBuffer16BitAccess"},
        {"storage16", path_is_open(device, LowPrecisionPath::Storage16), "storageBuffer16BitAccess"},
        {"int8", has.shader_int8 && has.storage_8bit, "shaderInt8 and storageBuffer8BitAccess"},
        {"int8-dot", path_is_open(device, LowPrecisionPath::IntegerDot), "shaderIntegerDotProduct"},
        {"cooperative-matrix", path_is_open(device, LowPrecisionPath::CooperativeMatrix),
         "shaderFloat16, vulkanMemoryModelDeviceScope, and VK_KHR_cooperative_matrix or "
         "VK_NV_cooperative_matrix with fp16 operands and fp32 sums"},
        {"cooperative-bf16", path_is_open(device, LowPrecisionPath::CooperativeBf16),
         "VK_KHR_shader_bfloat16, vulkanMemoryModelDeviceScope, and VK_KHR_cooperative_matrix with bf16 operands and "
         "fp32 sums"},
        {"cooperative-int8", path_is_open(device, LowPrecisionPath::CooperativeInt8),
         "shaderInt8, vulkanMemoryModelDeviceScope, and VK_KHR_cooperative_matrix with int8 operands and int32 sums"},
        {"large-workgroups", limits.max_workgroup_invocations >= 1024, "workgroups of 1024 invocations"},
        {"large-bindings", limits.max_storage_buffer_range >= 2048 * kMiB - 1, "storage bindings of 2 GiB"},
        {"buffer-address", has.buffer_device_address, "bufferDeviceAddress"},
        {"push-descriptors", has.push_descriptor, "VK_KHR_push_descriptor"},
        {"subgroup-size", has.subgroup_size_control, "subgroupSizeControl"},
        {"pipeline-statistics", has.pipeline_statistics, "VK_KHR_pipeline_executable_properties"},
    };
}

}  // namespace yolk
