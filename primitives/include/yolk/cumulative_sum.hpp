// SPDX-License-Identifier: Apache-2.0
// cumulative_sum: running sums over one dimension (docs/kernels/cumulative_sum.md). Class P: in an order that depends
// on an element's place in its row alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "yolk/internal/abi/cumulative_sum.h"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct CumulativeSumConfig {
    /// 0: invocations share a chunk of 1,024 elements, in shared memory; 1: each has a chunk of its own.
    std::uint32_t chunk_per_invocation = 0;
    std::uint32_t chunks_per_workgroup = 1;  ///< 1, 2, 4; with chunk_per_invocation also 8, 16, ... 256
    /// How many share a chunk: 32, 64, 128, 256, in workgroups of at most 256; 32 with chunk_per_invocation.
    std::uint32_t lanes_per_chunk = 128;
};

struct CumulativeSumViews {
    BufferView in;   ///< fp32 [outer, columns, inner]
    BufferView out;  ///< out, the same
};

/// A dispatch of a bound plan, with a barrier between one and the next.
struct CumulativeSumStep {
    BindingOf<abi::cumulative_sum::Params> binding;
    abi::cumulative_sum::Params params;
    LinearGrid grid;
};

/// out[o, i, j] = in[o, 0, j] + ... + in[o, i, j]; inner 1 sums along the last dimension.
struct CumulativeSumDesc {
    using Config = CumulativeSumConfig;
    using Views = CumulativeSumViews;
    using Params = abi::cumulative_sum::Params;
    struct Pipelines {
        PipelineOf<Params> chunks, add;
    };
    using Bindings = std::vector<CumulativeSumStep>;

    std::uint32_t outer = 0;  ///< 0 is legal
    std::uint32_t columns = 0;
    std::uint32_t inner = 1;
    std::optional<CumulativeSumConfig> config{};  ///< unset: the device's table, else its heuristic
};

template <>
const Operation<CumulativeSumDesc>& operation_of<CumulativeSumDesc>();
using CumulativeSumPlan = Plan<CumulativeSumDesc>;
using BoundCumulativeSum = Bound<CumulativeSumDesc>;
/// One dispatch and no scratch up to 1,024 columns, three up to 1,048,576, five beyond; scratch has a number for every
/// 1,024 elements.
inline constexpr Planner<CumulativeSumDesc> plan_cumulative_sum;

}  // namespace yolk
