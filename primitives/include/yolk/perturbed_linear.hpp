// SPDX-License-Identifier: Apache-2.0
// perturbed_linear: y = x W^T + side * (sigma/sqrt(r)) (x B) A^T for every member of a population, and its transpose
// y = x W + side * (sigma/sqrt(r)) (x A) B^T; neither W + A B^T nor the noise is ever stored
// (docs/kernels/perturbed_linear.md). Exact: class P, one ascending chain over the inputs per output. Fast: class T.
// Its kin are perturbed_embedding.hpp and perturbed_vector.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "yolk/internal/core/typed_id.hpp"
#include "yolk/internal/primitives/activation.hpp"
#include "yolk/internal/primitives/determinism.hpp"
#include "yolk/internal/primitives/float_format.hpp"
#include "yolk/internal/primitives/operand_path.hpp"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/parameters.hpp"

namespace yolk {

/// Tuning parameters; exact, any legal configuration gives the same bits. The output is matmul's register tile, its
/// rows are instances: workgroup_size = (block_m / tile_m) * (block_n / tile_n).
struct PerturbedLinearConfig {
    std::uint32_t workgroup_size = 8;
    std::uint32_t block_m = 8;       ///< instances of a workgroup
    std::uint32_t block_n = 64;      ///< outputs of a workgroup
    std::uint32_t block_k = 4;       ///< inputs that are loaded at once
    std::uint32_t tile_m = 8;        ///< instances of an invocation
    std::uint32_t tile_n = 8;        ///< outputs of an invocation
    std::uint32_t vector_width = 1;  ///< 4: x and W are read four elements at a time where their rows allow
    std::uint32_t operand_path = kDirectOperands;  ///< how it comes to x and W
    std::uint32_t storage16 = 0;                   ///< 1: x and W of 16 bits are read one by one (path storage16)
    std::uint32_t fused = 0;                       ///< 1: one dispatch; every invocation makes its own x B
    std::uint32_t projection_workgroup = 8;        ///< of the dispatch that makes x B
    std::uint32_t projection_rows = 1;  ///< rows of each member for which one of its invocations draws B once
    /// Who makes x W^T: 0: the output's own tile; 1: matmul, a shared x once for all members; 2: likewise, on matrix
    /// units (path cooperative-matrix), x and W fp16, `Fast` only. The output then adds the perturbation to it.
    std::uint32_t base = 0;
    friend bool operator==(const PerturbedLinearConfig&, const PerturbedLinearConfig&) = default;
};

struct PerturbedLinearViews {
    BufferView weights;  ///< weights_format [out, in]
    BufferView input;    ///< input_format [rows, in] or [members, rows, in]; transposed: `out` for `in`
    BufferView output;   ///< out, fp32 [members, rows, out]; transposed: `in` for `out`
};

struct PerturbedLinearPipelines;
struct PerturbedLinearBindings;

struct PerturbedLinearDesc {
    using Config = PerturbedLinearConfig;
    using Views = PerturbedLinearViews;
    using Pipelines = std::shared_ptr<const PerturbedLinearPipelines>;
    using Bindings = std::shared_ptr<const PerturbedLinearBindings>;
    /// Members first_member ... first_member + members - 1; member -1 is the mean.
    using Call = void(const NoiseContext& when, OrDefault<std::int32_t> first_member);

    std::uint32_t members = 0;                      ///< 0 is legal
    std::uint32_t rows = 0;                         ///< of x, per member
    std::uint32_t in = 0;                           ///< columns of W
    std::uint32_t out = 0;                          ///< rows of W
    std::uint32_t rank = 1;                         ///< 1 ... 32
    ParameterId parameter{};                        ///< whose noise streams (domains A and B) perturb W
    bool shared_input = false;                      ///< x is [rows, ...] for all members, else [members, rows, ...]
    FloatFormat weights_format = FloatFormat::F32;  ///< of W; 16-bit views take whole words (float_format.hpp)
    FloatFormat input_format = FloatFormat::F32;    ///< of x; products and output are fp32 whatever it is
    bool transposed = false;  ///< x has `out` columns and the output `in`, else x has `in` and the output `out`
    bool antithetic = true;   ///< both sides of a pair share noise; false: every member has its own, pair = member
    /// Of the output, in place of a dispatch of elementwise, with its bits.
    Activation activation = Activation::Identity;
    Determinism determinism = Determinism::Exact;
    std::optional<PerturbedLinearConfig> config{};  ///< unset: the device's table, else the heuristic
};

template <>
const Operation<PerturbedLinearDesc>& operation_of<PerturbedLinearDesc>();
/// Barriers between its own dispatches inside; the caller puts one before and after.
using BoundPerturbedLinear = Bound<PerturbedLinearDesc>;
/// Scratch: x B: fp32 [members, rows, rank], none where fused; where a base of its own is shared, x W^T: fp32 [rows,
/// out] (transposed: `in`); and what its matmul wants. Errors: a rank, parameter or configuration outside its range,
/// sizes that overflow or pass the device's binding limit, chains longer than the device's loops allow. `device` must
/// outlive the plan.
using PerturbedLinearPlan = Plan<PerturbedLinearDesc>;
inline constexpr Planner<PerturbedLinearDesc> plan_perturbed_linear;

}  // namespace yolk
