// SPDX-License-Identifier: Apache-2.0
// scatter: rows into a target by their ids, for each member of a population (docs/kernels/scatter.md). Deterministic
// where ids repeat: they count in their order. Class E (assign) and P (add).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "yolk/internal/abi/scatter.h"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

enum class ScatterMode : std::uint32_t {
    Assign = abi::scatter::kModeAssign,  ///< the last of equal ids stays
    Add = abi::scatter::kModeAdd,        ///< one chain of fp32 additions, from the target's value on
};
constexpr auto enum_words(ScatterMode /*type*/) { return std::to_array<std::string_view>({"assign", "add"}); }

/// Tuning parameters; any valid configuration gives the same bytes.
struct ScatterConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t by_row = 0;             ///< 1: a workgroup for each row of a target; 0: an invocation for each column
    std::uint32_t elements_per_load = 1;  ///< 4 where columns is a multiple of 4; 1 by row
    std::uint32_t ids_per_dispatch = 4096;  ///< at most; fewer where the device's loop limit asks for it
};

struct ScatterViews {
    BufferView target;  ///< 4-byte elements (Add: fp32) [members, target_rows, columns], in place
    BufferView ids;     ///< uint32 [members, id_count], [id_count] where shared
    BufferView values;  ///< [members, id_count, columns], [id_count, columns] where shared
    BufferView
        status;  ///< uint32 [1]: ids not below target_rows are added to it, once per member; the caller zeroes it
};

struct ScatterDesc {
    using Config = ScatterConfig;
    using Views = ScatterViews;
    using Params = abi::scatter::Params;
    /// `chunk`: ids of a dispatch.
    struct Pipelines {
        std::uint32_t chunk = 0;
        PipelineOf<Params> pipeline;
    };
    struct Bindings {
        std::uint32_t chunk = 0;
        BindingOf<Params> binding;
    };

    std::uint32_t members = 1;
    std::uint32_t target_rows = 0;  ///< 0 is legal: then every id is out of range
    std::uint32_t columns = 0;
    std::uint32_t id_count = 0;  ///< per member
    ScatterMode mode = ScatterMode::Assign;
    bool shared_ids = false;                ///< one list of ids for all members
    bool shared_values = false;             ///< one array of values for all members
    std::optional<ScatterConfig> config{};  ///< unset: the device's table, else its heuristic
};

template <>
const Operation<ScatterDesc>& operation_of<ScatterDesc>();
using ScatterPlan = Plan<ScatterDesc>;
using BoundScatter = Bound<ScatterDesc>;
/// No scratch; several dispatches with barriers between them where there are many ids.
inline constexpr Planner<ScatterDesc> plan_scatter;

}  // namespace yolk
