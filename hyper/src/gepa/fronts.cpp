// SPDX-License-Identifier: Apache-2.0
#include "fronts.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace yolk::hyper::prompts {

double sum_of(std::span<const double> scores) { return std::accumulate(scores.begin(), scores.end(), 0.0); }

double mean_of(std::span<const double> scores) {
    return scores.empty() ? 0.0 : sum_of(scores) / static_cast<double>(scores.size());
}

Fronts fronts_of(std::span<const std::vector<double>> scores) {
    Fronts fronts(scores.empty() ? 0 : scores.front().size());
    for (std::size_t example = 0; example < fronts.size(); ++example) {
        double best = 0.0;
        for (std::uint32_t candidate = 0; candidate < scores.size(); ++candidate) {
            const double score = scores[candidate][example];
            if (fronts[example].empty() || score > best) {
                fronts[example].assign(1, candidate);
                best = score;
            } else if (score == best) {
                fronts[example].push_back(candidate);
            }
        }
    }
    return fronts;
}

Fronts without_dominated(Fronts fronts, std::span<const double> means) {
    std::vector<std::uint32_t> candidates = members_of(fronts);
    std::ranges::stable_sort(candidates, {}, [&](std::uint32_t candidate) { return means[candidate]; });
    // One pass is enough: what is not dominated now is not when fewer remain.
    for (const std::uint32_t candidate : candidates) {
        const bool dominated = std::ranges::all_of(fronts, [&](const std::vector<std::uint32_t>& front) {
            return front.size() > 1 || front.front() != candidate;
        });
        if (!dominated) continue;
        for (std::vector<std::uint32_t>& front : fronts) std::erase(front, candidate);
    }
    return fronts;
}

std::vector<std::uint32_t> front_counts(const Fronts& fronts, std::size_t candidates) {
    std::vector<std::uint32_t> counts(candidates, 0);
    for (const std::vector<std::uint32_t>& front : fronts) {
        for (const std::uint32_t candidate : front) ++counts[candidate];
    }
    return counts;
}

std::vector<std::uint32_t> members_of(const Fronts& fronts) {
    std::set<std::uint32_t> members;
    for (const std::vector<std::uint32_t>& front : fronts) members.insert(front.begin(), front.end());
    return {members.begin(), members.end()};
}

}  // namespace yolk::hyper::prompts
