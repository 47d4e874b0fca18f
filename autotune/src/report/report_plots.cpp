// SPDX-License-Identifier: Apache-2.0
#include "report_plots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "yolk/internal/autotune/race.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/page.hpp"
#include "yolk/internal/core/plot.hpp"

namespace yolk::autotune {
namespace {

constexpr double kLeft = PlotFrame::kLeft, kRight = PlotFrame::kRight, kTop = PlotFrame::kTop;
constexpr std::size_t kMostDots = 60;     // of one value
constexpr std::size_t kMostPoints = 240;  // of one curve

// --- costs -----------------------------------------------------------------------------------------------------------

std::string with_unit(const std::string& what, const std::string& unit) {
    return unit.empty() ? what : fmt::format("{}, {}", what, unit);
}

std::string cost_text(double cost, const std::string& unit) {
    return number_text(cost) + (unit.empty() ? "" : " " + unit);
}

Axis cost_axis(const ShapeReport& shape) {
    double low = kInvalidCost;
    double high = 0.0;
    for (const double cost : shape.surface->costs()) {
        if (!std::isfinite(cost)) continue;
        low = std::min(low, cost);
        high = std::max(high, cost);
    }
    return axis_around(AxisScale::Log, low, high);
}

/// Where a dot lies across its column, in [-0.5, 0.5]: multiples of the golden ratio spread any count evenly.
double across(std::size_t index) {
    const double turn = static_cast<double>(index) * (std::numbers::phi - 1.0);
    return turn - std::floor(turn) - 0.5;
}

struct Column {
    std::vector<std::size_t> worked;  ///< by cost
    std::size_t failed = 0;
};

std::vector<Column> columns_of(const RecordedSurface& surface, std::size_t parameter) {
    std::vector<Column> columns(surface.candidates().space().parameters()[parameter].values.size());
    for (std::size_t c = 0; c < surface.candidates().size(); ++c) {
        Column& column = columns[surface.candidates()[c][parameter]];
        if (std::isfinite(surface.costs()[c])) {
            column.worked.push_back(c);
        } else {
            ++column.failed;
        }
    }
    for (Column& column : columns)
        std::ranges::stable_sort(column.worked, {}, [&](std::size_t c) { return surface.costs()[c]; });
    return columns;
}

std::string column_svg(const PlotFrame& frame, const ShapeReport& shape, const Column& column, double x, double width) {
    const auto costs = shape.surface->costs();
    std::string svg;
    const std::size_t count = column.worked.size();
    const std::size_t shown = std::min(count, kMostDots);
    for (std::size_t i = 0; i < shown; ++i) {
        // Evenly by rank where they are too many: the least and the most are among them.
        const std::size_t rank = shown < count ? i * (count - 1) / (shown - 1) : i;
        const double cost = costs[column.worked[rank]];
        svg += fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.2\"><title>{}</title></circle>",
                           x + across(column.worked[rank]) * 0.66 * width, frame.y.at(cost),
                           markup_text(cost_text(cost, shape.unit)));
    }
    if (count > 0) {
        std::vector<double> sorted;
        for (const std::size_t c : column.worked) sorted.push_back(costs[c]);
        svg +=
            fmt::format("<path class=\"median\" d=\"M{:.1f} {:.1f}h{:.1f}\"><title>{}</title></path>\n",
                        x - 0.4 * width, frame.y.at(median_of(sorted)), 0.8 * width,
                        markup_text(fmt::format("median of {}: {}", count, cost_text(median_of(sorted), shape.unit))));
    }
    if (column.failed > 0) svg += plot_text(x, kTop - 4, "middle", fmt::format("{}", column.failed), " class=\"bad\"");
    return svg;
}

/// A shape of its own for each, besides the colour.
std::string mark_svg(const std::string& name, double x, double y, const std::string& tooltip) {
    const std::string begin = fmt::format("<g class=\"mark {}\"><title>{}</title>", name, markup_text(tooltip));
    if (name == "tuned") {
        return begin + fmt::format("<path d=\"M{:.1f} {:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z\"/></g>\n", x, y - 5.5);
    }
    if (name == "heuristic")
        return begin + fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"8\" height=\"8\"/></g>\n", x - 4, y - 4);
    return begin + fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\"/></g>\n", x, y);
}

// --- curves ----------------------------------------------------------------------------------------------------------

std::vector<std::size_t> budgets_drawn(std::size_t budget) {
    std::vector<std::size_t> drawn;
    for (std::size_t n = 1; n <= budget; n = std::max(n + 1, n * (kMostPoints + 10) / kMostPoints)) drawn.push_back(n);
    if (drawn.back() != budget) drawn.push_back(budget);
    return drawn;
}

std::string mean_path(const PlotFrame& frame, const Replay& replay, std::size_t budget) {
    std::string path;
    for (const std::size_t n : budgets_drawn(budget)) {
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x.at(static_cast<double>(n)),
                            frame.y.at(replay.mean(n)));
    }
    return path;
}

std::string band_path(const PlotFrame& frame, const Replay& replay, std::size_t budget) {
    std::string path;
    const std::vector<std::size_t> budgets = budgets_drawn(budget);
    const auto add = [&](std::size_t n, double share) {
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.x.at(static_cast<double>(n)),
                            frame.y.at(replay.percentile(n, share)));
    };
    for (const std::size_t n : budgets) add(n, 0.9);
    for (std::size_t i = budgets.size(); i-- > 0;) add(budgets[i], 0.1);
    return path + "Z";
}

std::string curve_svg(const PlotFrame& frame, const StrategyCurve& curve, std::size_t budget, bool banded) {
    return fmt::format(
        "<g class=\"curve {}\"><title>{}</title><path class=\"band{}\" d=\"{}\"/><path class=\"mean\" d=\"{}\"/></g>\n",
        strategy_class(curve.strategy), markup_text(curve.strategy), banded ? " shown" : "",
        band_path(frame, curve.replay, budget), mean_path(frame, curve.replay, budget));
}

/// The same for all plots of a shape: from where the worst tenth is after a tenth of the budget.
PlotFrame curve_frame(const ShapeReport& shape, double width, double height) {
    const std::size_t budget = shape.replayed_budget;
    double low = 0.9;
    for (const StrategyCurve& curve : shape.curves)
        low = std::min(low, curve.replay.percentile(std::max<std::size_t>(budget / 10, 2), 0.1));
    const Axis x{.scale = AxisScale::Log, .low = 1.0, .high = static_cast<double>(budget)};
    const Axis y{.scale = AxisScale::Linear, .low = std::floor(low * 10.0) / 10.0, .high = 1.0};
    return plot_frame(width, height, 40, x, y);
}

}  // namespace

std::string strategy_class(std::string_view strategy) {
    constexpr std::array<std::string_view, 9> kStyled{"natural", "eggroll", "smoothed", "random", "exhaustive",
                                                      "greedy",  "anneal",  "genetic",  "bayes"};
    const bool styled = std::ranges::find(kStyled, strategy) != kStyled.end();
    return fmt::format("s-{}", styled ? strategy : "other");
}

std::string legend_line(std::string_view strategy) {
    return fmt::format(
        "<svg class=\"key\" viewBox=\"0 0 34 10\" width=\"34\" height=\"10\" aria-hidden=\"true\"><g class=\"curve "
        "{}\"><path class=\"mean\" d=\"M1 5H33\"/></g></svg>",
        strategy_class(strategy));
}

std::string times_plot(const ShapeReport& shape) {
    double low = kInvalidCost;
    double high = 0.0;
    for (const ReportedTime& time : shape.times) {
        if (time.median <= 0.0) continue;
        std::vector<double> values = time.samples;
        values.push_back(time.median);
        low = std::min(low, *std::ranges::min_element(values));
        high = std::max(high, *std::ranges::max_element(values));
    }
    if (high <= 0.0) return {};
    const double height = 62.0 + 26.0 * static_cast<double>(shape.times.size());
    PlotFrame frame = plot_frame(560, height, 40, axis_around(AxisScale::Log, low, high), {});
    frame.x.from = 86;
    std::string svg = begin_picture(frame.width, frame.height, "times of default, heuristic and tuned") +
                      plot_x_axis(frame, "milliseconds");
    double y = kTop + 18;
    for (const ReportedTime& time : shape.times) {
        svg += plot_text(80, y + 4, "end", time.name);
        if (time.samples.size() >= 2) {
            std::vector<double> sorted = time.samples;
            std::ranges::sort(sorted);
            const double first = sorted[sorted.size() / 4];
            const double third = sorted[sorted.size() - 1 - sorted.size() / 4];
            svg += fmt::format("<path class=\"range\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", frame.x.at(first), y,
                               frame.x.at(third));
            for (const double sample : sorted)
                svg += fmt::format("<path class=\"sample\" d=\"M{:.1f} {:.1f}v8\"/>", frame.x.at(sample), y - 4);
        }
        if (time.median > 0.0)
            svg += mark_svg(time.name, frame.x.at(time.median), y, fmt::format("{:.4g} ms", time.median));
        y += 26;
    }
    return svg + "</svg>\n";
}

std::string knob_plot(const ShapeReport& shape, std::size_t parameter) {
    const Parameter& knob = shape.surface->candidates().space().parameters()[parameter];
    const std::vector<Column> columns = columns_of(*shape.surface, parameter);
    std::size_t longest = 0;
    for (const Value& value : knob.values) longest = std::max(longest, to_text(value).size());
    const double step = std::clamp(220.0 / static_cast<double>(columns.size()), 24.0, 64.0);
    const bool turned = static_cast<double>(longest) * 7.0 + 6.0 > step;
    const double width = kLeft + kRight + std::max(160.0, step * static_cast<double>(columns.size()));
    const double bottom = turned ? 90.0 : 40.0;
    const PlotFrame frame = plot_frame(width, 190.0 + bottom, bottom, {}, cost_axis(shape));
    std::string svg = begin_picture(frame.width, frame.height, fmt::format("cost by {}", knob.name)) +
                      plot_y_axis(frame, with_unit(shape.unit.empty() ? "cost" : "time", shape.unit));
    svg += fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n", kLeft, kTop, frame.base(),
                       frame.right());
    if (std::ranges::any_of(columns, [](const Column& column) { return column.failed > 0; }))
        svg += plot_text(kLeft - 6, kTop - 4, "end", "failed", " class=\"bad\"");
    const double pitch = (frame.right() - kLeft) / static_cast<double>(columns.size());
    const auto middle = [&](std::size_t value) { return kLeft + (static_cast<double>(value) + 0.5) * pitch; };
    for (std::size_t v = 0; v < columns.size(); ++v) {
        svg += column_svg(frame, shape, columns[v], middle(v), std::min(pitch, 64.0));
        std::string name = to_text(knob.values[v]);
        if (name.size() > 14) name = name.substr(0, 12) + "..";
        const std::string more =
            turned ? fmt::format(" transform=\"rotate(-50 {:.1f} {:.1f})\"", middle(v), frame.base() + 14) : "";
        svg += plot_text(middle(v), frame.base() + 16, turned ? "end" : "middle", name, more.c_str());
    }
    for (const ReportedTime& time : shape.times) {
        if (!time.candidate || !std::isfinite(shape.surface->costs()[*time.candidate])) continue;
        const double cost = shape.surface->costs()[*time.candidate];
        const double x = middle(shape.surface->candidates()[*time.candidate][parameter]);
        svg += mark_svg(time.name, x, frame.y.at(cost), fmt::format("{}: {}", time.name, cost_text(cost, shape.unit)));
    }
    return svg + plot_text((kLeft + frame.right()) / 2, frame.height - 6, "middle", knob.name, " class=\"name\"") +
           "</svg>\n";
}

std::string curves_plot(const ShapeReport& shape) {
    const PlotFrame frame = curve_frame(shape, 760, 360);
    std::string svg = begin_picture(frame.width, frame.height, "best so far of all strategies") +
                      plot_y_axis(frame, "best so far, fraction of the best measured") +
                      plot_x_axis(frame, "configurations measured");
    // Random below the others, the house strategy above them.
    for (const bool last : {false, true}) {
        for (const StrategyCurve& curve : shape.curves) {
            const bool banded = curve.strategy == "random" || curve.strategy == "natural";
            if (!last && curve.strategy == "random") svg += curve_svg(frame, curve, shape.replayed_budget, banded);
        }
        for (const StrategyCurve& curve : shape.curves) {
            if (curve.strategy == "random" || (curve.strategy == "natural") != last) continue;
            svg += curve_svg(frame, curve, shape.replayed_budget, curve.strategy == "natural");
        }
    }
    return svg + "</svg>\n";
}

std::string strategy_plot(const ShapeReport& shape, const StrategyCurve& curve) {
    const PlotFrame frame = curve_frame(shape, 340, 220);
    std::string svg = begin_picture(frame.width, frame.height,
                                    fmt::format("best so far of {} and of random search", curve.strategy)) +
                      plot_y_axis(frame, "fraction of the best") + plot_x_axis(frame, "configurations measured");
    for (const StrategyCurve& other : shape.curves) {
        if (other.strategy == "random") svg += curve_svg(frame, other, shape.replayed_budget, true);
    }
    if (curve.strategy != "random") svg += curve_svg(frame, curve, shape.replayed_budget, true);
    return svg + plot_text(frame.right(), frame.base() - 8, "end", curve.strategy, " class=\"name\"") + "</svg>\n";
}

}  // namespace yolk::autotune
