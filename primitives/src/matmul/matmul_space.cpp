// SPDX-License-Identifier: Apache-2.0
// The tuning space of matmul and its legality: the geometry that a kernel relies on, and what keeps its code small.

#include <algorithm>
#include <array>
#include <initializer_list>
#include <set>
#include <vector>

#include "matmul_cooperative.hpp"
#include "matmul_for_gpus.hpp"
#include "matmul_formats.hpp"
#include "matmul_layout.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/matmul.hpp"

namespace yolk {
namespace {

/// Operands of a step: all unrolled, too.
constexpr std::uint32_t kMaxOperands = 384;
constexpr std::uint32_t kMaxBlockK = 16;
constexpr std::uint32_t kMaxBlock = 128;

Result<void> check_matmul_geometry(const MatmulConfig& c) {
    if (c.block_k > kMaxBlockK) return bad_input("Without matrix units block_k may be {} at most.", kMaxBlockK);
    if (std::max(c.block_m, c.block_n) > kMaxBlock)
        return bad_input("Without matrix units block_m and block_n may be {} at most.", kMaxBlock);
    if (c.block_m % c.tile_m != 0 || c.block_n % c.tile_n != 0)
        return bad_input("block_m and block_n must be multiples of tile_m and tile_n.");
    if ((c.block_m / c.tile_m) * (c.block_n / c.tile_n) != c.workgroup_size)
        return bad_input("(block_m / tile_m) * (block_n / tile_n) must be the workgroup_size.");
    if (c.operand_path != kUniformOperand && !is_compact(c.block_m / c.tile_m, c.block_n / c.tile_n)) {
        return bad_input("More than {} lanes may lie at most {} times as wide as high, or as high as wide.", kFreeLanes,
                         kMaxAspect);
    }
    if ((c.tile_m + c.tile_n) * c.block_k > kMaxOperands)
        return bad_input("An invocation may read {} operands in a step.", kMaxOperands);
    if (c.tile_m * c.tile_n > kMaxSums || c.tile_m * c.tile_n * c.block_k > kMaxUnrolled) {
        return bad_input("An invocation may have {} sums, and a step {} multiply-adds.", kMaxSums, kMaxUnrolled);
    }
    return {};
}

Result<void> check_matmul_uniform(const MatmulDesc& desc, const MatmulConfig& c) {
    if (c.block_m != c.tile_m) return bad_input("With a uniform operand block_m must be tile_m.");
    const std::uint32_t rows = uniform_window_rows(desc, c);
    if (rows == 0) return bad_input("A uniform buffer does not hold block_m rows of a.");
    const std::uint64_t windows = std::uint64_t{ceil_div(desc.m, rows)} * desc.batch;
    if (windows > kMaxWindows)
        return bad_input("a takes {} uniform buffers; at most {} are allowed.", windows, kMaxWindows);
    return {};
}

/// Elements of the texel buffer that a kernel reads; where k has a rest, it reads single ones, too.
std::uint64_t texels(std::uint64_t bytes, bool only_vectors) { return bytes / kElementBytes / (only_vectors ? 4 : 1); }

Result<void> check_matmul_texel(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& c) {
    const Result<MatmulLayout> layout = lay_out_matmul(desc);
    if (!layout) return {};  // a plan of it is refused anyway
    const bool whole_k = desc.k % c.block_k == 0;
    const std::uint64_t a = texels(layout->a_bytes, whole_k && reads_vectors_of_a(desc, c));
    const std::uint64_t b = texels(layout->b_bytes, whole_k && reads_vectors_of_b(desc, c));
    if (std::max(a, b) > info.limits.max_texel_buffer_elements) {
        return bad_input("A texel buffer of this device has {} elements; an operand takes {}.",
                         info.limits.max_texel_buffer_elements, std::max(a, b));
    }
    return {};
}

Result<void> check_split(const MatmulDesc& desc, const MatmulConfig& c) {
    if (c.split_k == 1) return {};
    if (desc.determinism == Determinism::Exact) return bad_input("Exact sums are not split.");
    if (c.operand_path == kUniformOperand) return bad_input("With a uniform operand k is not split.");
    if (desc.k < c.split_k * c.block_k) return bad_input("Each split needs block_k of k.");
    const std::uint64_t partials = std::uint64_t{c.split_k} * desc.batch * desc.m * desc.n;
    if (partials > UINT32_MAX / kElementBytes) return bad_input("The partial sums pass 2^32 bytes.");
    return {};
}

Result<void> check_matmul_config(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& c) {
    if (is_on_matrix_units(c)) return check_cooperative(info, desc, c);
    YOLK_TRY_VOID(check_matmul_geometry(c));
    YOLK_TRY_VOID(check_formats(desc, c));
    if (c.operand_path == kStagedOperands)
        YOLK_TRY_VOID(check_staging(info, {c.workgroup_size, c.block_m, c.block_n, c.block_k}));
    if (c.operand_path == kUniformOperand) YOLK_TRY_VOID(check_matmul_uniform(desc, c));
    if (c.operand_path == kTexelOperands) YOLK_TRY_VOID(check_matmul_texel(info, desc, c));
    YOLK_TRY_VOID(check_split(desc, c));
    if (c.vector_width == 4 && !reads_vectors_of_a(desc, c) && !reads_vectors_of_b(desc, c))
        return bad_input("Neither operand can be read four elements at a time.");
    return {};
}

/// Register tiles for CPU drivers in one subgroup of eight, without a barrier, the most wanted first: operands from
/// texel buffers, else a from uniform ones (docs/kernels/matmul.md). Small tiles where large ones would be mostly past
/// the edge. Large products give the eight lanes four tiles of rows by two of columns: all of b is read once per
/// block_m rows, which from 512 x 512 on costs more than anything else (lavapipe, 1,024: 54 ms with 1 x 8 tiles, 39.5
/// with 4 x 2). Uniform rows are the same for all lanes, so those stay 1 x 8. Where k is short, or there are many small
/// products, storing costs as much as multiplying: lanes one above the other have whole rows of a tile to store.
std::array<MatmulConfig, 5> for_cpus(const MatmulDesc& desc) {
    MatmulConfig texel{.workgroup_size = 8, .operand_path = kTexelOperands};
    const bool large = desc.m >= 128 && desc.n >= 64 && desc.k > 128;
    const bool high = !large && desc.m >= 64 && desc.n >= 16;             // eight tiles by one
    const bool square = !large && !high && desc.m >= 32 && desc.n >= 32;  // four by two
    texel.block_k = desc.k % 16 == 0 ? 16 : desc.k % 8 == 0 ? 8 : 4;
    if ((high || square) && desc.k <= 128) texel.block_k = std::min(texel.block_k, 8U);
    texel.tile_m = large ? 16 : desc.m >= 8 ? 8 : desc.m >= 4 ? 4 : 1;
    texel.tile_n = large ? 8 : high || square ? 16 : 4;
    texel.block_m = (high ? 8 : large || square ? 4 : 1) * texel.tile_m;
    texel.block_n = (high ? 1 : large || square ? 2 : 8) * texel.tile_n;
    MatmulConfig scalars = texel;
    scalars.vector_width = 1;
    MatmulConfig blocked = texel;
    blocked.operand_path = kDirectOperands;
    blocked.block_k = 4;
    MatmulConfig uniform = blocked;
    uniform.operand_path = kUniformOperand;
    uniform.tile_n = large ? 8 : 4;
    uniform.block_m = uniform.tile_m;
    uniform.block_n = 8 * uniform.tile_n;
    MatmulConfig plain = uniform;
    plain.operand_path = kDirectOperands;
    plain.vector_width = 1;
    // What a device's texel buffers do not hold: SwiftShader's end between 512 and 1,024 (there 354 ms, uniform 399).
    const bool past_texels =
        (large || high || square) && desc.a.format == FloatFormat::F32 && desc.b.format == FloatFormat::F32;
    return {texel, scalars, past_texels ? blocked : uniform, uniform, plain};
}

/// Matrix units work by the subgroup, whatever its size is.
std::vector<std::uint32_t> matmul_workgroup_sizes(const DeviceInfo& info, const MatmulDesc& desc) {
    std::set<std::uint32_t> sizes{8, 32, 64, 128, 256};
    if (fits_matrix_units(info, desc)) sizes.insert(info.limits.subgroup_size);
    return {sizes.begin(), sizes.end()};
}

/// `without`, and what only matrix units take.
std::vector<std::uint32_t> and_on_units(const DeviceInfo& info, const MatmulDesc& desc,
                                        std::vector<std::uint32_t> without, std::initializer_list<std::uint32_t> more) {
    if (fits_matrix_units(info, desc)) without.insert(without.end(), more);
    return without;
}

/// Without kDense; as it is where a plan of it is refused anyway.
MatmulDesc resolved(const MatmulDesc& desc) {
    const Result<MatmulLayout> layout = lay_out_matmul(desc);
    return layout ? layout->desc : desc;
}

}  // namespace

// No more than can be checked to the last configuration (ADR 12).
std::vector<Knob<MatmulConfig>> matmul_knobs(const DeviceInfo& info, const MatmulDesc& given) {
    const MatmulDesc desc = resolved(given);
    return {{"workgroup_size", &MatmulConfig::workgroup_size, matmul_workgroup_sizes(info, desc)},
            {"block_m", &MatmulConfig::block_m, and_on_units(info, desc, {1, 4, 8, 16, 32, 64, 128}, {256})},
            {"block_n", &MatmulConfig::block_n, and_on_units(info, desc, {16, 32, 64, 128}, {256})},
            {"block_k", &MatmulConfig::block_k, and_on_units(info, desc, {4, 8, 16}, {32, 64})},
            {"tile_m", &MatmulConfig::tile_m, {1, 4, 8, 16}},
            {"tile_n", &MatmulConfig::tile_n, {4, 8, 16}},
            {"vector_width", &MatmulConfig::vector_width, {1, 4}},
            {"operand_path", &MatmulConfig::operand_path, operand_paths(info, desc)},
            {"storage16", &MatmulConfig::storage16, storage16_values(info, desc)},
            {"split_k", &MatmulConfig::split_k, {1, 4, 8}}};
}

Result<void> legal_matmul(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& config) {
    return check_matmul_config(info, resolved(desc), config);
}

MatmulConfig matmul_heuristic(const DeviceInfo& info, const MatmulDesc& desc) {
    const ConfigSpace<MatmulConfig> space = space_of(info, desc);
    const auto first_legal = [&](const auto& candidates) {
        for (const MatmulConfig& candidate : candidates) {
            if (space.check(candidate)) return candidate;
        }
        return MatmulConfig{.vector_width = 1};
    };
    // A CPU driver's units are there to be tested.
    if (info.kind == DeviceKind::Cpu) return first_legal(for_cpus(desc));
    if (const auto on_units = cooperative_config(info, desc); on_units && pays_on_units(info, desc, *on_units))
        return *on_units;
    return first_legal(matmul_for_gpus(info, resolved(desc), largest_tile(info)));
}

}  // namespace yolk
