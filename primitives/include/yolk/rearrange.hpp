// SPDX-License-Identifier: Apache-2.0
// rearrange: broadcasting, permuting, slicing and padding, alone or together (docs/kernels/rearrange.md). Class E: the
// bits of 4-byte elements are moved.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "yolk/internal/abi/rearrange.h"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct RearrangeConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where the output's rows are multiples of 4, after merging
    /// Of matrices that the output has transposed: a workgroup moves a tile of the source's. 0: element by element.
    std::uint32_t tile_rows = 0;
    std::uint32_t tile_columns = 0;  ///< likewise
    std::uint32_t staged = 0;        ///< 1: tiles go through shared memory; 0: they are read across the source's rows
    std::uint32_t padding = 0;       ///< words after each row of a staged tile, against bank conflicts
};

/// Index i below `extent` comes from the source's index start + step i, which is `stride` elements further for each;
/// where that is outside of 0 ... source_extent - 1, from the fill.
struct RearrangeDimension {
    std::uint32_t extent = 1;         ///< of the output; 0 is legal
    std::uint32_t source_extent = 1;  ///< below 2^31
    std::int32_t start = 0;
    std::int32_t step = 1;     ///< 0 repeats, -1 reverses
    std::uint32_t stride = 1;  ///< of the source, in elements
};
inline constexpr std::size_t kRearrangeDimensions = 5;

struct RearrangeViews {
    BufferView source;  ///< 4-byte elements [members, source_elements], [source_elements] where shared
    BufferView out;     ///< [members, extents of the dimensions]
};

/// Of a bound plan: how the kernel goes over the dimensions is worked out before anything is recorded.
struct RearrangeDispatch {
    BindingOf<abi::rearrange::Params> binding;
    abi::rearrange::Params params;
};

struct RearrangeDesc {
    using Config = RearrangeConfig;
    using Views = RearrangeViews;
    using Params = abi::rearrange::Params;
    using Bindings = RearrangeDispatch;

    std::uint32_t members = 1;
    std::vector<RearrangeDimension> dimensions{};  ///< 1 to 5, outermost first
    std::uint32_t source_elements = 0;             ///< per member; 0 where all of the output is fill
    bool shared_source = false;                    ///< one source for all members
    float fill = 0.0F;
    std::optional<RearrangeConfig> config{};  ///< unset: the device's table, else its heuristic
};

/// Dimensions that copy a row-major source of these extents, to be changed: a slice sets extent, start and step,
/// padding extent and a negative start, a broadcast extent and step 0; a permutation is another order of them: of
/// {rows, columns} with both swapped, out is the transposed matrix. At most 5.
[[nodiscard]] std::vector<RearrangeDimension> row_major_dimensions(const std::vector<std::uint32_t>& extents);

template <>
const Operation<RearrangeDesc>& operation_of<RearrangeDesc>();
using RearrangePlan = Plan<RearrangeDesc>;
using BoundRearrange = Bound<RearrangeDesc>;
/// One dispatch, no scratch. Errors besides those of every plan: no or more than 5 dimensions, indices of the source
/// beyond 31 bits, indices within all extents that lie beyond source_elements.
inline constexpr Planner<RearrangeDesc> plan_rearrange;

}  // namespace yolk
