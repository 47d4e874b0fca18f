// SPDX-License-Identifier: Apache-2.0
#include "factor_kernels.hpp"

#include <algorithm>
#include <cmath>

#include "vector_lanes.hpp"

namespace yolk::autotune {
namespace {

using Lane = double __attribute__((vector_size(kLane * sizeof(double)), aligned(sizeof(double)), may_alias));

/// A tile's sums in registers, less the products of `factors` with `rows` rows that are `stride` apart, in order.
template <std::size_t Lanes>
YOLK_INLINE void less_products(double* sums, const double* rows, std::size_t stride, std::size_t count,
                               const double* factors, std::size_t factor_stride) {
    Lane all[Lanes];  // NOLINT(modernize-avoid-c-arrays): std::array drops a vector type's attributes
#pragma GCC unroll 8
    for (std::size_t l = 0; l < Lanes; ++l) all[l] = *reinterpret_cast<const Lane*>(sums + l * kLane);
    for (std::size_t k = 0; k < count; ++k) {
        const double factor = factors[k * factor_stride];
        const double* const row = rows + k * stride;
#pragma GCC unroll 8
        for (std::size_t l = 0; l < Lanes; ++l) all[l] -= factor * *reinterpret_cast<const Lane*>(row + l * kLane);
    }
#pragma GCC unroll 8
    for (std::size_t l = 0; l < Lanes; ++l) *reinterpret_cast<Lane*>(sums + l * kLane) = all[l];
}

YOLK_INLINE void extend(double* tile, std::size_t first, std::span<const FactorRow> rows, const TileScores& scores,
                        double least_variance) {
    for (std::size_t k = first; k < rows.size(); ++k) {
        const FactorRow& row = rows[k];
        double* const v = tile + k * kTile;
        less_products<kTile / kLane>(v, tile, kTile, k, row.factor, 1);
        for (std::size_t c = 0; c < kTile; ++c) {
            v[c] *= row.inverse_pivot;
            scores.values[c] += row.value_entry * v[c];
            scores.units[c] += row.unit_entry * v[c];
            scores.variances[c] = std::max(scores.variances[c] - v[c] * v[c], least_variance);
        }
    }
}

YOLK_INLINE bool factor(double* a, std::size_t n, std::size_t width) {
    for (std::size_t i = 0; i < n; ++i) {
        double* const row = a + i * width;
        std::size_t c = i / kLane * kLane;
        for (; c + kTile <= width; c += kTile) less_products<kTile / kLane>(row + c, a + c, width, i, a + i, width);
        for (; c < width; c += kLane) less_products<1>(row + c, a + c, width, i, a + i, width);
        if (!(row[i] > 0.0)) return false;
        const double inverse = 1.0 / std::sqrt(row[i]);
        for (std::size_t j = i; j < width; ++j) row[j] *= inverse;
    }
    return true;
}

YOLK_INLINE void matern(const double* distances, const double* linear, double share, double* out, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        const double d = distances[i] > 0.0 ? distances[i] : 0.0;
        const double r = std::sqrt(d);
        out[i] = linear[i] + share * (1.0 + r + d * (1.0 / 3.0)) * exp_of_negative(r);
    }
}

/// At least log2(x) and at most .0861 above it; x is a normal number above 0.
YOLK_INLINE double log2_bound(double x) {
    constexpr double kMost = 0.08607133205593432;  // of log2(m) - (m - 1), 1 <= m <= 2
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const double exponent = std::bit_cast<double>((bits >> 52U) | 0x4330000000000000U) - (0x1p52 + 1023.0);
    const double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffU) | 0x3ff0000000000000U);
    return exponent + (mantissa - 1.0) + kMost;
}

YOLK_INLINE void gain_bounds(const GainBound& of, const double* prior, double prior_weight, double* bounds,
                             std::size_t n) {
    constexpr double kRootOfTwoPi = 2.5066282746310002;
    constexpr double kLog2 = 0.6931471805599453;
    constexpr double kRounding = 1e-9;
    constexpr double kHalf = 0.5 - 1e-13;  // so that rounding does not bring the bound of a distant one below it
    const double factor = of.deviation / kRootOfTwoPi;
    for (std::size_t c = 0; c < n; ++c) {
        const double mean = prior_weight * prior[c] + of.level + of.value_scores[c] - of.level * of.unit_scores[c];
        const double root = std::sqrt(of.variances[c]);
        const double z = (of.best - mean) / (of.deviation * root);
        const double t = z < 0.0 ? -z : z;
        const double half = 2.0 / (t + std::sqrt(t * t + 4.0));
        const double above = z > 0.0 ? z * kRootOfTwoPi : 0.0;
        const double square = z > 0.0 ? 0.0 : -kHalf * z * z;
        const double bound = square + kLog2 * log2_bound(factor * root * (above + half * half));
        bounds[c] += of.weight * (bound + kRounding);
    }
}

YOLK_AVX2 void gain_bounds_avx2(const GainBound& of, const double* prior, double prior_weight, double* bounds,
                                std::size_t n) {
    gain_bounds(of, prior, prior_weight, bounds, n);
}
YOLK_AVX2 void extend_avx2(double* tile, std::size_t first, std::span<const FactorRow> rows, const TileScores& scores,
                           double least_variance) {
    extend(tile, first, rows, scores, least_variance);
}
YOLK_AVX2 bool factor_avx2(double* a, std::size_t n, std::size_t width) { return factor(a, n, width); }
YOLK_AVX2 void matern_avx2(const double* distances, const double* linear, double share, double* out, std::size_t n) {
    matern(distances, linear, share, out, n);
}

}  // namespace

void extend_tile(double* tile, std::size_t first, std::span<const FactorRow> rows, const TileScores& scores,
                 double least_variance) {
    has_avx2() ? extend_avx2(tile, first, rows, scores, least_variance)
               : extend(tile, first, rows, scores, least_variance);
}

bool factor_in_place(double* a, std::size_t n, std::size_t width) {
    return has_avx2() ? factor_avx2(a, n, width) : factor(a, n, width);
}

void add_matern(std::span<const double> distances, std::span<const double> linear, double share,
                std::span<double> out) {
    has_avx2() ? matern_avx2(distances.data(), linear.data(), share, out.data(), out.size())
               : matern(distances.data(), linear.data(), share, out.data(), out.size());
}

void add_gain_bounds(const GainBound& of, std::span<double> bounds) {
    // Without a prior its place is taken by numbers that are there anyway, times 0.
    const double* const prior = of.prior != nullptr ? of.prior : of.variances;
    const double weight = of.prior != nullptr ? 1.0 : 0.0;
    has_avx2() ? gain_bounds_avx2(of, prior, weight, bounds.data(), bounds.size())
               : gain_bounds(of, prior, weight, bounds.data(), bounds.size());
}

}  // namespace yolk::autotune
