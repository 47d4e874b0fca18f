// SPDX-License-Identifier: Apache-2.0
// reduce: sum, mean, maximum, its place or minimum over one dimension (docs/kernels/reduce.md). Class P: sums in an
// order that depends on `columns` alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/row_config.hpp"
#include "yolk/row_program.hpp"

namespace yolk {

enum class ReduceOperation : std::uint32_t {
    Sum,
    Mean,
    Max,     ///< NaN where there is one
    Argmax,  ///< the lowest index of the maximum, or of the first NaN
    Min,     ///< NaN where there is one
};
constexpr auto enum_words(ReduceOperation /*type*/) {
    return std::to_array<std::string_view>({"sum", "mean", "max", "argmax", "min"});
}

struct ReduceViews {
    BufferView in;   ///< fp32 [outer, columns, inner]
    BufferView out;  ///< out, [outer, inner]: fp32, or u32 for Argmax
};

/// out[o, j] over in[o, i, j], i below `columns`; inner 1 reduces the last dimension.
struct ReduceDesc {
    using Config = RowConfig;
    using Views = ReduceViews;
    using Params = abi::row_program::Params;
    using Bindings = RowProgramDispatch;

    ReduceOperation operation = ReduceOperation::Sum;
    std::uint32_t outer = 0;            ///< 0 is legal
    std::uint32_t columns = 1;          ///< at least 1
    std::uint32_t inner = 1;            ///< 0 is legal
    std::optional<RowConfig> config{};  ///< unset: the device's table, else heuristic_row_config
};

template <>
const Operation<ReduceDesc>& operation_of<ReduceDesc>();
using ReducePlan = Plan<ReduceDesc>;
using BoundReduce = Bound<ReduceDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: no columns, rows longer than the device's loops.
inline constexpr Planner<ReduceDesc> plan_reduce;

}  // namespace yolk
