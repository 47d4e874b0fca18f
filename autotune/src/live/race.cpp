// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/autotune/race.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "yolk/internal/core/check.hpp"

namespace yolk::autotune {
namespace {

/// By linear interpolation; `sorted` ascending and not empty.
double quantile(std::span<const double> sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto low = static_cast<std::size_t>(at);
    const std::size_t high = std::min(low + 1, sorted.size() - 1);
    return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

std::vector<double> sorted_copy(std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    return sorted;
}

}  // namespace

double median_of(std::span<const double> values) {
    YOLK_ASSERT(!values.empty());
    return quantile(sorted_copy(values), 0.5);
}

double spread_of(std::span<const double> values) {
    if (values.size() < 2) return 0.0;
    const std::vector<double> sorted = sorted_copy(values);
    const double middle = quantile(sorted, 0.5);
    return middle > 0.0 ? (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / middle : 0.0;
}

bool wants_another_sample(std::span<const double> samples, double best, const RaceRules& rules) {
    if (samples.empty()) return true;
    if (samples.size() >= rules.most_samples) return false;
    return *std::ranges::min_element(samples) <= rules.near * best;
}

Comparison compare(std::span<const double> challenger, std::span<const double> incumbent) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(challenger.size(), incumbent.size()); ++i) {
        const double ratio = std::log(challenger[i] / incumbent[i]);
        if (std::isfinite(ratio)) ratios.push_back(ratio);  // a run that took no time by the clock says nothing
    }
    if (ratios.empty()) return {};
    Comparison result{.log_ratio = median_of(ratios), .rounds = ratios.size()};
    for (double& ratio : ratios) ratio = std::abs(ratio - result.log_ratio);
    // 1.4826 makes the median absolute deviation a normal deviation, sqrt(pi / 2) the error of a mean that of a median.
    result.error = 1.4826 * 1.2533 * median_of(ratios) / std::sqrt(static_cast<double>(ratios.size()));
    return result;
}

bool replaces(const Comparison& comparison, const ReplaceRules& rules) {
    if (comparison.rounds < rules.least_rounds) return false;
    return comparison.log_ratio + rules.errors * comparison.error < std::log1p(-rules.gain);
}

}  // namespace yolk::autotune
