// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/runtime/queue_family.hpp"

namespace yolk {

std::optional<std::uint32_t> select_queue_family(std::span<const QueueFamilyInfo> families) noexcept {
    std::optional<std::uint32_t> best;
    std::uint32_t best_preference = 0;
    for (std::uint32_t i = 0; i < families.size(); ++i) {
        const QueueFamilyInfo& family = families[i];
        if (!family.compute || family.queue_count == 0) continue;
        const std::uint32_t preference = (family.timestamp_bits > 0 ? 2U : 0U) + (family.graphics ? 0U : 1U);
        if (best.has_value() && preference <= best_preference) continue;
        best = i;
        best_preference = preference;
    }
    return best;
}

}  // namespace yolk
