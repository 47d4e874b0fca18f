// SPDX-License-Identifier: Apache-2.0
// States of a search that an audit may have to go back to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

/// Where a device computed wrongly the newest state from before it is taken; a few are kept, so that this may be a
/// little further back than need be. Ranks that add at the same steps and are told the same keep the same steps.
class SearchTrail {
   public:
    struct Place {
        SearchMark mark;
        CentreState state;
    };
    /// `verified`: nothing evaluated in a generation before this one can turn out wrong any more.
    void add(Place place, std::uint32_t verified) {
        if (!places_.empty() && places_.back().state.generation == place.state.generation) return;
        places_.push_back(std::move(place));
        const auto after = std::ranges::find_if(places_, [&](const Place& p) { return p.state.generation > verified; });
        if (after != places_.begin()) places_.erase(places_.begin(), std::prev(after));
        if (places_.size() <= kMostPlaces) return;
        std::size_t index = 0;
        std::erase_if(places_, [&](const Place&) { return index++ % 2 == 1; });
    }
    /// The generation that an evaluation belongs to: that of the newest place that was added before it.
    [[nodiscard]] std::uint32_t generation_of(std::uint32_t evaluation) const {
        std::uint32_t generation = places_.front().state.generation;
        for (const Place& place : places_) {
            if (place.mark.evaluation <= evaluation) generation = place.state.generation;
        }
        return generation;
    }
    /// The newest place that is no later than this generation. What is later is forgotten. At least one place was
    /// added.
    [[nodiscard]] const Place& back_to(std::uint32_t generation) {
        while (places_.size() > 1 && places_.back().state.generation > generation) places_.pop_back();
        return places_.back();
    }

   private:
    static constexpr std::size_t kMostPlaces = 16;
    std::vector<Place> places_;
};

}  // namespace yolk::hyper
