// SPDX-License-Identifier: Apache-2.0
#include "parents.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "draws.hpp"
#include "fronts.hpp"

namespace yolk::hyper::prompts {
namespace {

/// Drawn by the number of fronts that each is on; only those in `among`, where some of them are on any.
std::uint32_t draw_from_fronts(const Draw& draw, const Fronts& fronts, std::size_t candidates,
                               std::span<const std::uint32_t> among) {
    std::vector<double> weights(candidates, 0.0);
    const std::vector<std::uint32_t> counts = front_counts(fronts, candidates);
    for (const std::uint32_t candidate : among) weights[candidate] = counts[candidate];
    if (std::ranges::all_of(weights, [](double weight) { return weight == 0.0; })) return among.front();
    return static_cast<std::uint32_t>(draw_weighted(draw, 0, weights));
}

}  // namespace

std::uint32_t choose_parent(const GepaOptions& options, std::uint32_t iteration,
                            std::span<const std::vector<double>> scores) {
    const Draw draw{.seed = options.seed, .time = iteration, .purpose = Purpose::Parent};
    std::vector<double> means;
    for (const std::vector<double>& each : scores) means.push_back(mean_of(each));
    std::vector<std::uint32_t> by_mean(scores.size());
    std::iota(by_mean.begin(), by_mean.end(), 0U);
    std::ranges::stable_sort(by_mean, std::ranges::greater(),
                             [&](std::uint32_t candidate) { return means[candidate]; });
    switch (options.parent) {
        case ParentChoice::Best: return by_mean.front();
        case ParentChoice::EpsilonGreedy:
            if (draw_fraction(draw, 0) >= options.epsilon) return by_mean.front();
            return draw_below(draw, 1, scores.size());
        case ParentChoice::TopK: by_mean.resize(std::min<std::size_t>(by_mean.size(), options.top_k)); break;
        case ParentChoice::Pareto: break;
    }
    return draw_from_fronts(draw, without_dominated(fronts_of(scores), means), scores.size(), by_mean);
}

}  // namespace yolk::hyper::prompts
