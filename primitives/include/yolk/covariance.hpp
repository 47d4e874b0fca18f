// SPDX-License-Identifier: Apache-2.0
// covariance: C[b] = X[b]^T X[b] / samples for the blocks of a batch, as it is or as a running average, and the same
// with damping on the diagonal (docs/kernels/covariance.md). Class P; the bits are symmetric.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/matmul.hpp"

namespace yolk {

enum class CovarianceDamping {
    None,
    Relative,  ///< damping times the mean of C's diagonal is added to the diagonal
    Absolute,  ///< damping itself is
};
constexpr auto enum_words(CovarianceDamping /*type*/) {
    return std::to_array<std::string_view>({"none", "relative", "absolute"});
}

struct CovarianceViews {
    BufferView x;           ///< fp32 [blocks, samples, n], laid out as the description says
    BufferView covariance;  ///< fp32 [blocks, n, n], without damping; with `average` read, too
    BufferView damped{};    ///< fp32 [blocks, n, n]: covariance with damping; empty for CovarianceDamping::None
    BufferView left_out{};  ///< uint32 [blocks], out: with `reports_left_out`, 1 where X was left out of the average
};

struct CovariancePipelines;
struct CovarianceBindings;

struct CovarianceDesc {
    using Config = MatmulConfig;
    using Views = CovarianceViews;
    using Pipelines = std::shared_ptr<const CovariancePipelines>;
    using Bindings = std::shared_ptr<const CovarianceBindings>;
    /// With `average`: `first` takes C for the average and does not read what was there. A block of X whose sum of
    /// squares is not finite is left out of an average: the old one stays, or zeros with `first`.
    using Call = void(OrDefault<bool> first);

    std::uint32_t n = 0;        ///< columns of a block of X, up to 1,024; 0 is legal, for blocks, too
    std::uint32_t samples = 0;  ///< rows; of none C is zero, and a running average stays what it is
    std::uint32_t blocks = 1;
    std::uint32_t offset = 0;             ///< of X's first element in its view; all in elements
    std::uint32_t stride = kDense;        ///< from row to row of X, at least n
    std::uint32_t block_stride = kDense;  ///< from block to block of X; 0: all are the same
    bool average = false;                 ///< C = decay C + (1 - decay) X^T X / samples
    float decay = 0.95F;                  ///< at least 0, below 1
    bool reports_left_out = false;        ///< with `average`
    CovarianceDamping damping_kind = CovarianceDamping::None;
    float damping = 0.0F;                  ///< 0, or from 2^-40 to 2^40
    std::optional<MatmulConfig> config{};  ///< of the product; unset: the device's table, else its heuristic
};

/// The space is that of its product (docs/kernels/matmul.md).
template <>
const Operation<CovarianceDesc>& operation_of<CovarianceDesc>();
/// Barriers between its own dispatches inside; the caller puts one before and after.
using BoundCovariance = Bound<CovarianceDesc>;
/// Scratch: fp32 [blocks, n, n] and fp32 [blocks] with `average`, fp32 [blocks] for relative damping. Errors: n above
/// 1,024, a stride below n, a decay or damping outside its range, sizes that overflow, a configuration outside the
/// space.
using CovariancePlan = Plan<CovarianceDesc>;
inline constexpr Planner<CovarianceDesc> plan_covariance;

}  // namespace yolk
