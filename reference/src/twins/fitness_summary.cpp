// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/reference/fitness_summary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace yolk::reference {
namespace {

constexpr float kReciprocal127 = std::bit_cast<float>(0x3C010204U);
constexpr float kSpreadEpsilon = 1e-5F;
constexpr int kSmallestSpreadExponent = -40;

/// In units of 4^(E-24).
float quantized_variance(const ScoreMoments& moments) {
    const auto magnitude = static_cast<WideSum>(std::abs(moments.sum));
    const WideSum integer = moments.squares * moments.population - magnitude * magnitude;
    return flushed_score_product(flushed_score_product(static_cast<float>(integer), moments.reciprocal()),
                                 moments.reciprocal());
}

}  // namespace

float scaled_score(float x, int power) {
    const double exact_value = std::ldexp(static_cast<double>(x), power);
    if (std::abs(exact_value) < 0x1p-100) return 0.0F;
    const auto largest = static_cast<double>(std::numeric_limits<float>::max());
    return static_cast<float>(std::clamp(exact_value, -largest, largest));
}

int ScoreMoments::unit() const { return std::max(exponent, kSmallestSpreadExponent); }
float ScoreMoments::mean() const {
    return scaled_score(flushed_score_product(static_cast<float>(sum), reciprocal()), exponent - 24);
}
float ScoreMoments::variance() const { return scaled_score(quantized_variance(*this), 2 * (exponent - 24)); }
float ScoreMoments::inverse_deviation() const {
    const float total = scaled_score(quantized_variance(*this), 2 * (exponent - 24 - unit())) +
                        scaled_score(kSpreadEpsilon, -2 * unit());
    const float deviation = exact::exact_sqrt(total);
    return deviation == 0.0F ? 0.0F : exact::exact_reciprocal(deviation);
}

float difference_coefficient(const ScoreMoments& moments, float scale) {
    const float in_units = scaled_score(scale, moments.exponent - moments.unit());
    return flushed_score_product(flushed_score_product(in_units, moments.inverse_deviation()), kReciprocal127);
}

float sign_coefficient(std::uint32_t population, std::uint32_t nonzero_pairs) {
    if (nonzero_pairs == 0) return 0.0F;
    const auto doubled = static_cast<float>(2 * population);
    return exact::exact_sqrt(
        flushed_score_product(doubled, exact::exact_reciprocal(static_cast<float>(nonzero_pairs))));
}

float rank_coefficient(std::uint32_t population, std::int64_t largest, std::uint64_t squares) {
    if (largest == 0) return 0.0F;
    const float reciprocal = 1.0F / static_cast<float>(population);
    const float deviation = exact::exact_sqrt(flushed_score_product(static_cast<float>(squares), reciprocal));
    return flushed_score_product(flushed_score_product(static_cast<float>(largest), exact::exact_reciprocal(deviation)),
                                 kReciprocal127);
}

float robust_scale(float largest, float median) { return std::min(largest, flushed_score_product(6.0F, median)); }

}  // namespace yolk::reference
