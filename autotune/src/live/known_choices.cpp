// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "yolk/autotune/architecture.hpp"
#include "yolk/autotune/tune_live.hpp"

namespace yolk::autotune {

KnownChoices known_choices(const std::vector<TuningChoice>& choices, const TuningKey& key) {
    struct Near {
        bool other_device;
        double distance;
        const TuningChoice* choice;
    };
    KnownChoices known;
    std::vector<Near> near;
    for (const TuningChoice& choice : choices) {
        if (choice.key == key && !choice.reopened) {
            known.exact = choice;
            continue;
        }
        const bool same_device = choice.key.device.device == key.device.device;
        if (choice.key.family != key.family || (!same_device && !same_architecture(choice.key.device, key.device)))
            continue;
        const std::optional<double> distance = tuning_distance(choice.key.shape, key.shape);
        if (distance && *distance <= kFarthestShape) near.push_back({!same_device, *distance, &choice});
    }
    std::ranges::stable_sort(near, [](const Near& a, const Near& b) {
        return a.other_device != b.other_device ? b.other_device : a.distance < b.distance;
    });
    constexpr std::size_t kMost = 4;
    for (const Near& entry : near) {
        if (known.to_validate.size() == kMost) break;
        if (std::ranges::find(known.to_validate, entry.choice->configuration) == known.to_validate.end())
            known.to_validate.push_back(entry.choice->configuration);
    }
    return known;
}

}  // namespace yolk::autotune
