// SPDX-License-Identifier: Apache-2.0
// block_inverse: the inverses of many symmetric blocks of one size, square-root-free (L D L^T), with
// a status and a residual per block (docs/kernels/block_inverse.md). Class P: the same bits for every configuration and
// device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

enum class InverseMode {
    Spd,        ///< positive definite once damped (Fisher blocks): L D L^T, pivots in order; else it is reported
    Symmetric,  ///< any symmetric block; the largest remaining element is the pivot, 1x1 or 2x2 (Bunch, Parlett 1971)
};
constexpr auto enum_words(InverseMode /*type*/) { return std::to_array<std::string_view>({"spd", "symmetric"}); }

/// How a block came out. The low byte of its status word; the next byte counts the retries.
enum class BlockStatus : std::uint32_t {
    Ok = 0,
    Damped = 1,      ///< Spd: inverted after `retries_of(word)` retries with more damping
    Indefinite = 2,  ///< Spd: a pivot is clearly negative
    Singular = 3,   ///< a pivot is zero within the tolerance (Spd: after the last retry, too), or all elements are zero
    NotFinite = 4,  ///< NaN or infinity in the block or its damping, or an inverse outside of fp32's normal range
};
[[nodiscard]] constexpr BlockStatus block_status_of(std::uint32_t word) noexcept {
    return static_cast<BlockStatus>(word & 0xFFU);
}
[[nodiscard]] constexpr std::uint32_t retries_of(std::uint32_t word) noexcept { return (word >> 8U) & 0xFFU; }
/// Ok and Damped; all others have zeros for an inverse and kNoResidual.
[[nodiscard]] constexpr bool is_inverted(std::uint32_t word) noexcept {
    return (word & 0xFFU) <= static_cast<std::uint32_t>(BlockStatus::Damped);
}
/// The residual of a block that has no inverse: the largest finite number.
inline constexpr float kNoResidual = 0x1.FFFFFEp127F;

enum class BlockInverseStyle : std::uint32_t {
    Registers = 0,  ///< Spd, n up to 32: one invocation per block, all of it in registers; no barrier
    Group = 1,      ///< one workgroup per block, with barriers
    Tiles = 2,      ///< Spd: panels of eight pivots, tiles of 8 x 8 of the rest, an invocation each; many dispatches
};

/// Tuning parameters; any valid configuration gives the same bytes.
struct BlockInverseConfig {
    std::uint32_t style = 1;            ///< a BlockInverseStyle
    std::uint32_t workgroup_size = 64;  ///< 8 or 64
    /// Rows, of eight columns, that an invocation takes of an update and of the residual: 4 or 8. 4 is for devices on
    /// which registers decide how much runs at once, and takes the panels (style Tiles) step by step.
    std::uint32_t tile_rows = 8;
    friend bool operator==(const BlockInverseConfig&, const BlockInverseConfig&) = default;
};

struct BlockInverseViews {
    BufferView in;         ///< fp32 [blocks, n, n]; only elements (i, j) with j <= i are read
    BufferView damping{};  ///< fp32 [blocks], with damping_per_block
    /// out, fp32 [blocks, n, n], both triangles; zeros where there is no inverse. Spd: each column is solved for, so
    /// the two triangles differ by roundings; Symmetric: the same bits.
    BufferView out;
    BufferView status;  ///< out, uint32 [blocks]: block_status_of, retries_of
    /// out, fp32 [blocks]: |A X - I|_F / sqrt(n) of the damped block A and its inverse X, each element of A X - I
    /// counted as 2^20 at most; kNoResidual where there is no inverse
    BufferView residual;
};

struct BlockInversePipelines;
struct BlockInverseBound;

struct BlockInverseDesc {
    using Config = BlockInverseConfig;
    using Views = BlockInverseViews;
    using Pipelines = std::shared_ptr<const BlockInversePipelines>;
    using Bindings = std::shared_ptr<const BlockInverseBound>;

    std::uint32_t n = 0;       ///< rows of a block, 1 ... 1,024; 0 is legal, and nothing is done
    std::uint32_t blocks = 0;  ///< 0 is legal
    InverseMode mode = InverseMode::Spd;
    /// Relative: damping * trace / n is added to each diagonal element of a block. 0, or 2^-40 ... 2^20.
    float damping = 0.0F;
    /// Instead, BlockInverseViews::damping has an absolute one for each block, zero or positive.
    bool damping_per_block = false;
    /// Spd: attempts after the first one, 0 ... 8, for a block whose smallest pivot is zero within the tolerance.
    /// Retry j (1, 2, ...) damps by 16^j max(the damping, 2^-20 trace / n).
    std::uint32_t retries = 4;
    /// Unset: the device's table, else the heuristic.
    std::optional<BlockInverseConfig> config{};
};

/// Its heuristic: registers or tiles on CPU drivers, a workgroup per block for small ones elsewhere.
template <>
const Operation<BlockInverseDesc>& operation_of<BlockInverseDesc>();
/// Barriers between its own dispatches inside; the caller puts one before and after.
using BoundBlockInverse = Bound<BlockInverseDesc>;
/// With less scratch than size_bytes, down to least_bytes, blocks are inverted in more windows, with the same bits.
/// Errors: n or retries out of range, damping outside its range, sizes that overflow, a configuration outside the
/// space, loops that the device does not allow.
using BlockInversePlan = Plan<BlockInverseDesc>;
inline constexpr Planner<BlockInverseDesc> plan_block_inverse;

}  // namespace yolk
