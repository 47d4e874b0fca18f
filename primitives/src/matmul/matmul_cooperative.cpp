// SPDX-License-Identifier: Apache-2.0
#include "matmul_cooperative.hpp"

#include <algorithm>
#include <array>

#include "matmul_for_gpus.hpp"
#include "staged_operand.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_mm = abi::matmul;

namespace {

/// Fragments of a subgroup along either side, and sums of a lane: half of the 255 registers that NVIDIA's have.
constexpr std::uint32_t kMaxFragments = 8;
constexpr std::uint32_t kMaxSumsPerLane = 128;
/// Elements of 16 bits in the vectors of 16 bytes that kernels read.
constexpr std::uint32_t kHalves = 8;
/// Of a workgroup that shares its operands.
constexpr std::uint32_t kLeastLanes = 32;
/// Matrix units read and write rows at multiples of 16 bytes.
bool starts_at(const MatrixLayout& layout, std::uint32_t elements) noexcept {
    return (layout.offset | layout.stride | layout.batch_stride | layout.inner_stride) % elements == 0;
}

std::uint32_t stages_of(const MatmulConfig& c) { return c.operand_path == kTwiceStagedCooperativeOperands ? 2 : 1; }

std::array<StagedOperand, 2> staged_operands(const MatmulDesc& desc, const MatmulConfig& c) {
    const auto stored = [](std::uint32_t lines, std::uint32_t length) {
        return StagedOperand{lines, length / kHalves};
    };
    return {desc.a.transposed ? stored(c.block_k, c.block_m) : stored(c.block_m, c.block_k),
            desc.b.transposed ? stored(c.block_n, c.block_k) : stored(c.block_k, c.block_n)};
}

/// What all forms leave alone.
Result<void> check_unused(const MatmulConfig& c) {
    const MatmulConfig unused{.tile_m = c.tile_m,
                              .tile_n = c.tile_n,
                              .vector_width = c.vector_width,
                              .storage16 = c.storage16,
                              .split_k = c.split_k};
    if (unused == MatmulConfig{.tile_m = 1, .tile_n = 4, .vector_width = 1}) return {};
    return bad_input("With matrix units tile_m must be 1, tile_n 4, vector_width 1, split_k 1 and storage16 0.");
}

Result<void> check_block(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& c,
                         const CooperativeShape& shape) {
    const std::uint32_t subgroup = info.limits.subgroup_size;
    if (c.workgroup_size % subgroup != 0)
        return bad_input("With matrix units the workgroup_size must be a multiple of a subgroup's, {}.", subgroup);
    if (desc.m % c.block_m != 0 || desc.n % c.block_n != 0)
        return bad_input("With matrix units block_m and block_n must divide m and n.");
    if (!subgroup_tile(info, shape, c)) {
        return bad_input(
            "With matrix units each subgroup makes 1 to {} by {} fragments of {} x {}, and each of its lanes has {} "
            "sums at most.",
            kMaxFragments, kMaxFragments, shape.m, shape.n, kMaxSumsPerLane);
    }
    return {};
}

Result<void> check_staged(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& c,
                          const CooperativeShape& shape) {
    if (c.block_k % shape.k != 0 || desc.k % c.block_k != 0) {
        return bad_input("With operand_path {} block_k must be a multiple of {} and divide k.", c.operand_path,
                         shape.k);
    }
    std::uint64_t bytes = 0;
    for (const StagedOperand& operand : staged_operands(desc, c)) {
        bytes += stages_of(c) * operand.bytes();
        if (operand.comes_out_even(c.workgroup_size)) continue;
        return bad_input("The {} vectors of a block do not come out even on {} invocations.", operand.vectors(),
                         c.workgroup_size);
    }
    if (bytes <= info.limits.max_shared_memory_size) return {};
    return bad_input("{} {} bytes of shared memory; the device has {}.",
                     stages_of(c) == 2 ? "Two blocks of operands take" : "A block of operands takes", bytes,
                     info.limits.max_shared_memory_size);
}

MatmulConfig on_units(std::uint32_t workgroup_size, std::uint32_t block_m, std::uint32_t block_n, std::uint32_t block_k,
                      OperandPath path) {
    return {.workgroup_size = workgroup_size,
            .block_m = block_m,
            .block_n = block_n,
            .block_k = block_k,
            .tile_m = 1,
            .tile_n = 4,
            .vector_width = 1,
            .operand_path = path};
}

/// From the largest block to the smallest: the first with enough workgroups for a GPU, else the smallest.
std::optional<MatmulConfig> staged_config(const DeviceInfo& info, const MatmulDesc& product,
                                          const ConfigSpace<MatmulConfig>& space) {
    std::optional<MatmulConfig> found;
    for (const UnitsBlock& block : blocks_on_units(info)) {
        const std::uint32_t lanes =
            std::max({info.limits.subgroup_size, kLeastLanes, block.rows * block.columns / block.sums_per_lane});
        const auto path = block.stages == 2 ? kTwiceStagedCooperativeOperands : kStagedCooperativeOperands;
        for (std::uint32_t k = block.depth; k >= kHalves; k /= 2) {
            const MatmulConfig config = on_units(lanes, block.rows, block.columns, k, path);
            if (!space.check(config)) continue;
            if (has_enough_groups(info, product, config)) return config;
            found = config;
            break;
        }
    }
    return found;
}

/// What the product's operands take on the device; nothing where there are no units for them.
std::optional<CooperativeShape> shape_of(const DeviceInfo& info, const MatmulDesc& desc) {
    if (desc.determinism != Determinism::Fast || desc.a.format != desc.b.format) return {};
    if (desc.a.format == FloatFormat::F32) return {};
    return cooperative_shape(info, desc.a.format == FloatFormat::F16 ? MatrixOperands::F16 : MatrixOperands::BF16);
}

}  // namespace

bool fits_matrix_units(const DeviceInfo& info, const MatmulDesc& desc) {
    const std::optional<CooperativeShape> shape = shape_of(info, desc);
    if (!shape) return false;
    if (desc.k == 0 || desc.m % shape->m != 0 || desc.n % shape->n != 0 || desc.k % shape->k != 0) return false;
    return starts_at(desc.a, kHalves) && starts_at(desc.b, kHalves);
}

Result<void> check_cooperative(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& c) {
    const CooperativeShape shape = shape_of(info, desc).value_or(CooperativeShape{.m = 1, .n = 1, .k = 1});
    YOLK_TRY_VOID(check_unused(c));
    YOLK_TRY_VOID(check_block(info, desc, c, shape));
    if (c.operand_path != kCooperativeOperands) return check_staged(info, desc, c, shape);
    if (c.block_k != 4) return bad_input("With operand_path 4 block_k must be 4.");
    return {};
}

std::optional<SubgroupTile> subgroup_tile(const DeviceInfo& info, const CooperativeShape& shape,
                                          const MatmulConfig& config) noexcept {
    const std::uint32_t subgroups = config.workgroup_size / info.limits.subgroup_size;
    std::optional<SubgroupTile> found;
    const auto length = [](const SubgroupTile& tile) { return std::max(tile.rows, tile.columns); };
    for (std::uint32_t down = 1; down <= subgroups; ++down) {
        const std::uint32_t across = subgroups / down;
        if (subgroups % down != 0 || config.block_m % (down * shape.m) != 0 || config.block_n % (across * shape.n) != 0)
            continue;
        const SubgroupTile tile{config.block_m / down, config.block_n / across};
        if (tile.rows > kMaxFragments * shape.m || tile.columns > kMaxFragments * shape.n) continue;
        if (tile.rows * tile.columns > kMaxSumsPerLane * info.limits.subgroup_size) continue;
        if (!found || length(tile) < length(*found)) found = tile;
    }
    return found;
}

std::optional<MatmulConfig> cooperative_config(const DeviceInfo& info, const MatmulDesc& product) {
    const std::optional<CooperativeShape> shape = shape_of(info, product);
    if (!shape) return {};
    const ConfigSpace<MatmulConfig> space = space_of(info, product);
    if (const auto staged = staged_config(info, product, space)) return staged;
    constexpr std::array<std::uint32_t, 3> kFragments{4, 2, 1};
    for (const std::uint32_t rows : kFragments) {
        for (const std::uint32_t columns : kFragments) {
            const MatmulConfig config =
                on_units(info.limits.subgroup_size, rows * shape->m, columns * shape->n, 4, kCooperativeOperands);
            if (space.check(config)) return config;
        }
    }
    return {};
}

bool writes_out_directly(const MatmulDesc& desc) noexcept {
    const bool plain = !desc.has_bias && !desc.has_residual && desc.activation == Activation::Identity;
    return plain && starts_at(desc.out, 4);
}

const Kernel<abi_mm::Params>& cooperative_kernel(const DeviceInfo& info, const MatmulDesc& desc,
                                                 const MatmulConfig& config) noexcept {
    const CooperativeShape shape = shape_of(info, desc).value_or(CooperativeShape{});
    const bool staged = config.operand_path != kCooperativeOperands;
    if (shape.a == ComponentType::BF16)
        return staged ? kernels::kMatmulCooperativeStagedBf16Khr : kernels::kMatmulCooperativeBf16Khr;
    if (staged) return shape.khr ? kernels::kMatmulCooperativeStagedKhr : kernels::kMatmulCooperativeStagedNv;
    return shape.khr ? kernels::kMatmulCooperativeKhr : kernels::kMatmulCooperativeNv;
}

// By the loops as the shaders write them (their heads).
std::uint64_t units_loop_cost(const UnitsLoops& loops) noexcept {
    const std::uint64_t fragments = loop_cost(loops.rows, loop_cost(loops.columns));
    std::uint64_t step = loop_cost(loops.rows) + loop_cost(loops.columns) + fragments;
    std::uint64_t once = loop_cost(loops.rows * loops.columns) + fragments;
    if (!loops.portions.empty()) {
        std::uint64_t portions = 0;
        for (const std::uint32_t portion : loops.portions) portions += loop_cost(portion);
        step = 2 * portions + loop_cost(loops.fragments_k, step);
        once += portions;
    }
    return once + loop_cost(loops.steps, step);
}

Result<std::uint32_t> cooperative_chunk(std::uint64_t budget, const DeviceInfo& info, const MatmulDesc& desc,
                                        const MatmulConfig& config) {
    const CooperativeShape shape = shape_of(info, desc).value_or(CooperativeShape{.m = 1, .n = 1, .k = 1});
    const bool staged = config.operand_path != kCooperativeOperands;
    const SubgroupTile tile = subgroup_tile(info, shape, config).value_or(SubgroupTile{config.block_m, config.block_n});
    UnitsLoops loops{
        .rows = tile.rows / shape.m, .columns = tile.columns / shape.n, .fragments_k = 1, .steps = desc.k / shape.k};
    if (staged) {
        loops.fragments_k = config.block_k / shape.k;
        loops.steps = desc.k / config.block_k;
        for (const StagedOperand& operand : staged_operands(desc, config))
            loops.portions.push_back(operand.portion(config.workgroup_size));
    }
    if (units_loop_cost(loops) <= budget) return desc.k;
    return unsupported(
        "The loops of one invocation may cost {} on this device; [matmul] needs more for a k of {} on matrix "
        "units. Use another operand_path than {}.",
        budget, desc.k, config.operand_path);
}

std::vector<SpecConstant> cooperative_constants(const DeviceInfo& info, const MatmulDesc& desc,
                                                const MatmulConfig& config) {
    const CooperativeShape shape = shape_of(info, desc).value_or(CooperativeShape{});
    const SubgroupTile tile = subgroup_tile(info, shape, config).value_or(SubgroupTile{config.block_m, config.block_n});
    std::vector<SpecConstant> constants{{abi_mm::kSpecWorkgroupSize, config.workgroup_size},
                                        {abi_mm::kSpecBlockM, config.block_m},
                                        {abi_mm::kSpecBlockN, config.block_n},
                                        {abi_mm::kSpecTileM, tile.rows},
                                        {abi_mm::kSpecTileN, tile.columns},
                                        {abi_mm::kSpecTransposeA, desc.a.transposed ? 1U : 0U},
                                        {abi_mm::kSpecTransposeB, desc.b.transposed ? 1U : 0U},
                                        {abi_mm::kSpecShapeM, shape.m},
                                        {abi_mm::kSpecShapeN, shape.n},
                                        {abi_mm::kSpecShapeK, shape.k}};
    if (config.operand_path == kCooperativeOperands) return constants;
    constants.insert(constants.end(),
                     {{abi_mm::kSpecBlockK, config.block_k}, {abi_mm::kSpecStages, stages_of(config)}});
    return constants;
}

}  // namespace yolk
