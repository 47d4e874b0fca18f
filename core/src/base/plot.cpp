// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "yolk/internal/core/markup.hpp"

namespace yolk {
namespace {

constexpr double kAxisRoom = 0.04;  // of the axis, at either end

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
    for (int i = 0; first + i * every <= std::log10(high); ++i) {
        const double decade = first + i * every;
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
        const double factor = high > low ? std::pow(high / low, kAxisRoom) : 1.25;
        axis.low /= factor;
        axis.high *= factor;
    } else {
        const double room = high > low ? kAxisRoom * (high - low) : std::max(0.25 * std::abs(low), 1.0);
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

std::string short_number_text(double value) {
    constexpr std::array kUnits{std::pair{1e12, 'T'}, std::pair{1e9, 'G'}, std::pair{1e6, 'M'}, std::pair{1e3, 'k'}};
    const double magnitude = std::abs(value);
    if (!(magnitude >= 9999.5) || magnitude >= 9.995e14) return number_text(value);
    // A thousandth of a unit rounds up to it: 999,999 is 1M.
    for (const auto& [unit, letter] : kUnits)
        if (magnitude >= 0.9995 * unit) return fmt::format("{:.3g}{}", value / unit, letter);
    return number_text(value);
}

PlotFrame plot_frame(double width, double height, double bottom, Axis x, Axis y) {
    PlotFrame frame{.width = width, .height = height, .bottom = bottom, .x = x, .y = y};
    frame.x.from = PlotFrame::kLeft;
    frame.x.to = frame.right();
    frame.y.from = frame.base();
    frame.y.to = PlotFrame::kTop;
    return frame;
}

std::string plot_text(double x, double y, std::string_view anchor, std::string_view text, std::string_view more) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y, anchor, more,
                       markup_text(text));
}

std::string plot_y_axis(const PlotFrame& frame, std::string_view label) {
    std::string svg;
    for (const double tick : round_ticks(frame.y)) {
        const double y = frame.y.at(tick);
        svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", PlotFrame::kLeft, y, frame.right());
        svg += plot_text(PlotFrame::kLeft - 6, y + 4, "end", short_number_text(tick));
    }
    const double middle = (frame.base() + PlotFrame::kTop) / 2;
    return svg + plot_text(13, middle, "middle", label, fmt::format(" transform=\"rotate(-90 13 {:.1f})\"", middle));
}

std::string plot_x_axis(const PlotFrame& frame, std::string_view label) {
    std::string svg = fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", frame.x.from,
                                  PlotFrame::kTop, frame.base(), frame.right());
    for (const double tick : round_ticks(frame.x)) {
        const double x = frame.x.at(tick);
        svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}v4\"/>", x, frame.base());
        svg += plot_text(x, frame.base() + 17, "middle", short_number_text(tick));
    }
    return svg + plot_text((frame.x.from + frame.right()) / 2, frame.height - 5, "middle", label);
}

}  // namespace yolk
