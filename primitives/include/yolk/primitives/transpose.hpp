// SPDX-License-Identifier: Apache-2.0
// transpose: out[m, c, r] = source[m, r, c] for each member of a population (docs/kernels/transpose.md). Class E: the
// bits of 4-byte elements are moved.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/transpose.h"
#include "yolk/primitives/operation.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct TransposeConfig {
    std::uint32_t workgroup_size = 256;
    std::uint32_t tile_rows = 32;     ///< of the source
    std::uint32_t tile_columns = 32;  ///< likewise
    std::uint32_t staged = 1;         ///< 1: through shared memory; 0: read across the source's rows
    std::uint32_t padding = 1;        ///< words after each row of a staged tile, against bank conflicts
};

struct TransposeViews {
    BufferView source;  ///< 4-byte elements [members, rows, columns]
    BufferView out;     ///< [members, columns, rows]
};

struct TransposeDesc {
    using Config = TransposeConfig;
    using Views = TransposeViews;
    using Params = abi::transpose::Params;

    std::uint32_t members = 1;
    std::uint32_t rows = 0;  ///< of the source; 0 is legal
    std::uint32_t columns = 0;
    std::optional<TransposeConfig> config{};  ///< unset: the device's table, else its heuristic
};

template <>
const Operation<TransposeDesc>& operation_of<TransposeDesc>();
using TransposePlan = Plan<TransposeDesc>;
using BoundTranspose = Bound<TransposeDesc>;
/// One dispatch, no scratch.
inline constexpr Planner<TransposeDesc> plan_transpose;

}  // namespace yolk
