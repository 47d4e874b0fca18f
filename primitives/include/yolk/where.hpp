// SPDX-License-Identifier: Apache-2.0
// where: of two operands, element by element, the one that a condition chooses (docs/kernels/where.md). Class E: the
// bits of 4-byte elements are moved.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/elementwise.hpp"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk::abi::where {
struct Params;
}

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct WhereConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where the length of every operand allows
};

struct WhereViews {
    BufferView condition;  ///< fp32, by its layout; NaN and denormal numbers are not 0
    BufferView first;      ///< 4-byte elements, by its layout: taken where the condition is not 0
    BufferView second;     ///< likewise: taken elsewhere
    BufferView out;        ///< [members, rows, columns]
};

struct WhereDesc {
    using Config = WhereConfig;
    using Views = WhereViews;
    using Params = abi::where::Params;
    /// `tail`: the elements that quads leave over.
    struct Pipelines {
        PipelineOf<Params> whole, tail;
    };
    struct Bindings {
        BindingOf<Params> whole, tail;
    };

    std::uint32_t members = 1;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    SecondOperand condition = SecondOperand::Full;  ///< how the operands lie, each by itself
    SecondOperand first = SecondOperand::Full;
    SecondOperand second = SecondOperand::Full;
    std::optional<WhereConfig> config{};  ///< unset: the device's table, else its heuristic
};

template <>
const Operation<WhereDesc>& operation_of<WhereDesc>();
using WherePlan = Plan<WhereDesc>;
using BoundWhere = Bound<WhereDesc>;
/// No scratch; a second dispatch where quads leave elements over.
inline constexpr Planner<WhereDesc> plan_where;

}  // namespace yolk
