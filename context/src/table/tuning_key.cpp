// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/context/tuning_key.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "yolk/internal/context/run_place.hpp"
#include "yolk/internal/core/hash.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

/// As text, because structures have padding.
std::string limits_text(const DeviceInfo& info) {
    const DeviceLimits& l = info.limits;
    const DeviceFeatures& f = info.features;
    std::string text = fmt::format(
        "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", l.max_storage_buffer_range, l.max_uniform_buffer_range,
        l.min_storage_buffer_offset_alignment, l.min_uniform_buffer_offset_alignment,
        l.min_texel_buffer_offset_alignment, l.non_coherent_atom_size, l.max_memory_allocation_size,
        l.max_memory_allocation_count, l.max_push_constants_size, l.max_shared_memory_size, l.max_workgroup_invocations,
        l.max_workgroup_size, l.max_workgroup_count, l.max_storage_buffers_per_stage, l.max_texel_buffer_elements,
        l.subgroup_size, l.timestamp_period_ns);
    for (const bool feature :
         {f.shader_float16, f.shader_int8, f.storage_16bit, f.storage_8bit, f.shader_integer_dot_product,
          f.integer_dot_accelerated, f.cooperative_matrix_khr, f.cooperative_matrix_nv, f.buffer_device_address,
          f.push_descriptor, f.subgroup_size_control, f.vulkan_memory_model})
        text += feature ? " 1" : " 0";
    for (const CooperativeShape& shape : info.cooperative_shapes)
        text += fmt::format(" {}x{}x{}:{}{}", shape.m, shape.n, shape.k, to_string(shape.a), to_string(shape.result));
    return text;
}

/// Families whose plans run modules of others, too.
std::vector<std::string_view> prefixes_of(std::string_view family) {
    if (family == "covariance" || family == "inverse_sqrt") return {family, "matmul", "block_trace"};
    if (family == "kronecker_precondition") return {family, "matmul", "block_trace", "block_inverse"};
    return {family};
}

bool has_prefix(std::string_view name, std::string_view prefix) {
    return name == prefix || (name.starts_with(prefix) && name[prefix.size()] == '_');
}

}  // namespace

std::string processor_model() {
    std::istringstream file(read_beginning("/proc/cpuinfo", std::size_t{1} << 16U).value_or(std::string()));
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("model name")) continue;
        const std::size_t colon = line.find(": ");
        if (colon != std::string::npos) return line.substr(colon + 2);
    }
    return "unknown processor";
}

DeviceKey device_key(const DeviceInfo& info, std::string_view processor) {
    const bool cpu = info.kind == DeviceKind::Cpu;
    const std::string limits = limits_text(info);
    return {
        .device = fmt::format("{:04x}:{:04x} {} {}", info.vendor_id, info.device_id, to_string(info.kind),
                              cpu ? processor : std::string_view(info.name)),
        .driver = fmt::format("{}; {}; {}; {:x}; Vulkan {}; subgroups of {}; limits {:016x}", info.name,
                              info.driver_name, info.driver_info, info.driver_version, version_text(info.api_version),
                              info.limits.subgroup_size, hash64(std::as_bytes(std::span(limits))))};
}

DeviceKey device_key(const DeviceInfo& info) {
    static const std::string kProcessor = processor_model();
    return device_key(info, kProcessor);
}

std::string kernel_hash(std::string_view family) {
    const std::vector<std::string_view> prefixes = prefixes_of(family);
    Hasher hasher;
    for (const KernelModule* module : kernels::all()) {
        if (std::ranges::none_of(prefixes, [&](std::string_view p) { return has_prefix(module->name, p); })) continue;
        hasher.add_values(std::span<const char>(module->name)).add_values(module->spirv);
    }
    return hasher.hex();
}

TuningKey tuning_key(const DeviceInfo& info, const TuningSpace& space) {
    return {.device = device_key(info),
            .family = space.family(),
            .shape = space.shape(),
            .kernels = kernel_hash(space.family())};
}

std::string shape_text(std::string_view family, const TuningShape& shape) {
    return fmt::format("{}{}{} [{}]", family, shape.variant.empty() ? "" : " ", shape.variant,
                       fmt::join(shape.extents, ", "));
}

}  // namespace yolk
