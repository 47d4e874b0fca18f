// SPDX-License-Identifier: Apache-2.0
#include "matmul_layout.hpp"

#include <algorithm>

#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/abi/matmul_staging.h"
#include "yolk/internal/core/shape.hpp"

namespace yolk {
namespace {

constexpr std::uint64_t kMaxSharedBytes = 32768;
/// Elements that an invocation stages in a step: all unrolled.
constexpr std::uint32_t kMaxStagedPerInvocation = 64;

/// Windows begin at multiples of so many elements: 256 bytes.
constexpr std::uint32_t kWindowAlignment = 64;

struct Extent {
    std::uint64_t rows = 0;     ///< as stored
    std::uint64_t columns = 0;  ///< as stored
};

/// Replaces kDense, and returns the bytes that the view must have. `desc` says of how many matrices.
Result<std::uint64_t> resolve_matrix(MatrixLayout& layout, const Extent& extent, const MatmulDesc& desc,
                                     const char* name) {
    if (layout.stride == kDense) layout.stride = static_cast<std::uint32_t>(extent.columns);
    if (extent.rows > 1 && layout.stride < extent.columns) {
        return bad_input("The stride of {} of [matmul] is {}; its rows have {} elements. Give at least that.", name,
                         layout.stride, extent.columns);
    }
    if (extent.rows == 0 || extent.columns == 0 || desc.batch == 0) {
        if (layout.batch_stride == kDense) layout.batch_stride = 0;
        if (layout.inner_stride == kDense) layout.inner_stride = 0;
        return std::uint64_t{0};
    }
    const std::uint64_t inner = desc.inner_batch, outer = desc.batch / inner;
    const std::uint64_t matrix = (extent.rows - 1) * layout.stride + extent.columns;
    const std::uint64_t dense = extent.rows * layout.stride;
    std::uint64_t inner_stride = layout.inner_stride == kDense ? dense : layout.inner_stride;
    if (inner == 1) inner_stride = 0;
    std::uint64_t batch_stride =
        layout.batch_stride == kDense ? std::max(dense, inner * inner_stride) : layout.batch_stride;
    if (outer == 1) batch_stride = 0;
    const std::uint64_t elements = layout.offset + (outer - 1) * batch_stride + (inner - 1) * inner_stride + matrix;
    if (std::max({elements, batch_stride, inner_stride, dense}) > UINT32_MAX / kElementBytes) {
        return bad_input(
            "{} of [matmul] reaches to element {}; at most {} are allowed in a view. Use smaller sizes or several "
            "plans.",
            name, elements, UINT32_MAX / kElementBytes);
    }
    layout.batch_stride = static_cast<std::uint32_t>(batch_stride);
    layout.inner_stride = static_cast<std::uint32_t>(inner_stride);
    return float_bytes(layout.format, elements);
}

/// An out of 16 bits is rounded from sums as one array.
Result<void> check_narrow_out(const MatrixLayout& layout, const MatmulDesc& desc) {
    const std::uint64_t matrix = std::uint64_t{desc.m} * desc.n;
    const bool dense = layout.offset == 0 && layout.stride == desc.n &&
                       (desc.inner_batch == 1 || layout.inner_stride == matrix) &&
                       (desc.batch == desc.inner_batch || layout.batch_stride == desc.inner_batch * matrix);
    if (layout.format == FloatFormat::F32 || dense) return {};
    return bad_input(
        "out of [matmul] is {} at offset {} with strides {}, {} and {}; one of 16 bits must be dense from the start of "
        "its view.",
        to_string(layout.format), layout.offset, layout.stride, layout.inner_stride, layout.batch_stride);
}

Result<void> check_written_matrix(const MatrixLayout& layout, const MatmulDesc& desc, const char* name) {
    if (layout.transposed) {
        return bad_input(
            "{} of [matmul] is described as transposed; only a and b may be. Swap them and their transposes instead.",
            name);
    }
    const std::uint64_t inner = desc.inner_batch - 1, inner_stride = layout.inner_stride;
    const std::uint64_t matrix = desc.m == 0 ? 0 : std::uint64_t{desc.m - 1} * layout.stride + desc.n;
    const bool side_by_side = inner_stride >= desc.n && inner * inner_stride + desc.n <= layout.stride;
    if (inner > 0 && inner_stride < matrix && !side_by_side) {
        return bad_input(
            "The inner stride of {} of [matmul] is {}; its {} matrices of {} x {} with rows {} apart overlap. Give at "
            "least {}, or at least {} where all of them fit side by side into a row.",
            name, inner_stride, desc.inner_batch, desc.m, desc.n, layout.stride, matrix, desc.n);
    }
    const std::uint64_t group = inner * inner_stride + matrix;
    if (desc.batch > desc.inner_batch && layout.batch_stride < group) {
        return bad_input("The batch stride of {} of [matmul] is {}; its matrices have {} elements. Give at least that.",
                         name, layout.batch_stride, group);
    }
    return {};
}

}  // namespace

Result<MatmulLayout> lay_out_matmul(const MatmulDesc& desc) {
    MatmulLayout layout{.desc = desc};
    MatmulDesc& d = layout.desc;
    if (d.inner_batch == 0 || d.batch % d.inner_batch != 0) {
        return bad_input("The inner batch of [matmul] is {}, of a batch of {}; give a number that divides it.",
                         d.inner_batch, d.batch);
    }
    const Extent a = d.a.transposed ? Extent{d.k, d.m} : Extent{d.m, d.k};
    const Extent b = d.b.transposed ? Extent{d.n, d.k} : Extent{d.k, d.n};
    YOLK_TRY(layout.a_bytes, resolve_matrix(d.a, a, d, "a"));
    YOLK_TRY(layout.b_bytes, resolve_matrix(d.b, b, d, "b"));
    YOLK_TRY(layout.out_bytes, resolve_matrix(d.out, {d.m, d.n}, d, "out"));
    if (layout.out_bytes != 0) {
        YOLK_TRY_VOID(check_written_matrix(d.out, d, "out"));
        YOLK_TRY_VOID(check_narrow_out(d.out, d));
    }
    if (d.has_residual) {
        if (d.residual.transposed)
            return bad_input(
                "The residual of [matmul] is described as transposed, which is not allowed; store it row by row.");
        if (d.residual.format != FloatFormat::F32)
            return bad_input("The residual of [matmul] is described as 16-bit; it must be fp32.");
        YOLK_TRY(layout.residual_bytes, resolve_matrix(d.residual, {d.m, d.n}, d, "residual"));
    }
    if (d.has_bias && layout.out_bytes != 0) {
        const std::uint64_t rows = d.bias_per_matrix ? d.batch : 1;
        layout.bias_bytes = kElementBytes * (d.bias_offset + rows * d.n);
    }
    if (layout.bias_bytes > UINT32_MAX) return bad_input("The bias of [matmul] has more than 2^32 bytes.");
    return layout;
}

std::uint64_t first_element(const MatmulDesc& desc, const MatrixLayout& matrix, std::uint32_t z) noexcept {
    return matrix.offset + std::uint64_t{z / desc.inner_batch} * matrix.batch_stride +
           std::uint64_t{z % desc.inner_batch} * matrix.inner_stride;
}

std::uint64_t staged_bytes(const StagedBlock& block) noexcept {
    namespace abi_staging = abi::matmul_staging;
    const std::uint64_t lines = std::uint64_t{block.block_m} + block.block_n + 2 * abi_staging::kStagedPadding;
    const std::uint64_t stage = kElementBytes * block.block_k * lines;
    const std::uint64_t most = std::uint64_t{abi_staging::kTwoStagesBytesPerLane} * block.workgroup_size;
    return 2 * stage <= most ? 2 * stage : stage;
}

Result<void> check_staging(const DeviceInfo& info, const StagedBlock& block) {
    const auto& [lanes, block_m, block_n, block_k] = block;
    const std::uint64_t limit = std::min<std::uint64_t>(kMaxSharedBytes, info.limits.max_shared_memory_size);
    if (staged_bytes(block) > limit)
        return bad_input("Staging takes {} bytes of shared memory; {} are there.", staged_bytes(block), limit);
    if ((block_m + block_n) * block_k > kMaxStagedPerInvocation * lanes)
        return bad_input("An invocation may stage {} elements in a step.", kMaxStagedPerInvocation);
    if (block_m * block_k % lanes != 0 || block_n * block_k % lanes != 0)
        return bad_input("Staged, block_m * block_k and block_n * block_k must be multiples of the workgroup_size.");
    if (block_m % 4 != 0 || block_n % 4 != 0) return bad_input("Staged, block_m and block_n must be multiples of 4.");
    return {};
}

bool stages_vectors(const StagedBlock& block, std::uint32_t lines) noexcept {
    return lines * block.block_k % (4 * block.workgroup_size) == 0;
}

namespace {

bool may_read_vectors(const MatrixLayout& layout, const MatmulConfig& c, std::uint32_t lines) noexcept {
    if (c.vector_width != 4 || !is_aligned(layout)) return false;
    return c.operand_path != kStagedOperands ||
           stages_vectors({c.workgroup_size, c.block_m, c.block_n, c.block_k}, lines);
}

}  // namespace

bool reads_vectors_of_a(const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    if (!may_read_vectors(desc.a, config, config.block_m)) return false;
    if (desc.a.transposed)
        return desc.m % 4 == 0 && (config.operand_path == kStagedOperands ? config.block_m : config.tile_m) % 4 == 0;
    return config.block_k % 4 == 0 && (config.operand_path != kStagedOperands || desc.k % 4 == 0);
}

bool reads_vectors_of_b(const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    if (!may_read_vectors(desc.b, config, config.block_n)) return false;
    if (!desc.b.transposed) return desc.n % 4 == 0 && config.tile_n % 4 == 0;
    return config.block_k % 4 == 0 && (config.operand_path != kStagedOperands || desc.k % 4 == 0);
}

std::uint32_t uniform_window_rows(const MatmulDesc& desc, const MatmulConfig& config) noexcept {
    if (desc.k == 0) return 0;
    const MatrixLayout& a = desc.a;
    const bool aligned = (a.offset | a.batch_stride | a.inner_stride) % kWindowAlignment == 0 &&
                         (a.transposed || std::uint64_t{a.stride} * config.block_m % kWindowAlignment == 0);
    const std::uint64_t room = abi::matmul::kUniformElements - (aligned ? 0 : kWindowAlignment - 1);
    if (desc.a.transposed) {
        const std::uint64_t whole = std::uint64_t{desc.k - 1} * desc.a.stride + desc.m;
        return whole <= room ? static_cast<std::uint32_t>(round_up(desc.m, config.block_m)) : 0;
    }
    if (desc.k > room) return 0;
    const std::uint64_t rows = (room - desc.k) / std::max<std::uint32_t>(desc.a.stride, 1) + 1;
    return static_cast<std::uint32_t>(rows / config.block_m * config.block_m);
}

}  // namespace yolk
