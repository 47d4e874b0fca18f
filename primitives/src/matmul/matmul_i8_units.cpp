// SPDX-License-Identifier: Apache-2.0
#include "matmul_i8_units.hpp"

#include <algorithm>
#include <array>

#include "matmul_cooperative.hpp"
#include "matmul_for_gpus.hpp"
#include "staged_operand.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_i8 = abi::matmul_i8;

namespace {

/// Of a subgroup along either side, and sums of a lane: as matmul's.
constexpr std::uint32_t kMostFragmentsI8 = 8;
constexpr std::uint32_t kMostSumsOfALaneI8 = 128;

std::uint32_t vector_bytes(const CooperativeShape& shape) { return shape.k < 16 ? 8 : 16; }

std::uint32_t subgroups_of(const DeviceInfo& info, const MatmulI8Config& config) {
    return config.workgroup_size / info.limits.subgroup_size;
}

std::array<StagedOperand, 2> staged_i8(const CooperativeShape& shape, const I8Block& block) {
    const std::uint32_t bytes = vector_bytes(shape);
    return {StagedOperand{block.rows, block.depth / bytes, bytes},
            StagedOperand{block.columns, block.depth / bytes, bytes}};
}

std::uint64_t shared_bytes_i8(const CooperativeShape& shape, const I8Block& block, const MatmulI8Config& config) {
    std::uint64_t bytes = 0;
    for (const StagedOperand& operand : staged_i8(shape, block)) bytes += operand.bytes();
    return config.dot == kI8OnMatrixUnitsTwice ? 2 * bytes : bytes;
}

/// As many k at once as a line of 64 bytes, or fewer where they do not divide k, come out even or fit.
std::optional<std::uint32_t> depth_of(const DeviceInfo& info, const MatmulI8Desc& desc, const MatmulI8Config& config,
                                      const CooperativeShape& shape, I8Block block) {
    for (const std::uint32_t depth : {64U, 32U, 16U, 8U}) {
        block.depth = depth;
        if (depth % shape.k != 0 || desc.k % depth != 0) continue;
        const auto staged = staged_i8(shape, block);
        const bool even = std::ranges::all_of(
            staged, [&](const StagedOperand& operand) { return operand.comes_out_even(config.workgroup_size); });
        if (even && shared_bytes_i8(shape, block, config) <= info.limits.max_shared_memory_size) return depth;
    }
    return {};
}

bool starts_at_i8(const RowsLayout& layout, std::uint32_t elements) {
    return layout.offset % elements == 0 && layout.stride % elements == 0 && layout.batch_stride % elements == 0;
}

}  // namespace

bool fits_matrix_units(const DeviceInfo& info, const MatmulI8Desc& desc) {
    const auto shape = cooperative_shape(info, MatrixOperands::I8);
    if (!shape || desc.k == 0 || desc.m % shape->m != 0 || desc.n % shape->n != 0 || desc.k % shape->k != 0)
        return false;
    const std::uint32_t vector = vector_bytes(*shape);
    return starts_at_i8(desc.a, vector) && starts_at_i8(desc.b, vector) && starts_at_i8(desc.out, 4);
}

Result<I8Block> i8_block(const DeviceInfo& info, const MatmulI8Desc& desc, const MatmulI8Config& c) {
    const auto shape = cooperative_shape(info, MatrixOperands::I8);
    if (!shape || !fits_matrix_units(info, desc)) {
        return bad_input(
            "Matrix units do not take this product on this device (path cooperative-int8; m, n and k are multiples of "
            "a fragment's, rows begin at multiples of 16 bytes); dot must be 0 or 1.");
    }
    const std::uint32_t subgroup = info.limits.subgroup_size;
    const std::uint32_t subgroups = subgroups_of(info, c);
    if (c.workgroup_size % subgroup != 0 || subgroups % c.lanes_n != 0) {
        return bad_input(
            "On matrix units the workgroup_size must be a multiple of a subgroup's, {}, and lanes_n divide the number "
            "of subgroups.",
            subgroup);
    }
    const std::uint32_t sums = c.tile_m * shape->m * c.tile_n * shape->n / subgroup;
    if (std::max(c.tile_m, c.tile_n) > kMostFragmentsI8 || sums > kMostSumsOfALaneI8) {
        return bad_input("On matrix units a subgroup has {} fragments a side and a lane {} sums at most.",
                         kMostFragmentsI8, kMostSumsOfALaneI8);
    }
    I8Block block{.rows = subgroups / c.lanes_n * c.tile_m * shape->m, .columns = c.lanes_n * c.tile_n * shape->n};
    if (desc.m % block.rows != 0 || desc.n % block.columns != 0)
        return bad_input("A block of {} x {} does not divide m and n.", block.rows, block.columns);
    const auto depth = depth_of(info, desc, c, *shape, block);
    if (!depth) {
        return bad_input("No block of {} x {} comes out even on {} invocations within {} bytes of shared memory.",
                         block.rows, block.columns, c.workgroup_size, info.limits.max_shared_memory_size);
    }
    block.depth = *depth;
    return block;
}

std::optional<MatmulI8Config> i8_config_on_units(const DeviceInfo& info, const MatmulI8Desc& desc) {
    const auto shape = cooperative_shape(info, MatrixOperands::I8);
    if (!shape || !fits_matrix_units(info, desc)) return {};
    const MatmulDesc product{.m = desc.m, .n = desc.n, .k = desc.k, .batch = desc.batch};
    for (const UnitsBlock& block : blocks_on_units(info)) {
        const std::uint32_t lanes =
            std::max({info.limits.subgroup_size, 32U, block.rows * block.columns / block.sums_per_lane});
        const MatmulConfig whole{.workgroup_size = lanes, .block_m = block.rows, .block_n = block.columns};
        const auto tile = subgroup_tile(info, *shape, whole);
        if (!tile || !pays_on_units(info, product, whole)) continue;
        const MatmulI8Config config{.workgroup_size = lanes,
                                    .lanes_n = block.columns / tile->columns,
                                    .tile_m = tile->rows / shape->m,
                                    .tile_n = tile->columns / shape->n,
                                    .dot = block.stages == 2 ? kI8OnMatrixUnitsTwice : kI8OnMatrixUnits};
        if (i8_block(info, desc, config)) return config;
    }
    return {};
}

const Kernel<abi_i8::Params>& i8_units_kernel(const DeviceInfo& info) noexcept {
    const CooperativeShape shape = cooperative_shape(info, MatrixOperands::I8).value_or(CooperativeShape{});
    return vector_bytes(shape) == 8 ? kernels::kMatmulI8CooperativeNarrowKhr : kernels::kMatmulI8CooperativeKhr;
}

std::vector<SpecConstant> i8_units_constants(const DeviceInfo& info, const MatmulI8Config& c, const I8Block& block) {
    const CooperativeShape shape = cooperative_shape(info, MatrixOperands::I8).value_or(CooperativeShape{});
    return {{abi_i8::kSpecWorkgroupSize, c.workgroup_size},
            {abi_i8::kSpecTileM, c.tile_m * shape.m},
            {abi_i8::kSpecTileN, c.tile_n * shape.n},
            {abi_i8::kSpecBlockM, block.rows},
            {abi_i8::kSpecBlockN, block.columns},
            {abi_i8::kSpecBlockK, block.depth},
            {abi_i8::kSpecStages, c.dot == kI8OnMatrixUnitsTwice ? 2U : 1U},
            {abi_i8::kSpecShapeM, shape.m},
            {abi_i8::kSpecShapeN, shape.n},
            {abi_i8::kSpecShapeK, shape.k}};
}

std::uint64_t i8_units_loop_cost(const DeviceInfo& info, const MatmulI8Desc& desc, const MatmulI8Config& config,
                                 const I8Block& block) {
    const CooperativeShape shape = cooperative_shape(info, MatrixOperands::I8).value_or(CooperativeShape{.k = 1});
    std::vector<std::uint32_t> portions;
    for (const StagedOperand& operand : staged_i8(shape, block))
        portions.push_back(operand.portion(config.workgroup_size));
    return units_loop_cost({.rows = config.tile_m,
                            .columns = config.tile_n,
                            .fragments_k = block.depth / shape.k,
                            .steps = desc.k / block.depth,
                            .portions = portions});
}

}  // namespace yolk
