// SPDX-License-Identifier: Apache-2.0
// The loops that a regression's time goes into.
#pragma once

#include <cstddef>
#include <span>

namespace yolk::autotune {

/// What one more row of V = L^-1 K(S,:) takes and does, and adds to the scores.
struct FactorRow {
    const double* factor = nullptr;  ///< L(k, 0 ... k-1)
    double inverse_pivot = 1.0;      ///< 1 / L(k, k)
    double value_entry = 0.0;        ///< (L^-1 y)(k)
    double unit_entry = 0.0;         ///< (L^-1 1)(k)
};

/// Scores of a tile's candidates.
struct TileScores {
    double* values = nullptr;
    double* units = nullptr;
    double* variances = nullptr;
};

/// Rows [first, rows.size()) of V for kTile candidates: `tile` has them row by row, those from `first` on still K's.
/// Then the scores take them in.
void extend_tile(double* tile, std::size_t first, std::span<const FactorRow> rows, const TileScores& scores,
                 double least_variance);

/// A = U^T U in place, row by row in the upper triangle, `width` >= n elements apart and `width` a multiple of kLane;
/// columns from n on, other right-hand sides b, become U^-T b. False where a pivot is not above 0.
[[nodiscard]] bool factor_in_place(double* a, std::size_t n, std::size_t width);

/// out = linear + share * (1 + r + d/3) exp(-r), r = sqrt(d): what Matern 5/2 is of d = 5 r^2 / length^2. Negative
/// distances, which rounding makes of 0, count as 0.
void add_matern(std::span<const double> distances, std::span<const double> linear, double share, std::span<double> out);

/// One regression's log expected improvement of candidates, from above.
struct GainBound {
    const double* value_scores = nullptr;
    const double* unit_scores = nullptr;
    const double* variances = nullptr;
    const double* prior = nullptr;  ///< none: 0
    double level = 0.0;
    double best = 0.0;
    double deviation = 1.0;
    double weight = 1.0;
};

/// bounds += weight * b, with b at least log(deviation sqrt(variance) (phi(z) + z Phi(z))) and at most .2 above it.
/// Uses phi(t) - t Q(t) < phi(t) (2 / (t + sqrt(t^2 + 4)))^2, which is Birnbaum's bound on Mills' ratio (1942), and a
/// logarithm that is linear between powers of two.
void add_gain_bounds(const GainBound& of, std::span<double> bounds);

}  // namespace yolk::autotune
