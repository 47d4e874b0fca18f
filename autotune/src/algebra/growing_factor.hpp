// SPDX-License-Identifier: Apache-2.0
// The n x n part of a regression: A = K(S,S) + D = L L^T, growing by a measurement at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "yolk/internal/autotune/linear_algebra.hpp"

namespace yolk::autotune {

/// Of a measurement's noise and of a posterior, so that no pivot is 0.
inline constexpr double kLeastVariance = 1e-10;

class GrowingFactor {
   public:
    void clear();
    /// `covariances` K(S,i) with those so far, in order, then K(i,i). O(n^2).
    void append(std::span<const double> covariances, double noise_variance, double value);

    [[nodiscard]] std::size_t count() const noexcept { return pivots_.size(); }
    /// L(k, 0 ... k-1).
    [[nodiscard]] std::span<const double> entries(std::size_t k) const noexcept { return rows_[k]; }
    [[nodiscard]] double pivot(std::size_t k) const noexcept { return pivots_[k]; }
    [[nodiscard]] double value_entry(std::size_t k) const noexcept { return value_entries_[k]; }  ///< (L^-1 y)(k)
    [[nodiscard]] double unit_entry(std::size_t k) const noexcept { return unit_entries_[k]; }    ///< (L^-1 1)(k)
    [[nodiscard]] const Evidence& evidence() const noexcept { return evidence_; }

   private:
    std::vector<std::vector<double>> rows_;  ///< more than there are measurements: memory that is kept
    std::vector<double> pivots_, value_entries_, unit_entries_;
    Evidence evidence_;
};

}  // namespace yolk::autotune
