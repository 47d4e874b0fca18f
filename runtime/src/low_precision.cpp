// SPDX-License-Identifier: Apache-2.0
#include "yolk/runtime/low_precision.hpp"

#include <algorithm>

#include "yolk/shaders/kernel.hpp"

namespace yolk {
namespace {

void close(DeviceFeatures& features, std::vector<CooperativeShape>& shapes, LowPrecisionPath path) {
    switch (path) {
        case LowPrecisionPath::Storage16: features.storage_16bit = false; break;
        case LowPrecisionPath::IntegerDot:
            features.shader_integer_dot_product = features.integer_dot_accelerated = false;
            break;
        case LowPrecisionPath::CooperativeMatrix:
            features.cooperative_matrix_nv = features.cooperative_matrix_khr = false;
            shapes.clear();
            break;
    }
}

/// Sides that fragments of a kernel's tile may have: its loops over fragments count in 16s.
bool has_usable_sides(const CooperativeShape& shape) {
    const auto usable = [](std::uint32_t side) { return side == 8 || side == 16 || side == 32 || side == 64; };
    return usable(shape.m) && usable(shape.n) && usable(shape.k);
}

}  // namespace

const char* to_string(LowPrecisionPath path) noexcept {
    switch (path) {
        case LowPrecisionPath::Storage16: return "storage16";
        case LowPrecisionPath::IntegerDot: return "int8-dot";
        case LowPrecisionPath::CooperativeMatrix: return "cooperative-matrix";
    }
    return "?";
}

bool path_is_open(const DeviceInfo& device, LowPrecisionPath path) {
    switch (path) {
        case LowPrecisionPath::Storage16: return device.features.storage_16bit;
        case LowPrecisionPath::IntegerDot: return device.features.shader_integer_dot_product;
        case LowPrecisionPath::CooperativeMatrix: return cooperative_shape(device).has_value();
    }
    return false;
}

std::optional<CooperativeShape> cooperative_shape(const DeviceInfo& device) {
    const DeviceFeatures& has = device.features;
    if (!has.shader_float16 || !has.vulkan_memory_model) return std::nullopt;
    // A workgroup is one subgroup.
    if (device.limits.subgroup_size == 0 || device.limits.subgroup_size > 256) return std::nullopt;
    std::optional<CooperativeShape> best;
    const auto rank = [](const CooperativeShape& s) {
        return std::uint64_t{s.m} * s.n * s.k + (s.khr ? std::uint64_t{1} << 32U : 0);
    };
    for (const CooperativeShape& shape : device.cooperative_shapes) {
        const bool form = shape.khr ? has.cooperative_matrix_khr : has.cooperative_matrix_nv;
        const bool types = shape.a == ComponentType::F16 && shape.b == ComponentType::F16 &&
                           shape.c == ComponentType::F32 && shape.result == ComponentType::F32;
        if (!form || !types || !has_usable_sides(shape)) continue;
        if (!best || rank(shape) > rank(*best)) best = shape;
    }
    return best;
}

DeviceInfo without_wrong_paths(DeviceInfo device, std::span<const WrongPath> wrong) {
    for (const WrongPath& one : wrong) close(device.features, device.cooperative_shapes, one.path);
    return device;
}

DeviceInfo without_low_precision(DeviceInfo device) {
    for (const LowPrecisionPath path : kLowPrecisionPaths) close(device.features, device.cooperative_shapes, path);
    device.features.shader_float16 = device.features.shader_int8 = device.features.storage_8bit = false;
    return device;
}

std::string missing_needs(const DeviceInfo& device, std::uint32_t needs) {
    const DeviceFeatures& has = device.features;
    std::string missing;
    const auto need = [&](std::uint32_t bit, bool is_there, const char* what) {
        if ((needs & bit) != 0 && !is_there) missing += (missing.empty() ? "" : ", ") + std::string(what);
    };
    const bool matrices = has.shader_float16 && has.vulkan_memory_model;
    need(kNeedsStorage16, has.storage_16bit, "16-bit storage");
    need(kNeedsIntegerDot, has.shader_integer_dot_product, "integer dot products");
    need(kNeedsCooperativeNv, matrices && has.cooperative_matrix_nv, "NV cooperative matrices of fp16");
    need(kNeedsCooperativeKhr, matrices && has.cooperative_matrix_khr, "KHR cooperative matrices of fp16");
    return missing;
}

}  // namespace yolk
