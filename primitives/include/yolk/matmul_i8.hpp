// SPDX-License-Identifier: Apache-2.0
// matmul_i8: out[z, i, j] = sum over k of a[z, i, k] b[z, j, k], signed bytes in, int32 out
// (docs/kernels/matmul_i8.md). Class E: the same integers on every device, by dot-product instructions and without.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/matmul.hpp"

namespace yolk {

/// The largest k: (2^31 - 1) / 2^14 products, so that no sum overflows.
inline constexpr std::uint32_t kMaxI8Depth = 131071;

/// What multiplies.
enum I8Dot : std::uint32_t {
    kI8Unpacked = 0,
    kI8Instruction = 1,         ///< the dot-product instruction (path int8-dot)
    kI8OnMatrixUnits = 2,       ///< matrix units (path cooperative-int8), operands through shared memory
    kI8OnMatrixUnitsTwice = 3,  ///< likewise, in two blocks that alternate: one barrier for each instead of two
};

/// Tuning parameters; any valid configuration gives the same bytes. On matrix units `lanes_n` counts subgroups, and
/// tiles fragments of a subgroup.
struct MatmulI8Config {
    std::uint32_t workgroup_size = 64;
    std::uint32_t lanes_n = 8;  ///< invocations side by side along n; divides workgroup_size
    std::uint32_t tile_m = 4;   ///< rows of an invocation
    std::uint32_t tile_n = 4;   ///< columns of an invocation
    std::uint32_t dot = kI8Unpacked;
    friend bool operator==(const MatmulI8Config&, const MatmulI8Config&) = default;
};

/// Where the rows of a matrix lie in its view. All in elements.
struct RowsLayout {
    std::uint32_t offset = 0;             ///< of the first element
    std::uint32_t stride = kDense;        ///< from row to row; at least a row's length
    std::uint32_t batch_stride = kDense;  ///< from matrix to matrix; 0: all of the batch read the same one
};

struct MatmulI8Views {
    BufferView a;    ///< whole words: a row's last word may hold bytes that are no elements, and do not count
    BufferView b;    ///< likewise
    BufferView out;  ///< int32
};

struct MatmulI8Pipelines;
struct MatmulI8Bindings;

struct MatmulI8Desc {
    using Config = MatmulI8Config;
    using Views = MatmulI8Views;
    using Pipelines = std::shared_ptr<const MatmulI8Pipelines>;
    using Bindings = std::shared_ptr<const MatmulI8Bindings>;

    std::uint32_t m = 0;  ///< rows of a and out; 0 is legal, for n and batch, too
    std::uint32_t n = 0;  ///< rows of b, columns of out
    std::uint32_t k = 0;  ///< elements of a's and b's rows, at most kMaxI8Depth; 0 gives zeros
    std::uint32_t batch = 1;
    RowsLayout a{};    ///< [m, k]; offset and strides are multiples of 4, a dense row is k rounded up to one
    RowsLayout b{};    ///< [n, k], likewise: what a layer's weights [out, in] are
    RowsLayout out{};  ///< [m, n] of int32; rows and matrices do not overlap
    std::optional<MatmulI8Config> config{};  ///< unset: the device's table, else the heuristic
};

/// `dot` of its space is open where the paths int8-dot and cooperative-int8 are; its heuristic takes matrix units for
/// large products on GPUs, and the instruction where the driver says that it is faster.
template <>
const Operation<MatmulI8Desc>& operation_of<MatmulI8Desc>();
/// One dispatch, no barrier.
using BoundMatmulI8 = Bound<MatmulI8Desc>;
/// Errors: k above kMaxI8Depth, a stride below a row's length, offsets or strides of a or b that are no multiples of 4,
/// rows or matrices of out that overlap, sizes that overflow or pass the device's binding limit, a configuration
/// outside the space, loops longer than the device's allow.
using MatmulI8Plan = Plan<MatmulI8Desc>;
inline constexpr Planner<MatmulI8Desc> plan_matmul_i8;

}  // namespace yolk
