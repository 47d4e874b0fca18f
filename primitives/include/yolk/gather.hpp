// SPDX-License-Identifier: Apache-2.0
// gather: rows of a table by their ids, for each member of a population (docs/kernels/gather.md). Class E: the bits of
// 4-byte elements are moved. Its counterpart is scatter.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"

namespace yolk::abi::gather {
struct Params;
}

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct GatherConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where columns is a multiple of 4
};

struct GatherViews {
    BufferView table;  ///< 4-byte elements [members, table_rows, columns], [table_rows, columns] where shared
    BufferView ids;    ///< uint32 [members, id_count], [id_count] where shared
    BufferView out;    ///< [members, id_count, columns]
    BufferView
        status;  ///< uint32 [1]: the ids not below table_rows are added to it, once per member; the caller zeroes it
};

struct GatherDesc {
    using Config = GatherConfig;
    using Views = GatherViews;
    using Params = abi::gather::Params;

    std::uint32_t members = 1;
    std::uint32_t table_rows = 0;  ///< 0 is legal: then every id is out of range
    std::uint32_t columns = 0;
    std::uint32_t id_count = 0;            ///< per member
    bool shared_table = false;             ///< one table for all members
    bool shared_ids = false;               ///< one list of ids for all members
    std::optional<GatherConfig> config{};  ///< unset: the device's table, else its heuristic
};

template <>
const Operation<GatherDesc>& operation_of<GatherDesc>();
using GatherPlan = Plan<GatherDesc>;
using BoundGather = Bound<GatherDesc>;
/// One dispatch, no scratch. An id out of range gives a row of zeros.
inline constexpr Planner<GatherDesc> plan_gather;

}  // namespace yolk
