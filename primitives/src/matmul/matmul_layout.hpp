// SPDX-License-Identifier: Apache-2.0
// Where matmul's elements lie, and what a configuration may do with that layout. Pure functions of plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "plan_checks.hpp"
#include "yolk/matmul.hpp"

namespace yolk {

// What keeps the code of a register tile small: multiply-adds that one unrolled step may hold, and sums. Above, drivers
// compile for seconds and spill.
inline constexpr std::uint32_t kMaxUnrolled = 2048;
inline constexpr std::uint32_t kMaxSums = 128;
/// How far the lanes of a workgroup larger than a CPU driver's subgroup may be from a square: a flat one reads more.
inline constexpr std::uint32_t kMaxAspect = 4;
inline constexpr std::uint32_t kFreeLanes = 8;
/// Whether lanes [down, across] are near enough to a square.
[[nodiscard]] constexpr bool is_compact(std::uint32_t down, std::uint32_t across) noexcept {
    return down * across <= kFreeLanes || (down <= kMaxAspect * across && across <= kMaxAspect * down);
}
/// What a workgroup stages of its operands at once (shaders/matmul/matmul_staging.glsl).
struct StagedBlock {
    std::uint32_t workgroup_size = 0;
    std::uint32_t block_m = 0;
    std::uint32_t block_n = 0;
    std::uint32_t block_k = 0;
};
/// Its shared memory: two stages where they are small enough, else one.
[[nodiscard]] std::uint64_t staged_bytes(const StagedBlock& block) noexcept;
/// Errors: more shared memory than there is, elements that do not come out even, or too many for an invocation.
[[nodiscard]] Result<void> check_staging(const DeviceInfo& info, const StagedBlock& block);
/// Whether every invocation stages vectors of four, where a block has so many rows or columns.
[[nodiscard]] bool stages_vectors(const StagedBlock& block, std::uint32_t lines) noexcept;
/// Windows of a uniform operand, each a dispatch.
inline constexpr std::uint64_t kMaxWindows = 256;

/// `desc` with every kDense replaced, and the bytes that each view must have.
struct MatmulLayout {
    MatmulDesc desc;
    std::uint64_t a_bytes = 0;
    std::uint64_t b_bytes = 0;
    std::uint64_t out_bytes = 0;
    std::uint64_t bias_bytes = 0;
    std::uint64_t residual_bytes = 0;

    [[nodiscard]] bool is_empty() const noexcept { return desc.m == 0 || desc.n == 0 || desc.batch == 0; }
};
/// Where matrix z begins in its view, in elements. `desc` is a layout's.
[[nodiscard]] std::uint64_t first_element(const MatmulDesc& desc, const MatrixLayout& matrix, std::uint32_t z) noexcept;

/// Errors: a stride below a row's length, overlapping rows or matrices of out, an inner_batch that does not divide the
/// batch, more than 2^32 bytes in a view, transposed out or residual.
[[nodiscard]] Result<MatmulLayout> lay_out_matmul(const MatmulDesc& desc);

/// Whether all rows begin at multiples of four elements. Of a layout's.
[[nodiscard]] constexpr bool is_aligned(const MatrixLayout& matrix) noexcept {
    return (matrix.offset | matrix.stride | matrix.batch_stride | matrix.inner_stride) % 4 == 0;
}
/// Whether a configuration can read a, or b, four elements at a time. `desc` is a layout's.
[[nodiscard]] bool reads_vectors_of_a(const MatmulDesc& desc, const MatmulConfig& config) noexcept;
[[nodiscard]] bool reads_vectors_of_b(const MatmulDesc& desc, const MatmulConfig& config) noexcept;

/// Rows of op(a) that one uniform buffer holds for sure, a multiple of block_m; 0 where not even block_m fit, or where
/// a is transposed and does not fit as a whole.
[[nodiscard]] std::uint32_t uniform_window_rows(const MatmulDesc& desc, const MatmulConfig& config) noexcept;

// The knobs, their rules and the heuristic (matmul_space.cpp).
[[nodiscard]] std::vector<Knob<MatmulConfig>> matmul_knobs(const DeviceInfo& info, const MatmulDesc& desc);
[[nodiscard]] Result<void> legal_matmul(const DeviceInfo& info, const MatmulDesc& desc, const MatmulConfig& config);
[[nodiscard]] MatmulConfig matmul_heuristic(const DeviceInfo& info, const MatmulDesc& desc);

}  // namespace yolk
