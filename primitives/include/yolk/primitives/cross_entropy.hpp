// SPDX-License-Identifier: Apache-2.0
// cross_entropy: the loss of each example, log sum exp(logits) - logits[target] (docs/kernels/cross_entropy.md). Class
// P: the order of the sum depends on `columns` alone.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/cross_entropy.h"
#include "yolk/primitives/operation.hpp"
#include "yolk/primitives/row_config.hpp"

namespace yolk {

struct CrossEntropyViews {
    BufferView logits;   ///< fp32 [members, rows, columns]
    BufferView targets;  ///< u32 [rows] or [members, rows]
    BufferView losses;   ///< out, fp32 [members, rows]; NaN where the target is not below `columns`
    BufferView status;   ///< in and out, u32 [1]: such targets are added to it; the caller clears it
};

struct CrossEntropyDesc {
    using Config = RowConfig;
    using Views = CrossEntropyViews;
    using Params = abi::cross_entropy::Params;

    std::uint32_t members = 1;          ///< 0 is legal
    std::uint32_t rows = 0;             ///< examples per member; 0 is legal
    std::uint32_t columns = 1;          ///< classes, at least 1
    bool shared_targets = false;        ///< targets are [rows] for all members, else [members, rows]
    std::optional<RowConfig> config{};  ///< unset: the device's table, else heuristic_row_config
};

template <>
const Operation<CrossEntropyDesc>& operation_of<CrossEntropyDesc>();
using CrossEntropyPlan = Plan<CrossEntropyDesc>;
using BoundCrossEntropy = Bound<CrossEntropyDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: no columns, rows longer than the device's loops.
inline constexpr Planner<CrossEntropyDesc> plan_cross_entropy;

}  // namespace yolk
