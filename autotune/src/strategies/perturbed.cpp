// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "strategies.hpp"

namespace yolk::autotune {

std::size_t perturbed(const CandidateSet& candidates, Random& random, std::size_t candidate, std::size_t changes) {
    constexpr int kDraws = 50;
    const ChoiceView origin = candidates[candidate];
    const auto parameters = candidates.space().parameters();
    std::vector<std::size_t> varying;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        if (parameters[p].values.size() > 1) varying.push_back(p);
    }
    for (int draw = 0; draw < kDraws && !varying.empty(); ++draw) {
        Choice choice(origin.begin(), origin.end());
        random.shuffle(std::span(varying));
        for (std::size_t k = 0; k < std::min(changes, varying.size()); ++k) {
            choice[varying[k]] = static_cast<std::uint16_t>(random.below(parameters[varying[k]].values.size()));
        }
        const auto found = candidates.find(choice);
        if (found && *found != candidate) return *found;
    }
    const std::vector<std::size_t> neighbours = candidates.neighbours(candidate);
    if (!neighbours.empty()) return neighbours[random.below(neighbours.size())];
    if (candidates.size() == 1) return candidate;
    const std::size_t other = random.below(candidates.size() - 1);
    return other < candidate ? other : other + 1;
}

}  // namespace yolk::autotune
