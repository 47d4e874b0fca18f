// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "yolk/internal/primitives/alternatives.hpp"

namespace yolk {
namespace {

constexpr std::uint64_t kSmallSpace = 4096;

std::size_t differences(const Configuration& a, const Configuration& b) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1U : 0U;
    return count;
}

/// `changed` with each other value of the knobs from `first` on, and of `more` knobs after it.
void add_neighbours(const TuningSpace& space, Configuration& changed, std::size_t first, std::size_t more,
                    std::vector<Configuration>& found) {
    for (std::size_t knob = first; knob < changed.size(); ++knob) {
        const std::uint32_t before = changed[knob];
        for (const std::uint32_t value : space.knobs()[knob].values) {
            if (value == before) continue;
            changed[knob] = value;
            if (space.check(changed)) found.push_back(changed);
            if (more > 0) add_neighbours(space, changed, knob + 1, more - 1, found);
        }
        changed[knob] = before;
    }
}

}  // namespace

std::vector<Configuration> alternatives(const TuningSpace& space, const Configuration& from) {
    std::vector<Configuration> found;
    if (space.combinations() <= kSmallSpace) {
        found = space.all();
        std::erase(found, from);
    } else {
        Configuration changed = from;
        add_neighbours(space, changed, 0, 1, found);
    }
    std::ranges::stable_sort(found, {}, [&from](const Configuration& each) { return differences(each, from); });
    return found;
}

}  // namespace yolk
