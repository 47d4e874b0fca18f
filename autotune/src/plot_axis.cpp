// SPDX-License-Identifier: Apache-2.0
#include "plot_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace yolk::autotune {
namespace {

constexpr double kRoom = 0.04;  // of the axis, on either side

std::vector<double> even_ticks(double low, double high, std::size_t wanted) {
    const double rough = (high - low) / static_cast<double>(std::max<std::size_t>(wanted, 1));
    const double decade = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10.0 * decade;
    for (const double mantissa : {1.0, 2.0, 5.0}) {
        if (mantissa * decade >= rough * 0.999) {
            step = mantissa * decade;
            break;
        }
    }
    const double slack = 1e-9 * (high - low);
    std::vector<double> ticks;
    for (double k = std::ceil((low - slack) / step); k * step <= high + slack && ticks.size() < 100; k += 1.0)
        ticks.push_back(k * step + 0.0);  // no -0
    return ticks;
}

std::vector<double> decade_ticks(double low, double high, std::span<const double> mantissas, double every) {
    std::vector<double> ticks;
    const double first = std::floor(std::log10(low));
    for (double decade = first; decade <= std::log10(high); decade += every) {
        for (const double mantissa : mantissas) {
            const double tick = mantissa * std::pow(10.0, decade);
            if (tick >= low * (1.0 - 1e-9) && tick <= high * (1.0 + 1e-9)) ticks.push_back(tick);
        }
    }
    return ticks;
}

}  // namespace

double Axis::at(double value) const {
    const double inside = std::clamp(value, low, high);
    const double share =
        scale == AxisScale::Log ? std::log(inside / low) / std::log(high / low) : (inside - low) / (high - low);
    return from + share * (to - from);
}

Axis axis_around(AxisScale scale, double low, double high) {
    Axis axis{.scale = scale, .low = low, .high = high};
    if (scale == AxisScale::Log) {
        const double factor = high > low ? std::pow(high / low, kRoom) : 1.25;
        axis.low /= factor;
        axis.high *= factor;
    } else {
        const double room = high > low ? kRoom * (high - low) : std::max(0.25 * std::abs(low), 1.0);
        axis.low -= room;
        axis.high += room;
    }
    return axis;
}

std::vector<double> round_ticks(const Axis& axis, std::size_t wanted) {
    constexpr std::array kFine{1.0, 1.5, 2.0, 3.0, 5.0, 7.0};
    constexpr std::array kUsual{1.0, 2.0, 5.0};
    constexpr std::array kCoarse{1.0};
    const double ratio = axis.scale == AxisScale::Log ? axis.high / axis.low : 1.0;
    if (ratio < 3.0) return even_ticks(axis.low, axis.high, wanted);
    if (ratio < 10.0) return decade_ticks(axis.low, axis.high, kFine, 1.0);
    if (ratio < 1000.0) return decade_ticks(axis.low, axis.high, kUsual, 1.0);
    return decade_ticks(axis.low, axis.high, kCoarse, std::max(1.0, std::floor(std::log10(ratio) / 6.0)));
}

std::string number_text(double value) {
    const double magnitude = std::abs(value);
    if (magnitude >= 1e6 || (magnitude > 0.0 && magnitude < 1e-4)) return fmt::format("{:.3g}", value);
    return fmt::format("{:.{}g}", value, magnitude >= 1000.0 ? 6 : 4);
}

}  // namespace yolk::autotune
