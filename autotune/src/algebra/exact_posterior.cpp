// SPDX-License-Identifier: Apache-2.0
#include "exact_posterior.hpp"

#include <algorithm>
#include <cmath>

#include "yolk/internal/core/check.hpp"

namespace yolk::autotune {
namespace {

template <class T>
T& grown(std::vector<T>& all, std::size_t at) {
    if (all.size() <= at) all.resize(at + 1);
    return all[at];
}

}  // namespace

void ExactPosterior::begin(const Kernel& kernel) {
    kernel_ = &kernel;
    diagonal_ = kernel.diagonal();
    measured_.clear();
    factor_.clear();
}

/// V(:, candidates), of all measurements.
void ExactPosterior::factor_rows(std::span<const std::size_t> candidates) {
    const std::size_t n = measured_.size();
    const std::size_t m = candidates.size();
    solved_.resize(std::max(solved_.size(), n * m));
    for (std::size_t k = 0; k < n; ++k) {
        double* const row = &solved_[k * m];
        for (std::size_t c = 0; c < m; ++c) row[c] = columns_[k][candidates[c]];
        const std::span<const double> entries = factor_.entries(k);
        for (std::size_t j = 0; j < k; ++j) {
            const double* const other = &solved_[j * m];
            for (std::size_t c = 0; c < m; ++c) row[c] -= entries[j] * other[c];
        }
        const double inverse_pivot = 1.0 / factor_.pivot(k);
        for (std::size_t c = 0; c < m; ++c) row[c] *= inverse_pivot;
    }
}

void ExactPosterior::append(std::size_t candidate, double noise_variance, double value) {
    YOLK_CHECK(kernel_ != nullptr && candidate < diagonal_.size());
    const std::size_t n = measured_.size();
    std::vector<double>& column = grown(columns_, n);
    column.resize(diagonal_.size());
    kernel_->column(candidate, column);
    std::vector<double>& row = grown(rows_, n);
    row.resize(n + 1);
    for (std::size_t k = 0; k < n; ++k) row[k] = column[measured_[k].candidate];
    row[n] = column[candidate];
    factor_.append(row, noise_variance, value);
    row[n] += std::max(noise_variance, kLeastVariance);
    measured_.push_back(
        {.candidate = candidate, .noise_variance = noise_variance, .value = value, .pivot = factor_.pivot(n)});
}

double ExactPosterior::residual(std::span<const float> x, std::span<const double> b) {
    const std::size_t n = x.size();
    sums_.assign(n, 0.0);
    for (std::size_t k = 0; k < n; ++k) {
        const std::vector<double>& row = rows_[k];
        const double own = x[k];
        double sum = row[k] * own - b[k];
        for (std::size_t j = 0; j < k; ++j) {
            sum += row[j] * static_cast<double>(x[j]);
            sums_[j] += row[j] * own;
        }
        sums_[k] += sum;
    }
    double most = 0.0;
    // Written so that a number that is none counts as the largest.
    for (const double sum : sums_) most = std::abs(sum) <= most ? most : std::abs(sum);
    return most;
}

void ExactPosterior::at(std::span<const std::size_t> candidates, std::span<CandidatePosterior> out) {
    factor_rows(candidates);
    const std::size_t m = candidates.size();
    for (std::size_t c = 0; c < m; ++c) out[c] = {.variance = diagonal_[candidates[c]]};
    for (std::size_t k = 0; k < measured_.size(); ++k) {
        const double value_entry = factor_.value_entry(k);
        const double unit_entry = factor_.unit_entry(k);
        const double* const row = &solved_[k * m];
        for (std::size_t c = 0; c < m; ++c) {
            out[c].value_score += value_entry * row[c];
            out[c].unit_score += unit_entry * row[c];
            out[c].variance = std::max(out[c].variance - row[c] * row[c], kLeastVariance);
        }
    }
}

}  // namespace yolk::autotune
