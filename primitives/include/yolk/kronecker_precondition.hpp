// SPDX-License-Identifier: Apache-2.0
// kronecker_precondition: step[b] = S_out[b]^-1 dW[b] S_in[b]^-1, the step of K-FAC with factored damping (Martens and
// Grosse 2015, "Optimizing neural networks with Kronecker-factored approximate curvature", sections 4.2 and 6.3), for
// the blocks of a batch (docs/kernels/kronecker_precondition.md).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/matmul.hpp"

namespace yolk {

enum class KroneckerFactors {
    Covariances,  ///< S_in and S_out, damped and inverted here
    Inverses,     ///< S_in^-1 and S_out^-1; no damping, no status
};
constexpr auto enum_words(KroneckerFactors /*type*/) {
    return std::to_array<std::string_view>({"covariances", "inverses"});
}

/// Bits of a word of the status view; the BlockStatus of the two inverses follow. 0 is success.
inline constexpr std::uint32_t kKroneckerInFailed = 1U;
inline constexpr std::uint32_t kKroneckerOutFailed = 2U;
[[nodiscard]] constexpr std::uint32_t kronecker_in_status(std::uint32_t word) noexcept { return word >> 8U & 0xFFU; }
[[nodiscard]] constexpr std::uint32_t kronecker_out_status(std::uint32_t word) noexcept { return word >> 16U & 0xFFU; }

struct KroneckerPreconditionViews {
    BufferView factor_out;  ///< fp32 [blocks, n_out, n_out]: S_out, or its inverse
    BufferView factor_in;   ///< fp32 [blocks, n_in, n_in]: S_in, or its inverse
    BufferView gradient;    ///< fp32 [blocks, n_out, n_in]: dW
    BufferView step;        ///< fp32 [blocks, n_out, n_in]; zeros for a block one of whose factors failed
    BufferView status{};    ///< uint32 [blocks]; empty for KroneckerFactors::Inverses
};

struct KroneckerPreconditionPipelines;
struct KroneckerPreconditionBindings;

struct KroneckerPreconditionDesc {
    using Config = MatmulConfig;
    using Views = KroneckerPreconditionViews;
    using Pipelines = std::shared_ptr<const KroneckerPreconditionPipelines>;
    using Bindings = std::shared_ptr<const KroneckerPreconditionBindings>;
    /// `damping` is the lambda of which S_in gets pi sqrt(lambda) and S_out sqrt(lambda) / pi on its diagonal, pi^2 the
    /// mean of S_in's diagonal over that of S_out's; 0 is legal. One that is negative or not finite fails every block.
    /// Without meaning for KroneckerFactors::Inverses.
    using Call = void(float damping);

    std::uint32_t n_out = 0;  ///< rows of dW, up to 1,024; 0 is legal, for n_in and blocks, too
    std::uint32_t n_in = 0;   ///< columns of dW
    std::uint32_t blocks = 1;
    KroneckerFactors factors = KroneckerFactors::Covariances;
    std::optional<MatmulConfig> config{};  ///< of both products; unset: the device's table, else its heuristic
};

/// The space is that of its products (docs/kernels/matmul.md).
template <>
const Operation<KroneckerPreconditionDesc>& operation_of<KroneckerPreconditionDesc>();
/// Barriers between its own dispatches inside; the caller puts one before and after.
using BoundKroneckerPrecondition = Bound<KroneckerPreconditionDesc>;
/// Scratch: fp32 [blocks, n_out, n_in]; for covariances the inverses, and what block_inverse needs, besides. Errors:
/// n_in or n_out above 1,024, sizes that overflow, a configuration outside the space.
using KroneckerPreconditionPlan = Plan<KroneckerPreconditionDesc>;
inline constexpr Planner<KroneckerPreconditionDesc> plan_kronecker_precondition;

}  // namespace yolk
