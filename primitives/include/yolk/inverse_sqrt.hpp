// SPDX-License-Identifier: Apache-2.0
// inverse_sqrt: out[b] = (A[b] + damping trace(A[b])/n I)^-1/2 for symmetric positive definite blocks, by the coupled
// Newton-Schulz iteration (Higham 2008, Functions of Matrices, equation 6.35), with a convergence test on the device
// (docs/kernels/inverse_sqrt.md). Class P.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/matmul.hpp"

namespace yolk {

enum class InverseSqrtStatus : std::uint32_t {
    Converged = 0,
    NotConverged =
        1,            ///< out is the last iterate, the residual that of the one before: too few iterations, or singular
    NotFinite = 2,    ///< a number that is none, or norms of 2^100 and more; out is zeros
    NotPositive = 3,  ///< an eigenvalue below zero, or a norm below 2^-100; out is zeros
};

/// Of a word of the status view.
[[nodiscard]] constexpr InverseSqrtStatus inverse_sqrt_status(std::uint32_t word) noexcept {
    return static_cast<InverseSqrtStatus>(word & 0xFFU);
}
[[nodiscard]] constexpr std::uint32_t inverse_sqrt_iterations(std::uint32_t word) noexcept { return word >> 8U; }

struct InverseSqrtViews {
    BufferView in;      ///< fp32 [blocks, n, n]
    BufferView out;     ///< fp32 [blocks, n, n], symmetric bits
    BufferView status;  ///< uint32 [blocks]: InverseSqrtStatus | iterations << 8
    BufferView
        residual;  ///< fp32 [blocks]: ||Z Y - I||_F / sqrt(n) before the last iteration; infinity where NotFinite
};

struct InverseSqrtPipelines;
struct InverseSqrtBindings;

struct InverseSqrtDesc {
    using Config = MatmulConfig;
    using Views = InverseSqrtViews;
    using Pipelines = std::shared_ptr<const InverseSqrtPipelines>;
    using Bindings = std::shared_ptr<const InverseSqrtBindings>;

    std::uint32_t n = 0;  ///< up to 1,024; 0 is legal, for blocks, too
    std::uint32_t blocks = 1;
    float damping = 0.0F;  ///< 0, or from 2^-40 to 2^40; times the mean of the block's diagonal
    /// 1 ... 256. All of them are recorded; those of a block that has converged leave it alone. A condition number of
    /// 1e4 takes 17, 1e6 22, and 1e8, where no digit is left in fp32, 28: with the default such blocks are
    /// NotConverged.
    std::uint32_t max_iterations = 26;
    float tolerance = 0x1p-10F;  ///< 2^-20 ... 1/4, of the residual before the last iteration, which squares it
    std::optional<MatmulConfig> config{};  ///< of the products; unset: the device's table, else its heuristic
};

/// The space is that of its products (docs/kernels/matmul.md).
template <>
const Operation<InverseSqrtDesc>& operation_of<InverseSqrtDesc>();
/// Barriers between its own dispatches inside; the caller puts one before and after.
using BoundInverseSqrt = Bound<InverseSqrtDesc>;
/// Scratch: five times fp32 [blocks, n, n], and a little. Errors: n above 1,024; damping, tolerance or max_iterations
/// outside their ranges; sizes that overflow; a configuration outside the space.
using InverseSqrtPlan = Plan<InverseSqrtDesc>;
inline constexpr Planner<InverseSqrtDesc> plan_inverse_sqrt;

}  // namespace yolk
