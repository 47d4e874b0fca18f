// SPDX-License-Identifier: Apache-2.0
// With A = L L^T and V = L^-1 K(S,:), a new measurement of candidate i adds the row
//   v = (K(i,:) - sum_k L(n,k) V(k,:)) / l,   l = L(n,n)
// and to each right-hand side y its entry z = (y - sum_k L(n,k) z_k) / l, so that K(:,S) A^-1 y = V^T z grows by z v.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "factor_kernels.hpp"
#include "growing_factor.hpp"
#include "vector_lanes.hpp"
#include "yolk/internal/autotune/linear_algebra.hpp"
#include "yolk/internal/core/check.hpp"

namespace yolk::autotune {
namespace {

/// Expected improvement in units of the deviation: z Phi(z) + phi(z), Phi by Abramowitz and Stegun 26.2.17 (error below
/// 7.5e-8), which ranks candidates as erfc does at a third of its time.
double improvement(double z) {
    const double density = std::exp(-0.5 * z * z) * 0.3989422804014327;
    const double t = 1.0 / (1.0 + 0.2316419 * std::abs(z));
    const double polynomial =
        t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
    const double upper = density * polynomial;
    return z * (z < 0.0 ? upper : 1.0 - upper) + density;
}

double gain_of(const Acquisition& acquisition, std::size_t candidate, const CandidatePosterior& posterior) {
    const double prior = acquisition.prior.empty() ? 0.0 : acquisition.prior[candidate];
    const double expected =
        prior + acquisition.level + posterior.value_score - acquisition.level * posterior.unit_score;
    const double deviation = acquisition.deviation * std::sqrt(posterior.variance);
    return deviation * improvement((acquisition.best - expected) / deviation);
}

class HostLinearAlgebra final : public LinearAlgebra {
   public:
    void begin(const Kernel& kernel) override {
        kernel_ = &kernel;
        factor_.clear();
        measured_.clear();
        taken_in_ = 0;
        const std::vector<double> diagonal = kernel.diagonal();
        size_ = diagonal.size();
        const std::size_t padded = (size_ + kTile - 1) / kTile * kTile;
        column_.assign(padded, 0.0);
        variances_.assign(padded, 1.0);
        std::ranges::copy(diagonal, variances_.begin());
        value_scores_.assign(padded, 0.0);
        unit_scores_.assign(padded, 0.0);
    }

    void append(std::size_t candidate, double noise_variance, double value) override {
        YOLK_CHECK(kernel_ != nullptr && candidate < size_);
        kernel_->column(candidate, std::span(column_).first(size_));
        const std::size_t n = measured_.size();
        measured_.push_back(candidate);
        if (capacity_ <= n || rows_.size() != capacity_ * column_.size()) grow(n);
        for (std::size_t tile = 0; tile * kTile < column_.size(); ++tile) {
            std::copy_n(&column_[tile * kTile], kTile, &rows_[(tile * capacity_ + n) * kTile]);
        }
        covariances_.clear();
        for (const std::size_t other : measured_) covariances_.push_back(column_[other]);
        factor_.append(covariances_, noise_variance, value);
    }

    CandidatePosterior at(std::size_t candidate) override {
        take_in();
        return {value_scores_[candidate], unit_scores_[candidate], variances_[candidate]};
    }
    Posteriors all() override {
        take_in();
        return {.value_scores = std::span(value_scores_).first(size_),
                .unit_scores = std::span(unit_scores_).first(size_),
                .variances = std::span(variances_).first(size_)};
    }
    Evidence evidence() override { return factor_.evidence(); }

    std::optional<std::size_t> most_promising(const Acquisition& acquisition,
                                              std::span<const std::size_t> among) override {
        take_in();
        std::optional<std::size_t> found;
        double most = -std::numeric_limits<double>::infinity();
        const auto look_at = [&](std::size_t c) {
            if (acquisition.history->known(c)) return;
            const double gain = gain_of(acquisition, c, {value_scores_[c], unit_scores_[c], variances_[c]});
            if (found && gain <= most) return;
            found = c;
            most = gain;
        };
        if (among.empty()) {
            for (std::size_t c = 0; c < size_; ++c) look_at(c);
        } else {
            for (const std::size_t c : among) look_at(c);
        }
        return found;
    }

   private:
    /// What was appended since the last time, into the scores of all candidates. After a fit these are all measurements
    /// at once, and a tile's rows stay in a cache.
    void take_in() {
        const std::size_t n = measured_.size();
        if (taken_in_ == n) return;
        factor_rows_.clear();
        for (std::size_t k = 0; k < n; ++k) {
            factor_rows_.push_back({.factor = factor_.entries(k).data(),
                                    .inverse_pivot = 1.0 / factor_.pivot(k),
                                    .value_entry = factor_.value_entry(k),
                                    .unit_entry = factor_.unit_entry(k)});
        }
        for (std::size_t tile = 0; tile * kTile < column_.size(); ++tile) {
            const std::size_t at = tile * kTile;
            extend_tile(&rows_[at * capacity_], taken_in_, factor_rows_,
                        {&value_scores_[at], &unit_scores_[at], &variances_[at]}, kLeastVariance);
        }
        taken_in_ = n;
    }

    void grow(std::size_t used) {
        constexpr std::size_t kFirstRows = 65;  // odd, so that the tiles do not compete for the same cache lines
        const std::size_t capacity = std::max({kFirstRows, capacity_, used + used / 2}) | 1U;
        std::vector<double> larger(capacity * column_.size());
        for (std::size_t tile = 0; used > 0 && tile * kTile < column_.size(); ++tile) {
            std::copy_n(&rows_[tile * capacity_ * kTile], used * kTile, &larger[tile * capacity * kTile]);
        }
        rows_.swap(larger);
        capacity_ = capacity;
    }

    const Kernel* kernel_ = nullptr;
    std::size_t size_ = 0;
    GrowingFactor factor_;
    std::vector<std::size_t> measured_;
    std::size_t taken_in_ = 0;  ///< measurements that the scores know
    std::vector<double> column_, covariances_;
    std::vector<double> rows_;  ///< of V: tile by tile, in a tile row by row; rows not taken in yet are still K's
    std::size_t capacity_ = 0;  ///< rows that a tile has room for
    std::vector<FactorRow> factor_rows_;
    /// Whole tiles.
    std::vector<double> value_scores_, unit_scores_, variances_;
};

}  // namespace

double expected_gain(const Acquisition& acquisition, std::size_t candidate, const CandidatePosterior& posterior) {
    return gain_of(acquisition, candidate, posterior);
}

std::unique_ptr<LinearAlgebra> host_linear_algebra() { return std::make_unique<HostLinearAlgebra>(); }

}  // namespace yolk::autotune
