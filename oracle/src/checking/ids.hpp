// SPDX-License-Identifier: Apache-2.0
// What the cases of gather and scatter share.
#pragma once

#include <cstdint>
#include <vector>

#include "check_tools.hpp"

namespace yolk::oracle {

/// What the status holds before a case runs: counts are added to it.
inline constexpr std::uint32_t kStatusBefore = 1000;

/// Ids below `rows` with repeats, and one in eight that is not: just past the end, or as far as it goes.
[[nodiscard]] inline std::vector<std::uint32_t> draw_ids(Draws draws, std::size_t count, std::uint32_t rows) {
    std::vector<std::uint32_t> ids(count);
    for (std::uint32_t& id : ids) {
        id = rows == 0 ? draws.word() : draws.below(rows);
        const std::uint32_t kind = draws.below(16);
        if (kind == 0) id = rows;
        if (kind == 1) id = 0xFFFFFFFFU;
    }
    return ids;
}

}  // namespace yolk::oracle
