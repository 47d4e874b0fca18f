// SPDX-License-Identifier: Apache-2.0
// One rule per tensor operation: whether it has kernels for these operands, and which.
#pragma once

#include <span>
#include <string>

#include "emitter.hpp"
#include "equations.hpp"
#include "fusion.hpp"
#include "placement.hpp"
#include "yolk/normalize.hpp"

namespace yolk::hyper::population {

struct Rule {
    /// Why it must run on the host; empty where it lowers. Kinds and empty tensors are checked before.
    std::string (*refuses)(const Equation& equation, std::span<const Operand> operands,
                           std::span<const Source> sources);
    /// Steps whose results are the equation's, each [members, examples or 1, elements].
    void (*emit)(Emitter& emitter, const Equation& equation, std::span<const Operand> operands);
    bool takes_words = false;  ///< operands may be uint32; for other rules they are converted to fp32
    bool gives_words = false;
    bool keeps_words = false;  ///< of one operand: what it moves stays uint32
};

/// nullptr: the host only.
[[nodiscard]] const Rule* rule_of(const Operation* operation);

/// Of a tensor: the product of all extents but the last, and the last; 1 and 1 of a scalar.
struct RowsColumns {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
};
[[nodiscard]] RowsColumns rows_columns(const Shape& shape);
/// The attributes of an equation of kNormalize.
struct Normalization {
    NormalizeRule rule = NormalizeRule::Layer;
    float epsilon = 0.0F;
};
[[nodiscard]] Normalization normalization_of(const Equation& equation);
/// Refuses operands that are the whole of a drawn matrix which is too large to be formed for each candidate.
[[nodiscard]] std::string refuses_matrices(const Equation& equation, std::span<const Operand> operands,
                                           std::span<const Source> sources);
/// Refuses rearrangements of more dimensions than the kernel knows.
[[nodiscard]] std::string refuses_dimensions(const Rearrangement& rearrangement);
/// Refuses ids that are not known to be whole numbers below `extent`: only the host can refuse one that is not.
[[nodiscard]] std::string refuses_ids(const Operand& ids, std::uint64_t extent);
/// Whether a kernel draws the noise of this operand where it is a drawn matrix; other equations are given the sum.
[[nodiscard]] bool draws_noise_of(const Equation& equation, std::size_t operand);
[[nodiscard]] bool is_drawn_matrix(const Operand& operand, std::span<const Source> sources);
/// (weight [out, in], x) -> x W^T, or x W where it is transposed, with the activation that was fused into it. A weight
/// that is drawn is never formed.
void emit_product(Emitter& emitter, const Fused& fused, std::span<const Operand> operands, bool transposed);
/// The same of an equation linear or linear_transposed.
void emit_layer(Emitter& emitter, const Equation& equation, std::span<const Operand> operands, const Fused& fused);

// The rules' files.
extern const Rule kElementwise, kLinear, kLinearTransposed, kEmbedding, kMatmul, kSoftmax, kReduce, kArgmax, kNormalize,
    kCumulativeSum, kConcat, kSplit, kReshape, kRearrange, kPad, kGather, kScatter;

}  // namespace yolk::hyper::population
