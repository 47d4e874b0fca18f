// SPDX-License-Identifier: Apache-2.0
// softmax: softmax or its logarithm over the last dimension (docs/kernels/softmax.md). Class P: the order of the sum
// depends on `columns` alone.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/row_config.hpp"
#include "yolk/row_program.hpp"

namespace yolk {

struct SoftmaxViews {
    BufferView in;   ///< fp32 [members, rows, columns]
    BufferView out;  ///< out, the same shape
};

struct SoftmaxDesc {
    using Config = RowConfig;
    using Views = SoftmaxViews;
    using Params = abi::row_program::Params;
    using Bindings = RowProgramDispatch;

    std::uint32_t members = 1;  ///< 0 is legal, for each of the three
    std::uint32_t rows = 0;     ///< per member
    std::uint32_t columns = 0;
    bool logarithm = false;             ///< log_softmax
    std::optional<RowConfig> config{};  ///< unset: the device's table, else heuristic_row_config
};

template <>
const Operation<SoftmaxDesc>& operation_of<SoftmaxDesc>();
using SoftmaxPlan = Plan<SoftmaxDesc>;
using BoundSoftmax = Bound<SoftmaxDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: rows longer than the device's loops.
inline constexpr Planner<SoftmaxDesc> plan_softmax;

}  // namespace yolk
