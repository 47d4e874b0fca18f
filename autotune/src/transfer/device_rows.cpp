// SPDX-License-Identifier: Apache-2.0
#include "device_rows.hpp"

#include <algorithm>
#include <cmath>

#include "posterior_search.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

/// For each parameter of `given`, the target's parameter of that name; none: it does not vary.
Result<std::vector<std::optional<std::size_t>>> match(const Space& target, const Space& given,
                                                      const std::string& what) {
    const auto complain = [&](std::string_view who, const std::string& name) {
        return bad_input("{} is of another space: only {} varies parameter '{}'. Leave it out.", what, who,
                         shown(name));
    };
    std::vector<std::optional<std::size_t>> places;
    for (const Parameter& parameter : given.parameters()) {
        const auto found = std::ranges::find(target.parameters(), parameter.name, &Parameter::name);
        const bool known = found != target.parameters().end();
        if (!known && parameter.values.size() > 1) return complain("the recording", parameter.name);
        places.emplace_back();
        if (known) places.back() = static_cast<std::size_t>(found - target.parameters().begin());
    }
    for (const Parameter& parameter : target.parameters()) {
        const bool known =
            std::ranges::find(given.parameters(), parameter.name, &Parameter::name) != given.parameters().end();
        if (!known && parameter.values.size() > 1) return complain("the target", parameter.name);
    }
    return places;
}

}  // namespace

Result<std::vector<std::optional<std::size_t>>> matched_candidates(const CandidateSet& target,
                                                                   const CandidateSet& given, const std::string& what) {
    YOLK_TRY(const auto places, match(target.space(), given.space(), what));
    const auto wanted = target.space().parameters();
    const auto offered = given.space().parameters();
    // Value by value: which index of the given domain is an index of the target's.
    std::vector<std::vector<std::optional<std::uint16_t>>> values(offered.size());
    for (std::size_t p = 0; p < offered.size(); ++p) {
        if (!places[p]) continue;
        for (const Value& value : wanted[*places[p]].values) {
            const auto found = std::ranges::find(offered[p].values, value);
            values[p].emplace_back();
            if (found != offered[p].values.end()) {
                values[p].back() = static_cast<std::uint16_t>(found - offered[p].values.begin());
            }
        }
    }
    std::vector<std::optional<std::size_t>> matched(target.size());
    for (std::size_t c = 0; c < target.size(); ++c) {
        Choice choice;
        for (std::size_t p = 0; p < offered.size(); ++p) {
            // A parameter that neither varies has one value there; a problem's size may differ between devices.
            if (!places[p] || (offered[p].values.size() == 1 && wanted[*places[p]].values.size() == 1)) {
                choice.push_back(0);
            } else if (const auto value = values[p][target[c][*places[p]]]) {
                choice.push_back(*value);
            }
        }
        if (choice.size() == offered.size()) matched[c] = given.find(choice);
    }
    return matched;
}

double regret_of(double cost, double optimum) { return std::min(std::log(cost / optimum), kWorstRegret); }

void fill_by_regression(const CandidateSet& candidates, std::vector<double>& values) {
    constexpr std::size_t kMostKnown = 192;  // the regression's cost grows with their square
    std::vector<std::size_t> known;
    for (std::size_t c = 0; c < values.size(); ++c) {
        if (!std::isnan(values[c])) known.push_back(c);
    }
    if (known.size() < 2 || known.size() == values.size()) return;
    const History history(candidates.size());
    PosteriorSearch regression(candidates, history, {}, host_linear_algebra());
    const std::size_t step = (known.size() + kMostKnown - 1) / kMostKnown;
    for (std::size_t i = 0; i < known.size(); i += step) regression.add(known[i], values[known[i]]);
    const std::vector<double> means = regression.means();
    for (std::size_t c = 0; c < values.size(); ++c) {
        if (std::isnan(values[c])) values[c] = means[c];
    }
}

}  // namespace yolk::autotune
