// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/low_precision.hpp"

#include <algorithm>
#include <array>

#include "yolk/internal/shaders/kernel.hpp"

namespace yolk {
namespace {

/// What a path multiplies, what it needs, and the forms in which there are kernels of it.
struct UnitsPath {
    LowPrecisionPath path;
    MatrixOperands operands;
    ComponentType component;
    ComponentType sums;
    bool DeviceFeatures::*feature;
    bool nv;
};
constexpr std::array kUnitsPaths{UnitsPath{LowPrecisionPath::CooperativeMatrix, MatrixOperands::F16, ComponentType::F16,
                                           ComponentType::F32, &DeviceFeatures::shader_float16, true},
                                 UnitsPath{LowPrecisionPath::CooperativeBf16, MatrixOperands::BF16, ComponentType::BF16,
                                           ComponentType::F32, &DeviceFeatures::bfloat16_matrices, false},
                                 UnitsPath{LowPrecisionPath::CooperativeInt8, MatrixOperands::I8, ComponentType::I8,
                                           ComponentType::I32, &DeviceFeatures::shader_int8, false}};

bool is_of(const UnitsPath& path, const CooperativeShape& shape) {
    return shape.a == path.component && shape.b == path.component && shape.c == path.sums && shape.result == path.sums;
}

void close(DeviceInfo& device, LowPrecisionPath path) {
    switch (path) {
        case LowPrecisionPath::Storage16: device.features.storage_16bit = false; return;
        case LowPrecisionPath::IntegerDot:
            device.features.shader_integer_dot_product = device.features.integer_dot_accelerated = false;
            return;
        default: break;
    }
    for (const UnitsPath& units : kUnitsPaths) {
        if (units.path != path) continue;
        std::erase_if(device.cooperative_shapes, [&](const CooperativeShape& shape) { return is_of(units, shape); });
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
        case LowPrecisionPath::CooperativeBf16: return "cooperative-bf16";
        case LowPrecisionPath::CooperativeInt8: return "cooperative-int8";
    }
    return "?";
}

bool path_is_open(const DeviceInfo& device, LowPrecisionPath path) {
    if (path == LowPrecisionPath::Storage16) return device.features.storage_16bit;
    if (path == LowPrecisionPath::IntegerDot) return device.features.shader_integer_dot_product;
    return std::ranges::any_of(kUnitsPaths, [&](const UnitsPath& units) {
        return units.path == path && cooperative_shape(device, units.operands).has_value();
    });
}

std::optional<CooperativeShape> cooperative_shape(const DeviceInfo& device, MatrixOperands operands) {
    const UnitsPath& path = *std::ranges::find(kUnitsPaths, operands, &UnitsPath::operands);
    const DeviceFeatures& has = device.features;
    if (!(has.*path.feature) || !has.vulkan_memory_model) return std::nullopt;
    // A workgroup is whole subgroups.
    if (device.limits.subgroup_size == 0 || device.limits.subgroup_size > 256) return std::nullopt;
    std::optional<CooperativeShape> best;
    const auto rank = [](const CooperativeShape& s) {
        return std::uint64_t{s.m} * s.n * s.k + (s.khr ? std::uint64_t{1} << 32U : 0);
    };
    for (const CooperativeShape& shape : device.cooperative_shapes) {
        const bool form = shape.khr ? has.cooperative_matrix_khr : path.nv && has.cooperative_matrix_nv;
        if (!form || !is_of(path, shape) || !has_usable_sides(shape)) continue;
        if (!best || rank(shape) > rank(*best)) best = shape;
    }
    return best;
}

DeviceInfo without_wrong_paths(DeviceInfo device, std::span<const WrongPath> wrong) {
    for (const WrongPath& one : wrong) close(device, one.path);
    return device;
}

DeviceInfo without_low_precision(DeviceInfo device) {
    for (const LowPrecisionPath path : kLowPrecisionPaths) close(device, path);
    device.features.shader_float16 = device.features.shader_int8 = device.features.storage_8bit = false;
    device.features.cooperative_matrix_nv = device.features.cooperative_matrix_khr = false;
    device.features.bfloat16_matrices = false;
    device.cooperative_shapes.clear();
    return device;
}

std::string missing_needs(const DeviceInfo& device, std::uint32_t needs) {
    const DeviceFeatures& has = device.features;
    std::string missing;
    const auto need = [&](std::uint32_t bit, bool is_there, const char* what) {
        if ((needs & bit) != 0 && !is_there) missing += (missing.empty() ? "" : ", ") + std::string(what);
    };
    const bool halves = has.shader_float16 && has.vulkan_memory_model;
    const bool khr = has.cooperative_matrix_khr && has.vulkan_memory_model;
    need(kNeedsStorage16, has.storage_16bit, "16-bit storage");
    need(kNeedsIntegerDot, has.shader_integer_dot_product, "integer dot products");
    need(kNeedsCooperativeNv, halves && has.cooperative_matrix_nv, "NV cooperative matrices of fp16");
    need(kNeedsCooperativeKhr, halves && khr, "KHR cooperative matrices of fp16");
    need(kNeedsCooperativeBf16, khr && has.bfloat16_matrices, "KHR cooperative matrices of bf16");
    need(kNeedsCooperativeI8, khr && has.shader_int8, "KHR cooperative matrices of int8");
    return missing;
}

}  // namespace yolk
