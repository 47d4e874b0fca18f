// SPDX-License-Identifier: Apache-2.0
#include "exact_posterior.hpp"

#include <algorithm>
#include <cmath>

#include "yolk/core/check.hpp"

namespace yolk::autotune {
namespace {

/// How many terms host_linear_algebra's product adds up before they are taken off: Eigen's blocks of columns.
std::size_t terms_at_once(std::size_t terms, std::size_t candidates) {
    constexpr std::size_t kWhole = 128;
    constexpr std::size_t kLongRow = 4000;
    if (terms < kWhole) return terms;
    return candidates < kLongRow ? 16 : 4;
}

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
    evidence_ = {};
}

/// V(:, candidates), of all measurements.
void ExactPosterior::factor_rows(std::span<const std::size_t> candidates) {
    const std::size_t n = measured_.size();
    const std::size_t m = candidates.size();
    solved_.resize(std::max(solved_.size(), n * m));
    sums_.resize(std::max(sums_.size(), m));
    for (std::size_t k = 0; k < n; ++k) {
        double* const row = &solved_[k * m];
        for (std::size_t c = 0; c < m; ++c) row[c] = columns_[k][candidates[c]];
        const std::size_t block = terms_at_once(k, diagonal_.size());
        for (std::size_t first = 0; first < k; first += block) {
            std::fill_n(sums_.begin(), m, 0.0);
            for (std::size_t j = first; j < std::min(first + block, k); ++j) {
                const double entry = factor_[k][j];
                const double* const other = &solved_[j * m];
                for (std::size_t c = 0; c < m; ++c) sums_[c] += other[c] * entry;
            }
            for (std::size_t c = 0; c < m; ++c) row[c] -= sums_[c];
        }
        for (std::size_t c = 0; c < m; ++c) row[c] /= measured_[k].pivot;
    }
}

void ExactPosterior::append(std::size_t candidate, double noise_variance, double value) {
    YOLK_CHECK(kernel_ != nullptr && candidate < diagonal_.size());
    const std::size_t n = measured_.size();
    std::vector<double>& column = grown(columns_, n);
    column.resize(diagonal_.size());
    kernel_->column(candidate, column);
    factor_rows({&candidate, 1});
    std::vector<double>& entries = grown(factor_, n);
    entries.assign(solved_.begin(), solved_.begin() + static_cast<std::ptrdiff_t>(n));
    std::vector<double>& row = grown(rows_, n);
    row.resize(n + 1);
    for (std::size_t k = 0; k < n; ++k) row[k] = column[measured_[k].candidate];
    double rest = column[candidate];
    const std::size_t block = terms_at_once(n, diagonal_.size());
    for (std::size_t first = 0; first < n; first += block) {
        double sum = 0.0;
        for (std::size_t k = first; k < std::min(first + block, n); ++k) sum += entries[k] * entries[k];
        rest -= sum;
    }
    const double noise = std::max(noise_variance, kLeastVariance);
    row[n] = column[candidate] + noise;
    Measurement measured{.candidate = candidate,
                         .noise_variance = noise_variance,
                         .value = value,
                         .pivot = std::sqrt(std::max(rest, 0.0) + noise),
                         .value_entry = value,
                         .unit_entry = 1.0};
    for (std::size_t k = 0; k < n; ++k) {
        measured.value_entry -= entries[k] * measured_[k].value_entry;
        measured.unit_entry -= entries[k] * measured_[k].unit_entry;
    }
    measured.value_entry /= measured.pivot;
    measured.unit_entry /= measured.pivot;
    evidence_.values_values += measured.value_entry * measured.value_entry;
    evidence_.values_units += measured.value_entry * measured.unit_entry;
    evidence_.units_units += measured.unit_entry * measured.unit_entry;
    evidence_.log_determinant += 2.0 * std::log(measured.pivot);
    ++evidence_.count;
    measured_.push_back(measured);
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
        const Measurement& measured = measured_[k];
        const double* const row = &solved_[k * m];
        for (std::size_t c = 0; c < m; ++c) {
            out[c].value_score += measured.value_entry * row[c];
            out[c].unit_score += measured.unit_entry * row[c];
            out[c].variance = std::max(out[c].variance - row[c] * row[c], kLeastVariance);
        }
    }
}

}  // namespace yolk::autotune
