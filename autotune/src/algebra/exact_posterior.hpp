// SPDX-License-Identifier: Apache-2.0
// The n x n part of a regression in double precision, and the posterior of single candidates: what a device's scores of
// all candidates are held against.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "growing_factor.hpp"
#include "yolk/internal/autotune/linear_algebra.hpp"

namespace yolk::autotune {

/// The same sums in the same order as host_linear_algebra, so the same bits (a test holds them together), but a column
/// of V only for the candidates that are asked about: O(n^2) each. One thread at a time.
class ExactPosterior {
   public:
    void begin(const Kernel& kernel);
    void append(std::size_t candidate, double noise_variance, double value);

    [[nodiscard]] std::size_t count() const noexcept { return measured_.size(); }
    [[nodiscard]] std::size_t candidates() const noexcept { return diagonal_.size(); }
    [[nodiscard]] const Evidence& evidence() const noexcept { return factor_.evidence(); }
    [[nodiscard]] std::span<const double> diagonal() const noexcept { return diagonal_; }
    [[nodiscard]] const Kernel& kernel() const noexcept { return *kernel_; }

    /// Of measurement k: its candidate, column of K, place in D, value, and the pivot of its row of the factor.
    struct Measurement {
        std::size_t candidate = 0;
        double noise_variance = 0.0;
        double value = 0.0;
        double pivot = 1.0;
    };
    [[nodiscard]] const Measurement& measurement(std::size_t k) const noexcept { return measured_[k]; }
    [[nodiscard]] std::span<const double> column(std::size_t k) const noexcept { return columns_[k]; }
    /// A(k, 0 ... k) of A = K(S,S) + D.
    [[nodiscard]] std::span<const double> row(std::size_t k) const noexcept { return rows_[k]; }
    /// The largest element of |A x - b| over the first x.size() measurements.
    [[nodiscard]] double residual(std::span<const float> x, std::span<const double> b);

    void at(std::span<const std::size_t> candidates, std::span<CandidatePosterior> out);

   private:
    void factor_rows(std::span<const std::size_t> candidates);

    const Kernel* kernel_ = nullptr;
    std::vector<double> diagonal_;
    std::vector<Measurement> measured_;
    std::vector<std::vector<double>> columns_;  ///< of K; more than there are measurements: memory that is kept
    GrowingFactor factor_;
    std::vector<std::vector<double>> rows_;  ///< of A
    std::vector<double> solved_;             ///< V = L^-1 K(S, candidates), row by row
    std::vector<double> sums_;
};

}  // namespace yolk::autotune
