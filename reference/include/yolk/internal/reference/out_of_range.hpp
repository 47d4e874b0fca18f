// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "yolk/twin.hpp"

namespace yolk::reference {

/// Adds to `status` how many ids are not below `rows`, each as often as it is read.
inline void count_out_of_range(std::span<const std::uint32_t> ids, std::uint32_t rows, std::uint32_t times,
                               const HostView& status) {
    const auto outside = std::ranges::count_if(ids, [rows](std::uint32_t id) { return id >= rows; });
    for (std::uint32_t& count : status.out<std::uint32_t>()) count += times * static_cast<std::uint32_t>(outside);
}

}  // namespace yolk::reference
