// SPDX-License-Identifier: Apache-2.0
// row_program: programs that reduce along rows, with operations on elements before, between and behind the reductions,
// as one kernel that is made for it at run time (docs/kernels/row_program.md, docs/adr/0068). softmax, normalize and
// reduce are such programs. Class P: the order of a sum depends on `columns` alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/abi/row_program.h"
#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/row_config.hpp"

namespace yolk {

/// Operations of steps besides those on elements. Those before Sum are cheaper than operations on elements. Their
/// results must not be denormal, and Result or a reduction must follow where one may be NaN. Domains and errors:
/// docs/kernels/row_program.md.
enum class RowOperation : std::uint32_t {
    Operand,      ///< the operand, 0 where it is below 2^-40 in size
    Result,       ///< the operand, 0 where it is below 2^-100 in size, one NaN for all
    Exponential,  ///< as ElementwiseOperation::Exp, of numbers
    Reciprocal,   ///< 1 / x for x from 2^-100 to 2^100 in size, a relative error of at most 1.3e-7
    InverseSqrt,  ///< 1 / sqrt(x) for x from 2^-100 to 2^100; NaN above
    Difference,   ///< first - second; two operands, from here on
    Product,      ///< first * second
    Total,        ///< first + second
    Sum,          ///< of a row, and so are those below; in 32 chains (shaders/lib/rows.glsl)
    Max,          ///< NaN where there is one
    Min,          ///< likewise
    Argmax,       ///< uint32: the lowest index of the maximum, or of the first NaN; the last step only
};
constexpr auto enum_words(RowOperation /*type*/) {
    return std::to_array<std::string_view>({"operand", "result", "exponential", "reciprocal", "inverse_sqrt",
                                            "difference", "product", "total", "sum", "max", "min", "argmax"});
}
[[nodiscard]] constexpr bool is_reduction(RowOperation operation) noexcept { return operation >= RowOperation::Sum; }
/// 1 or 2.
[[nodiscard]] constexpr std::uint32_t operand_count(RowOperation operation) noexcept {
    return operation >= RowOperation::Difference && operation < RowOperation::Sum ? 2 : 1;
}

struct RowStep {
    std::variant<ElementwiseOperation, RowOperation> operation{};
    /// Values: the inputs are 0 and so on, the numbers follow, then the steps' results.
    std::vector<std::uint32_t> operands{};
};
/// Whether the step makes one value of a row.
[[nodiscard]] bool is_reduction(const RowStep& step) noexcept;
/// About what a step computes for an element, as multiply-adds.
[[nodiscard]] std::uint64_t cost_of(const RowStep& step) noexcept;

struct RowProgramViews {
    std::span<const BufferView> inputs;  ///< 4-byte elements
    BufferView out;                      ///< likewise; no input
};

struct RowProgramDispatch {
    BindingsOf<abi::row_program::Params> binding;
    abi::row_program::Params params{};
    LinearGrid grid{};
};

struct RowProgramDesc {
    using Config = RowConfig;
    using Views = RowProgramViews;
    using Params = abi::row_program::Params;
    using Bindings = RowProgramDispatch;

    std::vector<std::uint32_t> extents{};  ///< outermost first
    std::uint32_t row = 0;                 ///< rows lie along this dimension
    /// Of each input which dimensions it has: bit d is that of extents[d]. It is repeated along the others.
    std::vector<std::uint32_t> inputs{};
    /// Values that all elements share, at most abi::row_program::kMostNumbers. One kernel serves all numbers.
    std::vector<float> numbers{};
    /// At least one; at most abi::row_program::kMostReductions are reductions. The last one's result is the output: of
    /// all extents where it varies along the row, else of all but the row's.
    std::vector<RowStep> steps{};
    std::optional<RowConfig> config{};  ///< unset: the device's table, else the heuristic
};

/// For each value (the inputs, the numbers, the steps) whether it varies along the row. Operands must be values that
/// exist.
[[nodiscard]] std::vector<bool> varies_along_row(const RowProgramDesc& desc);

/// False if the inputs lie in more ways than a kernel can tell apart, abi::row_program::kMostRuns runs of dimensions.
[[nodiscard]] bool has_few_runs(const RowProgramDesc& desc);

template <>
const Operation<RowProgramDesc>& operation_of<RowProgramDesc>();
using RowProgramPlan = Plan<RowProgramDesc>;
using BoundRowProgram = Bound<RowProgramDesc>;
/// One dispatch, no scratch. Errors: a description that is not valid, rows longer than the device's loops, sizes that
/// overflow or pass the device's binding limit, a driver that refuses the kernel.
inline constexpr Planner<RowProgramDesc> plan_row_program;

}  // namespace yolk
