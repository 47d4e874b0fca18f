// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace yolk {

/// What a function's selections need of its module.
struct SelectionTypes {
    std::uint32_t boolean = 0;
    std::map<std::uint32_t, std::uint32_t> pointees;  ///< by pointer type
};

/// The function with all of its blocks in one: both sides of every branch are computed, and selects tell what counts.
/// For functions that compute and write their own variables only. `next` is the next free id. Nothing where the
/// function has a loop, a switch, or a return that not every invocation comes to.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> without_branches(std::span<const std::uint32_t> function,
                                                                         const SelectionTypes& types,
                                                                         std::uint32_t& next);

}  // namespace yolk
