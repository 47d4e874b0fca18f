// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "yolk/internal/autotune/tune_live.hpp"
#include "yolk/internal/context/architecture.hpp"

namespace yolk::autotune {

KnownChoices known_choices(const std::vector<TuningChoice>& choices, const TuningKey& key, const TuningSpace& space) {
    struct Near {
        bool other_device;
        double distance;
        const TuningChoice* choice;
    };
    KnownChoices known;
    std::vector<Near> near;
    for (const TuningChoice& choice : choices) {
        const bool fitting = fits(space, choice.configuration);
        if (choice.key == key && fitting) {
            known.exact = choice;
            continue;
        }
        // One of other knobs is another Yolk's, which has a row of its own.
        if (choice.key == key && !fitting &&
            same_knobs(choice.configuration, stored_configuration(space, space.combination(0))))
            known.outdated = choice;
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
