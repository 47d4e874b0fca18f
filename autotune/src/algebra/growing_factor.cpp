// SPDX-License-Identifier: Apache-2.0
#include "growing_factor.hpp"

#include <algorithm>
#include <cmath>

namespace yolk::autotune {

void GrowingFactor::clear() {
    pivots_.clear();
    value_entries_.clear();
    unit_entries_.clear();
    evidence_ = {};
}

void GrowingFactor::append(std::span<const double> covariances, double noise_variance, double value) {
    const std::size_t n = count();
    if (rows_.size() <= n) rows_.emplace_back();
    std::vector<double>& entries = rows_[n];
    entries.assign(covariances.begin(), covariances.begin() + static_cast<std::ptrdiff_t>(n));
    double rest = covariances[n];
    double value_entry = value;
    double unit_entry = 1.0;
    for (std::size_t k = 0; k < n; ++k) {
        const std::vector<double>& row = rows_[k];
        double entry = entries[k];
        for (std::size_t j = 0; j < k; ++j) entry -= row[j] * entries[j];
        entry /= pivots_[k];
        entries[k] = entry;
        rest -= entry * entry;
        value_entry -= entry * value_entries_[k];
        unit_entry -= entry * unit_entries_[k];
    }
    const double pivot = std::sqrt(std::max(rest, 0.0) + std::max(noise_variance, kLeastVariance));
    value_entry /= pivot;
    unit_entry /= pivot;
    pivots_.push_back(pivot);
    value_entries_.push_back(value_entry);
    unit_entries_.push_back(unit_entry);
    evidence_.values_values += value_entry * value_entry;
    evidence_.values_units += value_entry * unit_entry;
    evidence_.units_units += unit_entry * unit_entry;
    evidence_.log_determinant += 2.0 * std::log(pivot);
    ++evidence_.count;
}

}  // namespace yolk::autotune
