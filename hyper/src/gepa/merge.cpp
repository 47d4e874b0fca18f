// SPDX-License-Identifier: Apache-2.0
#include "merge.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "draws.hpp"
#include "fronts.hpp"

namespace yolk::hyper::prompts {
namespace {

constexpr std::uint32_t kMergeDraws = 10;

bool changed_in_one_alone(const Candidate& first, const Candidate& second, const Candidate& ancestor) {
    return std::ranges::any_of(ancestor.texts, [&](const auto& component) {
        const std::string& a = first.texts.at(component.first);
        const std::string& b = second.texts.at(component.first);
        return a != b && (a == component.second || b == component.second);
    });
}

/// Whether a merge that was tried had these texts, of whichever two it was made.
bool was_made(const GepaState& state, const Texts& texts) {
    return std::ranges::any_of(state.merged, [&](const Merged& made) {
        std::size_t component = 0;
        return std::ranges::all_of(texts, [&](const auto& each) {
            const std::uint32_t from = made.taken[component++];
            return state.candidates[from].texts.at(each.first) == each.second;
        });
    });
}

bool is_known(std::span<const Candidate> candidates, const Texts& texts) {
    return std::ranges::any_of(candidates, [&](const Candidate& candidate) { return candidate.texts == texts; });
}

/// Attempt `attempt` of an iteration.
std::optional<MergeProposal> propose_once(const GepaState& state, std::span<const std::uint32_t> remaining,
                                          std::uint64_t seed, std::uint32_t iteration, std::uint32_t attempt) {
    const Draw pair{.seed = seed, .time = iteration, .purpose = Purpose::MergePair};
    const std::uint32_t a = draw_below(pair, 2 * attempt, remaining.size());
    std::uint32_t b = draw_below(pair, 2 * attempt + 1, remaining.size() - 1);
    if (b >= a) ++b;  // any other
    const std::uint32_t first = std::min(remaining[a], remaining[b]);
    const std::uint32_t second = std::max(remaining[a], remaining[b]);
    if (ancestors_of(state.candidates, second).contains(first)) return std::nullopt;

    const std::vector<std::uint32_t> ancestors = merge_ancestors(state.candidates, first, second);
    std::vector<std::uint32_t> left;
    std::vector<double> weights;
    for (const std::uint32_t ancestor : ancestors) {
        const bool made = std::ranges::any_of(state.merged, [&](const Merged& merged) {
            return merged.first == first && merged.second == second && merged.ancestor == ancestor;
        });
        if (made) continue;
        left.push_back(ancestor);
        weights.push_back(mean_of(state.candidates[ancestor].scores));
    }
    if (left.empty()) return std::nullopt;
    const Draw by_mean{.seed = seed, .time = iteration, .purpose = Purpose::MergeAncestor};
    const std::uint32_t ancestor = left[draw_weighted(by_mean, attempt, weights)];
    MergeProposal proposal = merge_of(state.candidates, first, second, ancestor, seed, iteration);
    if (was_made(state, proposal.texts) || is_known(state.candidates, proposal.texts)) return std::nullopt;
    return proposal;
}

}  // namespace

std::set<std::uint32_t> ancestors_of(std::span<const Candidate> candidates, std::uint32_t candidate) {
    std::set<std::uint32_t> found;
    std::vector<std::uint32_t> left = candidates[candidate].parents;
    while (!left.empty()) {
        const std::uint32_t next = left.back();
        left.pop_back();
        if (!found.insert(next).second) continue;
        const std::vector<std::uint32_t>& parents = candidates[next].parents;
        left.insert(left.end(), parents.begin(), parents.end());
    }
    return found;
}

std::vector<std::uint32_t> merge_ancestors(std::span<const Candidate> candidates, std::uint32_t first,
                                           std::uint32_t second) {
    const std::set<std::uint32_t> of_first = ancestors_of(candidates, first);
    const std::set<std::uint32_t> of_second = ancestors_of(candidates, second);
    std::vector<std::uint32_t> common;
    std::ranges::set_intersection(of_first, of_second, std::back_inserter(common));
    const double limit = std::min(mean_of(candidates[first].scores), mean_of(candidates[second].scores));
    std::erase_if(common, [&](std::uint32_t ancestor) {
        return mean_of(candidates[ancestor].scores) > limit ||
               !changed_in_one_alone(candidates[first], candidates[second], candidates[ancestor]);
    });
    return common;
}

MergeProposal merge_of(std::span<const Candidate> candidates, std::uint32_t first, std::uint32_t second,
                       std::uint32_t ancestor, std::uint64_t seed, std::uint32_t iteration) {
    const double first_mean = mean_of(candidates[first].scores);
    const double second_mean = mean_of(candidates[second].scores);
    const Draw tie{.seed = seed, .time = iteration, .purpose = Purpose::MergeText};
    MergeProposal proposal{.merged = {.first = first, .second = second, .ancestor = ancestor}};
    std::uint32_t number = 0;
    for (const auto& [component, before] : candidates[ancestor].texts) {
        const std::string& a = candidates[first].texts.at(component);
        const std::string& b = candidates[second].texts.at(component);
        std::uint32_t from = first;
        if (a != b) {
            if (a == before) {
                from = second;
            } else if (b != before) {
                const bool is_tie = first_mean == second_mean;
                const bool takes_first = is_tie ? draw_below(tie, number, 2) == 0 : first_mean > second_mean;
                from = takes_first ? first : second;
            }
        }
        proposal.merged.taken.push_back(from);
        proposal.texts.emplace(component, candidates[from].texts.at(component));
        ++number;
    }
    return proposal;
}

std::optional<MergeProposal> propose_merge(const GepaState& state, std::uint64_t seed, std::uint32_t iteration) {
    const std::vector<std::uint32_t> remaining =
        members_of(without_dominated(fronts_of(state.scores()), state.means()));
    if (remaining.size() < 2) return std::nullopt;
    for (std::uint32_t attempt = 0; attempt < kMergeDraws; ++attempt) {
        if (std::optional<MergeProposal> proposal = propose_once(state, remaining, seed, iteration, attempt))
            return proposal;
    }
    return std::nullopt;
}

std::vector<std::uint32_t> merge_examples(std::span<const double> first, std::span<const double> second,
                                          std::uint64_t seed, std::uint32_t iteration) {
    constexpr std::size_t kOfEach = 2;  // a third of the five, rounded up
    std::array<std::vector<std::uint32_t>, 3> strata;
    for (std::uint32_t id = 0; id < first.size(); ++id)
        strata[first[id] > second[id] ? 0 : second[id] > first[id] ? 1 : 2].push_back(id);
    const Draw draw{.seed = seed, .time = iteration, .purpose = Purpose::MergeExamples};
    std::uint32_t index = 0;
    std::vector<std::uint32_t> chosen;
    std::vector<std::uint32_t> rest;
    for (std::vector<std::uint32_t>& stratum : strata) {
        shuffle(draw, index, stratum);
        index += static_cast<std::uint32_t>(stratum.size());
        const std::size_t taken = std::min({stratum.size(), kOfEach, kMergeExamples - chosen.size()});
        chosen.insert(chosen.end(), stratum.begin(), stratum.begin() + static_cast<std::ptrdiff_t>(taken));
        rest.insert(rest.end(), stratum.begin() + static_cast<std::ptrdiff_t>(taken), stratum.end());
    }
    shuffle(draw, index, rest);
    const std::size_t more = std::min(rest.size(), kMergeExamples - chosen.size());
    chosen.insert(chosen.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(more));
    return chosen;
}

}  // namespace yolk::hyper::prompts
