// SPDX-License-Identifier: Apache-2.0
// The tuning space of perturbed_linear and its legality: the geometry that its kernels rely on, and what keeps their
// code small.

#include <array>
#include <vector>

#include "matmul_for_gpus.hpp"
#include "matmul_layout.hpp"
#include "perturbed_linear_base.hpp"
#include "perturbed_linear_shape.hpp"
#include "perturbed_linear_space.hpp"
#include "plan_checks.hpp"
#include "yolk/internal/abi/perturbed_linear.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/low_precision.hpp"

namespace yolk {
namespace {

/// Multiply-adds of a step over k or the rank: half of matmul's, for the noise at the end of the tile is unrolled, too.
/// Steps of 16 instead of 8 k with the largest tile were no faster on lavapipe (91.3 ms each, 1,024 -> 1,024), and
/// SwiftShader compiled them for 7 s.
constexpr std::uint32_t kMaxTileUnrolled = kMaxUnrolled / 2;
/// Products of an unrolled step over k of a projection.
constexpr std::uint32_t kMaxProjected = 512;
/// Fused, every tile of columns makes the projections again, from all k in one loop.
constexpr std::uint32_t kMaxFusedRank = 8;
constexpr std::uint32_t kMaxFusedInputs = 1024;

bool is_uniform(const PerturbedLinearConfig& c) noexcept {
    return c.operand_path == kUniformOperand || c.operand_path == kUniformWeights;
}

Result<void> check_fused_geometry(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& c) {
    if (c.block_m % c.tile_m != 0 || c.block_n % c.tile_n != 0)
        return bad_input("block_m and block_n must be multiples of tile_m and tile_n.");
    if ((c.block_m / c.tile_m) * (c.block_n / c.tile_n) != c.workgroup_size)
        return bad_input("(block_m / tile_m) * (block_n / tile_n) must be the workgroup_size.");
    if (!is_uniform(c) && !is_compact(c.block_m / c.tile_m, c.block_n / c.tile_n)) {
        return bad_input("More than {} lanes may lie at most {} times as wide as high, or as high as wide.", kFreeLanes,
                         kMaxAspect);
    }
    const std::uint32_t steps = std::max(c.block_k, rho_chunk(desc.rank));
    if (c.tile_m * c.tile_n > kMaxSums || c.tile_m * c.tile_n * steps > kMaxTileUnrolled) {
        return bad_input("An invocation may have {} sums, and a step over k or the rank {} multiply-adds.", kMaxSums,
                         kMaxTileUnrolled);
    }
    if (c.vector_width == 4 && inner_size(desc) % 4 != 0 && !(desc.transposed && outer_size(desc) % 4 == 0))
        return bad_input("Neither x nor W can be read four elements at a time.");
    return {};
}

Result<void> check_fused_uniform(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& c) {
    if (c.operand_path == kUniformWeights) {
        if (c.block_n != c.tile_n) return bad_input("With uniform weights block_n must be tile_n.");
        const std::uint64_t elements = std::uint64_t{desc.in} * desc.out;
        if (elements == 0 || elements > abi::perturbed_linear::kUniformElements)
            return bad_input("W is empty or does not fit into a uniform buffer; use another operand_path.");
    } else if (c.operand_path == kUniformOperand) {
        if (c.block_m != c.tile_m) return bad_input("With a uniform input block_m must be tile_m.");
        const std::uint32_t rows = uniform_input_rows(desc, c);
        if (rows == 0) return bad_input("A uniform buffer does not hold block_m rows of x, or a shared x.");
        const std::uint64_t windows = desc.shared_input ? 1 : std::uint64_t{desc.members} * desc.rows / rows + 1;
        if (windows > kMaxWindows)
            return bad_input("x takes {} uniform buffers; at most {} are allowed.", windows, kMaxWindows);
    }
    return {};
}

Result<void> check_fused_texel(const DeviceInfo& info, const PerturbedLinearDesc& desc) {
    const std::uint64_t instances = std::uint64_t{desc.shared_input ? 1 : desc.members} * desc.rows;
    const std::uint64_t inputs = checked_bytes({instances, inner_size(desc)}, 1, "x").value_or(UINT64_MAX);
    const std::uint64_t product = desc.shared_input ? std::uint64_t{desc.rows} * outer_size(desc) : 0;  // with a base
    const std::uint64_t elements = std::max({inputs, product, std::uint64_t{desc.in} * desc.out});
    if (elements > info.limits.max_texel_buffer_elements) {
        return bad_input("A texel buffer of this device has {} elements; x, W or their product has {}.",
                         info.limits.max_texel_buffer_elements, elements);
    }
    return {};
}

Result<void> check_staged_form(const DeviceInfo& info, const PerturbedLinearDesc& desc,
                               const PerturbedLinearConfig& c) {
    if (desc.shared_input) return bad_input("A shared x is not staged; base 1 makes its product by matmul.");
    if (c.fused == 1) return bad_input("Fused, x and W are not staged.");
    if (c.storage16 == 1) return bad_input("Staged, x and W of 16 bits are read by the word: storage16 must be 0.");
    return check_staging(info, {c.workgroup_size, c.block_m, c.block_n, c.block_k});
}

Result<void> check_projection(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& c) {
    const std::uint32_t step = projection_step(desc.rank) * rho_chunk(desc.rank);
    if (c.fused == 1) {
        if (desc.rank > kMaxFusedRank || inner_size(desc) > kMaxFusedInputs) {
            return bad_input("Fused, the rank may be {} and x have {} columns, at most.", kMaxFusedRank,
                             kMaxFusedInputs);
        }
        if (c.projection_workgroup != 8 || c.projection_rows != 1)
            return bad_input("Fused, there is no projection: projection_workgroup must be 8 and projection_rows 1.");
        if (c.tile_m * step > kMaxProjected)
            return bad_input("Fused, a step over k may have {} multiply-adds.", kMaxProjected);
        return {};
    }
    if (c.projection_rows > 1 && c.projection_rows > desc.rows)
        return bad_input("projection_rows must not exceed the rows of a member.");
    if (2 * c.projection_rows * step > kMaxProjected)
        return bad_input("A step over k of the projection may have {} multiply-adds.", kMaxProjected);
    return {};
}

std::vector<std::uint32_t> storage16_values(const DeviceInfo& info, const PerturbedLinearDesc& desc) {
    if (is_16bit(desc) && path_is_open(info, LowPrecisionPath::Storage16)) return {0, 1};
    return {0};
}

}  // namespace

Result<void> legal_perturbed_linear(const DeviceInfo& info, const PerturbedLinearDesc& desc,
                                    const PerturbedLinearConfig& c) {
    if (is_16bit(desc) && c.operand_path != kDirectOperands && c.operand_path != kStagedOperands)
        return bad_input("x and W of 16 bits are storage buffers: operand_path must be 0 or 1.");
    YOLK_TRY_VOID(check_fused_geometry(desc, c));
    YOLK_TRY_VOID(check_base(desc, c));
    YOLK_TRY_VOID(check_fused_uniform(desc, c));
    if (c.operand_path == kTexelOperands) YOLK_TRY_VOID(check_fused_texel(info, desc));
    if (c.operand_path == kStagedOperands) YOLK_TRY_VOID(check_staged_form(info, desc, c));
    return check_projection(desc, c);
}

namespace {

/// Rows of a member from which on small layers take tiles of rows of one member.
constexpr std::uint32_t kRowsOfATile = 16;

// Measured on lavapipe 22.3 (docs/kernels/perturbed_linear.md). Small layers: lanes along the instances, two pairs to a
// tile, W uniform, two passes; last without a uniform W.
constexpr PerturbedLinearConfig kSmallPlain{.block_m = 32, .block_n = 16, .tile_m = 4, .tile_n = 16};

std::array<PerturbedLinearConfig, 3> for_small_layers() {
    PerturbedLinearConfig scalars = kSmallPlain;
    scalars.operand_path = kUniformWeights;
    PerturbedLinearConfig vectors = scalars;
    vectors.vector_width = 4;
    return {vectors, scalars, kSmallPlain};
}

// The same with texel buffers, which CPU drivers read faster than uniform ones.
constexpr PerturbedLinearConfig kSmallTexel{.block_m = 32,
                                            .block_n = 16,
                                            .block_k = 8,
                                            .tile_m = 4,
                                            .tile_n = 16,
                                            .vector_width = 4,
                                            .operand_path = kTexelOperands};
constexpr PerturbedLinearConfig kSmallTexelScalars{
    .block_m = 32, .block_n = 16, .block_k = 8, .tile_m = 4, .tile_n = 16, .operand_path = kTexelOperands};

// Large ones: matmul's, on CPU drivers with texel buffers, else without: SwiftShader's are too small for them. The
// lanes' tiles lie four by two, without texel buffers one above the other, so that W is read once for many instances
// (lavapipe, 1,024 -> 1,024: 117 ms one beside the other, 91 so; SwiftShader 1,026 with uniform x, 907 so); one beside
// the other where there are few instances.
std::array<PerturbedLinearConfig, 6> for_large_layers(std::uint64_t instances) {
    PerturbedLinearConfig blocked{.block_m = 64, .block_n = 16, .tile_m = 16, .vector_width = 4, .projection_rows = 4};
    if (instances < blocked.block_m) {
        blocked.block_m = 16;
        blocked.block_n = 64;
    }
    PerturbedLinearConfig texel = blocked;
    texel.block_k = 8;
    texel.operand_path = kTexelOperands;
    if (instances >= 128) {
        blocked.block_m = 128;
        blocked.block_n = 8;
    }
    const auto by_single_rows = [](PerturbedLinearConfig config) {
        config.projection_rows = 1;
        return config;
    };
    const PerturbedLinearConfig small_tile{.vector_width = 4, .projection_rows = 4};
    return {texel, by_single_rows(texel), blocked, by_single_rows(blocked), small_tile, by_single_rows(small_tile)};
}

// Small layers of many rows: tiles of 8 x 16, four by two of them, so that each load of W serves twice as many columns
// as in large layers; where all columns are within eight, 16 x 8, one above the other, so that no lane has only columns
// past the edge. Of 64 -> 64 and 64 -> 8, 241 members of 64 rows, lavapipe 22.3 takes .86 and .5 of the processor time
// that it takes with the tiles of large layers, SwiftShader .68 and .56 (2026-11-25).
std::array<PerturbedLinearConfig, 4> for_many_rows(std::uint32_t columns) {
    PerturbedLinearConfig texel{.block_m = 64,
                                .block_n = 16,
                                .block_k = 8,
                                .tile_m = 8,
                                .tile_n = 16,
                                .vector_width = 4,
                                .operand_path = kTexelOperands,
                                .projection_rows = 4};
    if (columns <= 8) {
        texel.block_m = 128;
        texel.block_n = 8;
        texel.tile_m = 16;
        texel.tile_n = 8;
    }
    PerturbedLinearConfig direct = texel;
    direct.block_k = 4;
    direct.operand_path = kDirectOperands;
    const auto by_scalars = [](PerturbedLinearConfig config) {
        config.vector_width = 1;
        return config;
    };
    return {texel, by_scalars(texel), direct, by_scalars(direct)};
}

/// Matmul's, or smaller: when the sums over k are complete, the noise of a group of columns and the projections need
/// registers beside them, more of them the more rho are drawn at once (docs/kernels/perturbed_linear.md).
RegisterTile tile_for_gpus(const DeviceInfo& info, std::uint32_t rank) {
    constexpr RegisterTile kMiddle{8, 4}, kSmall{4, 4};
    const RegisterTile most = largest_tile(info);
    if (rho_chunk(rank) > 4) return kSmall;
    if (rho_chunk(rank) > 1) return most == RegisterTile{8, 8} ? kMiddle : kSmall;
    return most == RegisterTile{8, 8} && info.limits.subgroup_size == 32 ? kMiddle : most;
}

/// Staged as matmul is, also where there are few outputs: of 64 -> 8, 2,048 members of 64 rows, an H200 takes 34 us so,
/// with all of W uniform and a row to a lane 112. Last what is always legal, and all that is left to do where matmul
/// makes the product of a shared x.
std::vector<PerturbedLinearConfig> for_gpus(const DeviceInfo& info, const PerturbedLinearDesc& desc) {
    constexpr std::uint32_t kProjectionWorkgroup = 64;
    const MatmulDesc product{
        .m = desc.members * desc.rows, .n = outer_size(desc), .k = inner_size(desc), .determinism = Determinism::Exact};
    std::vector<PerturbedLinearConfig> all;
    for (const MatmulConfig& c : matmul_for_gpus(info, product, tile_for_gpus(info, desc.rank))) {
        all.push_back({.workgroup_size = c.workgroup_size,
                       .block_m = c.block_m,
                       .block_n = c.block_n,
                       .block_k = c.block_k,
                       .tile_m = c.tile_m,
                       .tile_n = c.tile_n,
                       .vector_width = c.vector_width,
                       .operand_path = kStagedOperands,
                       .projection_workgroup = kProjectionWorkgroup});
    }
    const PerturbedLinearConfig narrow{.workgroup_size = 64,
                                       .block_m = 64,
                                       .block_n = 16,
                                       .tile_m = 1,
                                       .tile_n = 16,
                                       .operand_path = kUniformWeights,
                                       .projection_workgroup = kProjectionWorkgroup};
    if (desc.shared_input) all.clear();  // is not staged
    all.push_back(narrow);
    PerturbedLinearConfig direct = narrow;
    direct.block_m = direct.block_n = 32;
    direct.tile_m = direct.tile_n = 4;
    direct.operand_path = kDirectOperands;
    all.insert(desc.shared_input ? all.begin() : all.end(), direct);
    return all;
}

/// Members share x W^T, and add noise of rank r to it: tiles of 8 x 4 by vectors. Of 32 -> 64, 4,096 members of 64
/// rows, an H200 takes 31 us so, with tiles of 4 x 4 by single elements 50, and 232 where each member makes its own
/// product.
std::vector<PerturbedLinearConfig> for_gpus_by_shared_product(const DeviceInfo& info, const PerturbedLinearDesc& desc) {
    constexpr RegisterTile kMiddle{8, 4};
    const RegisterTile most = tile_for_gpus(info, desc.rank);
    const RegisterTile tile = most == RegisterTile{8, 8} ? kMiddle : most;
    const std::uint32_t block = 8 * tile.rows;
    std::vector<PerturbedLinearConfig> all;
    for (const std::uint32_t width : {4U, 1U}) {
        all.push_back({.workgroup_size = block / tile.rows * (block / tile.columns),
                       .block_m = block,
                       .block_n = block,
                       .block_k = 4,
                       .tile_m = tile.rows,
                       .tile_n = tile.columns,
                       .vector_width = width,
                       .operand_path = kDirectOperands,
                       .projection_workgroup = 64,
                       .base = kBaseByMatmul});
    }
    return all;
}

}  // namespace

std::uint32_t uniform_input_rows(const PerturbedLinearDesc& desc, const PerturbedLinearConfig& config) noexcept {
    const std::uint32_t k = inner_size(desc);
    if (k == 0) return 0;
    if (desc.shared_input) {
        const bool fits = std::uint64_t{desc.rows} * k <= abi::perturbed_linear::kUniformElements;
        return fits ? static_cast<std::uint32_t>(round_up(std::max(desc.rows, 1U), config.block_m)) : 0;
    }
    const MatmulDesc product{.m = config.block_m, .n = 1, .k = k, .a = {.stride = k, .batch_stride = 0}};
    return uniform_window_rows(product, {.block_m = config.block_m});
}

// No more than can be checked to the last configuration (ADR 12).
std::vector<Knob<PerturbedLinearConfig>> perturbed_linear_knobs(const DeviceInfo& info,
                                                                const PerturbedLinearDesc& desc) {
    return {{"workgroup_size", &PerturbedLinearConfig::workgroup_size, {8, 32, 64, 128, 256}},
            {"block_m", &PerturbedLinearConfig::block_m, {1, 4, 8, 16, 32, 64, 128}},
            {"block_n", &PerturbedLinearConfig::block_n, {4, 8, 16, 32, 64, 128}},
            {"block_k", &PerturbedLinearConfig::block_k, {4, 8, 16}},
            {"tile_m", &PerturbedLinearConfig::tile_m, {1, 4, 8, 16}},
            {"tile_n", &PerturbedLinearConfig::tile_n, {4, 8, 16}},
            {"vector_width", &PerturbedLinearConfig::vector_width, {1, 4}},
            {"operand_path", &PerturbedLinearConfig::operand_path, {0, 1, 2, 3, 5}},
            {"storage16", &PerturbedLinearConfig::storage16, storage16_values(info, desc)},
            {"fused", &PerturbedLinearConfig::fused, {0, 1}},
            {"projection_workgroup", &PerturbedLinearConfig::projection_workgroup, {8, 64}},
            {"projection_rows", &PerturbedLinearConfig::projection_rows, {1, 4}},
            {"base", &PerturbedLinearConfig::base, base_values(info, desc)}};
}

namespace {

/// Not on CPU drivers, whose units are there to be tested.
std::optional<PerturbedLinearConfig> default_on_units(const DeviceInfo& info, const PerturbedLinearDesc& desc) {
    if (info.kind == DeviceKind::Cpu) return {};
    const MatmulDesc product = base_product(info, desc, kBaseOnMatrixUnits);
    if (!product.config || !pays_on_units(info, product, *product.config)) return {};
    return PerturbedLinearConfig{.workgroup_size = 64,
                                 .block_m = 32,
                                 .block_n = 32,
                                 .tile_m = 4,
                                 .tile_n = 4,
                                 .projection_workgroup = 64,
                                 .base = kBaseOnMatrixUnits};
}

PerturbedLinearConfig default_of_one_chain(const DeviceInfo& info, const PerturbedLinearDesc& desc,
                                           const ConfigSpace<PerturbedLinearConfig>& space) {
    const auto first_legal = [&](const auto& candidates) {
        for (const PerturbedLinearConfig& candidate : candidates) {
            if (space.check(candidate)) return candidate;
        }
        return PerturbedLinearConfig{};
    };
    if (info.kind != DeviceKind::Cpu) return first_legal(for_gpus(info, desc));
    // Lanes along the instances suit members of few rows. Where a tile's rows are one member's, W is read once for all
    // of them and noise drawn once (docs/kernels/perturbed_linear.md, Cost).
    const bool is_small = std::uint64_t{desc.in} * desc.out <= abi::perturbed_linear::kUniformElements;
    if (is_small && desc.rows >= kRowsOfATile) return first_legal(for_many_rows(outer_size(desc)));
    if (is_small) {
        for (const PerturbedLinearConfig& texel : {kSmallTexel, kSmallTexelScalars}) {
            if (space.check(texel)) return texel;
        }
        return first_legal(for_small_layers());
    }
    return first_legal(for_large_layers(std::uint64_t{desc.members} * desc.rows));
}

}  // namespace

// Matrix units where they pay. Else members that share x share x W^T, from a few members on; on CPU drivers not where a
// dispatch more costs what it saves.
PerturbedLinearConfig perturbed_linear_heuristic(const DeviceInfo& info, const PerturbedLinearDesc& desc) {
    constexpr std::uint32_t kFewMembers = 4;
    constexpr std::uint64_t kFewProducts = std::uint64_t{1} << 20U;
    const ConfigSpace<PerturbedLinearConfig> space = space_of(info, desc);
    if (const auto units = default_on_units(info, desc); units && space.check(*units)) return *units;
    const PerturbedLinearConfig chain = default_of_one_chain(info, desc, space);
    if (!desc.shared_input || desc.members <= kFewMembers) return chain;
    if (info.kind != DeviceKind::Cpu) {
        for (const PerturbedLinearConfig& config : for_gpus_by_shared_product(info, desc)) {
            if (space.check(config)) return config;
        }
    }
    if (std::uint64_t{desc.members} * desc.rows * desc.in * desc.out < kFewProducts) return chain;
    PerturbedLinearConfig shared = chain;
    shared.base = kBaseByMatmul;
    shared.fused = 0;
    shared.block_k = 4;
    for (const std::uint32_t path : {kTexelOperands, kDirectOperands}) {
        shared.operand_path = path;
        if (space.check(shared)) return shared;
    }
    return chain;
}

}  // namespace yolk
