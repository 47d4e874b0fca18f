// SPDX-License-Identifier: Apache-2.0
// concat and split: parts side by side along one dimension, and apart again (docs/kernels/concat.md). Class E: the bits
// of 4-byte elements are moved.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/internal/abi/concat.h"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct ConcatConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where every part's extent * inner is a multiple of 4
};

/// [members, outer, extent, inner]; a shared part [outer, extent, inner] goes to every member.
struct ConcatPart {
    std::uint32_t extent = 0;  ///< along the dimension; 0 is legal
    bool shared = false;       ///< of concat only
};

struct ConcatViews {
    BufferView whole;                   ///< written by concat, read by split
    std::span<const BufferView> parts;  ///< in the order of the description; empty views for extents of 0
};

/// A dispatch per part that is not empty. No barrier between them: they write different elements.
struct ConcatCopy {
    BindingOf<abi::concat::Params> binding;
    abi::concat::Params params;
    LinearGrid grid;
};

/// The whole is [members, outer, sum of the extents, inner]: `outer` is the product of the dimensions before the one
/// that is joined, `inner` of those after it.
struct ConcatDesc {
    using Config = ConcatConfig;
    using Views = ConcatViews;
    using Params = abi::concat::Params;
    using Bindings = std::vector<ConcatCopy>;

    std::uint32_t members = 1;
    std::uint32_t outer = 1;
    std::uint32_t inner = 1;
    std::vector<ConcatPart> parts{};       ///< at least one; one dispatch each
    bool split = false;                    ///< as plan_split sets it: parts are written, the whole is read
    std::optional<ConcatConfig> config{};  ///< unset: the device's table, else the heuristic
};

/// Its heuristic: four elements per load where the space has it; on CPU drivers large workgroups and several loads
/// where there are many.
template <>
const Operation<ConcatDesc>& operation_of<ConcatDesc>();
using BoundConcat = Bound<ConcatDesc>;
/// Errors: no parts, a shared part of a split, a configuration outside its space, sizes that overflow or pass the
/// device's binding limit.
using ConcatPlan = Plan<ConcatDesc>;
/// Joins parts to a whole.
inline constexpr Planner<ConcatDesc> plan_concat;
/// Takes a whole apart.
[[nodiscard]] inline Result<ConcatPlan> plan_split(const Device& device, ConcatDesc desc) {
    desc.split = true;
    return plan_concat(device, desc);
}

}  // namespace yolk
