// SPDX-License-Identifier: Apache-2.0
// matmul: out[z] = epilogue(op(a[z]) op(b[z])) for the matrices z of a batch (docs/kernels/matmul.md). Exact: class P,
// one ascending chain over k per output. Fast: class T.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "yolk/internal/primitives/activation.hpp"
#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/internal/primitives/float_format.hpp"
#include "yolk/internal/primitives/operand_path.hpp"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

/// Tuning parameters. workgroup_size = (block_m / tile_m) * (block_n / tile_n); on matrix units whole subgroups.
struct MatmulConfig {
    std::uint32_t workgroup_size = 8;
    std::uint32_t block_m = 8;       ///< rows of a workgroup
    std::uint32_t block_n = 64;      ///< columns of a workgroup
    std::uint32_t block_k = 4;       ///< k that are loaded (or staged) at once
    std::uint32_t tile_m = 8;        ///< rows of an invocation
    std::uint32_t tile_n = 8;        ///< columns of an invocation, in groups of four neighbours
    std::uint32_t vector_width = 4;  ///< 4: operands are read four elements at a time where their layout allows
    std::uint32_t operand_path = kDirectOperands;
    std::uint32_t storage16 = 0;  ///< 1: 16-bit operands are read one by one (path storage16), not by the word
    std::uint32_t split_k = 1;    ///< pieces of k that are summed apart and added in order; above 1 `Fast` only
    friend bool operator==(const MatmulConfig&, const MatmulConfig&) = default;
};

/// Stands for the stride that rows, or matrices, have when they lie one behind the other.
inline constexpr std::uint32_t kDense = std::numeric_limits<std::uint32_t>::max();

/// Where the elements of a matrix lie in its view. All in elements.
struct MatrixLayout {
    bool transposed = false;              ///< stored as its transpose
    std::uint32_t offset = 0;             ///< of the first element
    std::uint32_t stride = kDense;        ///< from row to row as stored; at least a row's length
    std::uint32_t batch_stride = kDense;  ///< from matrix to matrix; 0: all of the batch read the same one
    std::uint32_t inner_stride =
        kDense;  ///< the same within MatmulDesc::inner_batch matrices; theirs is then the above
    /// Of a, b and out. Sums are fp32 whatever it is; an out of 16 bits is dense, begins the view, and is rounded from
    /// them (yolk/convert.hpp). 16-bit views take whole words of four bytes.
    FloatFormat format = FloatFormat::F32;
};

struct MatmulViews {
    BufferView a;
    BufferView b;
    BufferView out;
    BufferView bias{};      ///< where has_bias
    BufferView residual{};  ///< where has_residual
};

struct MatmulPipelines;
struct MatmulBindings;

struct MatmulDesc {
    using Config = MatmulConfig;
    using Views = MatmulViews;
    using Pipelines = std::shared_ptr<const MatmulPipelines>;
    using Bindings = std::shared_ptr<const MatmulBindings>;

    std::uint32_t m = 0;  ///< rows of op(a) and out; 0 is legal, for n and batch, too
    std::uint32_t n = 0;  ///< columns of op(b) and out
    std::uint32_t k = 0;  ///< columns of op(a), rows of op(b); 0 gives the epilogue of zeros
    std::uint32_t batch = 1;
    /// Matrix z lies z / inner_batch batch strides and z % inner_batch inner strides behind the first: the heads of a
    /// layer lie in the columns of one matrix. It divides batch.
    std::uint32_t inner_batch = 1;
    MatrixLayout a{};         ///< op(a) is [m, k]
    MatrixLayout b{};         ///< op(b) is [k, n]
    MatrixLayout out{};       ///< [m, n]; never transposed, and its rows and matrices do not overlap
    MatrixLayout residual{};  ///< [m, n]; never transposed
    std::uint32_t bias_offset = 0;
    bool bias_per_matrix = false;                  ///< bias is [batch, n], else [n]
    bool has_bias = false;                         ///< added to each sum ...
    Activation activation = Activation::Identity;  ///< ... then this ...
    bool has_residual = false;                     ///< ... then the residual is added
    Determinism determinism = Determinism::Fast;
    std::optional<MatmulConfig> config{};  ///< unset: the device's table, else the heuristic
};

/// Its heuristic: barrier-free register tiles on CPU drivers, staged ones elsewhere.
template <>
const Operation<MatmulDesc>& operation_of<MatmulDesc>();
/// Barriers between its own dispatches inside; the caller puts one before and after.
using BoundMatmul = Bound<MatmulDesc>;
/// Scratch: split_k above 1: fp32 [split_k, batch, m, n]; out of 16 bits: fp32 [batch, m, n]. Errors: a stride below a
/// row's length, rows or matrices of out that overlap, an inner_batch that does not divide the batch, sizes that
/// overflow or pass the device's binding limit, a configuration outside the space, chains longer than the device's
/// loops allow.
using MatmulPlan = Plan<MatmulDesc>;
inline constexpr Planner<MatmulDesc> plan_matmul;

}  // namespace yolk
