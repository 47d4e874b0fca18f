// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "yolk/internal/oracle/convert.hpp"

namespace yolk::oracle {

namespace {

struct Layout {
    int mantissa_bits;
    int bias;
    int special;  ///< the exponent of infinities and NaN
};

Layout layout_of(FloatFormat format) { return format == FloatFormat::F16 ? Layout{10, 15, 31} : Layout{7, 127, 255}; }

}  // namespace

double value_of_half(FloatFormat format, std::uint16_t bits) {
    const Layout layout = layout_of(format);
    const int mantissa = bits & ((1 << layout.mantissa_bits) - 1);
    const int exponent = (bits & 0x7FFF) >> layout.mantissa_bits;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == layout.special)
        return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
    const int leading = exponent == 0 ? 0 : 1 << layout.mantissa_bits;
    const int scale = (exponent == 0 ? 1 : exponent) - layout.bias - layout.mantissa_bits;
    return sign * std::ldexp(leading + mantissa, scale);
}

std::uint16_t nearest_half(FloatFormat format, double value) {
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    // Patterns of one sign ascend with their values; `high` is the first one above.
    const auto infinity = static_cast<std::uint32_t>(layout_of(format).special << layout_of(format).mantissa_bits);
    std::uint32_t low = 0, high = infinity;
    while (high - low > 1) {
        const std::uint32_t middle = (low + high) / 2;
        (value_of_half(format, static_cast<std::uint16_t>(middle)) <= magnitude ? low : high) = middle;
    }
    const double below = value_of_half(format, static_cast<std::uint16_t>(low));
    // What comes behind the largest finite number, were the exponent unbounded.
    const double above = high == infinity ? 2.0 * below - value_of_half(format, static_cast<std::uint16_t>(low - 1))
                                          : value_of_half(format, static_cast<std::uint16_t>(high));
    const double to_below = magnitude - below, to_above = above - magnitude;
    const bool up = to_above < to_below || (to_above == to_below && low % 2 == 1);
    return static_cast<std::uint16_t>((up ? high : low) | sign);
}

}  // namespace yolk::oracle
