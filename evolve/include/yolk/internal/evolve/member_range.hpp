// SPDX-License-Identifier: Apache-2.0
// Consecutive members of a population.
#pragma once

#include <cstdint>

namespace yolk::evolve {

/// Members [first, first + count).
struct MemberRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    friend bool operator==(const MemberRange& left, const MemberRange& right) = default;
};

}  // namespace yolk::evolve
