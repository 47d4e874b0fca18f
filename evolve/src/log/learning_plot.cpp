// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/learning_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <vector>

#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/plot.hpp"

namespace yolk::evolve {
namespace {

constexpr double kPlotWidth = 760.0, kPlotHeight = 380.0, kLegendLine = 19.0;
constexpr std::size_t kMostStretches = 500;  // of one curve; the frame is 688 pixels wide
constexpr std::size_t kPlotColours = 8;

// Colours after Okabe and Ito, which people with any kind of colour vision tell apart. The background is painted, since
// a picture follows the reader's system and the page around it may not.
constexpr const char* kPlotStyle = R"(<style>
text{font:12px system-ui,sans-serif;fill:#1b1d1f}.title{font-weight:600}.page{fill:#fff}
.grid{stroke:#e4e6e8;fill:none}.axis{stroke:#9aa0a6;fill:none}
.policy,.mean{fill:none;stroke-linejoin:round;stroke-width:2}.mean{stroke-width:1.4;stroke-dasharray:5 3}
.c0{stroke:#0072b2}.c1{stroke:#d55e00}.c2{stroke:#007f5c}.c3{stroke:#b8588f}.c4{stroke:#b87700}.c5{stroke:#3a8fbf}
.c6{stroke:#6a2c70}.c7{stroke:#777}.ink{stroke:#1b1d1f}
@media (prefers-color-scheme:dark){text{fill:#e7e9eb}.page{fill:#15171a}.grid{stroke:#2b3036}.axis{stroke:#6d757d}
.c0{stroke:#5cb3f2}.c1{stroke:#ff8b3d}.c2{stroke:#3ccb9c}.c3{stroke:#e79cc8}.c4{stroke:#f0b440}.c5{stroke:#9bd3f5}
.c6{stroke:#c08be0}.c7{stroke:#a0a0a0}.ink{stroke:#e7e9eb}}
</style>
)";

double place_across(const LearningPoint& point, LearningAxis axis) {
    switch (axis) {
        case LearningAxis::Evaluations: return point.evaluations;
        case LearningAxis::Seconds: return point.seconds;
        case LearningAxis::Generation: break;
    }
    return static_cast<double>(point.generation);
}

std::string across_label(LearningAxis axis, LearningLogKind kind) {
    const bool trained = kind == LearningLogKind::Training;
    switch (axis) {
        case LearningAxis::Evaluations: return trained ? "evaluations" : "metric calls";
        case LearningAxis::Seconds: return "seconds";
        case LearningAxis::Generation: break;
    }
    return "generations";
}

/// "runs/seed1" for "runs/seed1/metrics.jsonl": the folder is what a user named.
std::string log_label(const LearningLog& log) {
    const std::filesystem::path path(log.file);
    if (path.filename() == "metrics.jsonl" && path.has_parent_path()) return path.parent_path().string();
    return log.file;
}

std::string plot_title(std::span<const LearningLog> logs) {
    const std::uint64_t population = logs.front().population;
    const bool same = std::ranges::all_of(logs, [&](const LearningLog& log) { return log.population == population; });
    return same && population > 0 ? fmt::format("{}, population {}", logs.front().name, population) : logs.front().name;
}

PlotFrame learning_frame(std::span<const LearningLog> logs, LearningAxis axis) {
    double last = 0.0;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const LearningLog& log : logs) {
        for (const LearningPoint& point : log.points) {
            last = std::max(last, place_across(point, axis));
            for (const double score : {point.mean, point.policy}) {
                if (!std::isfinite(score)) continue;
                low = std::min(low, score);
                high = std::max(high, score);
            }
        }
    }
    if (low > high) low = high = 0.0;
    const Axis x{.scale = AxisScale::Linear, .low = 0.0, .high = last > 0.0 ? last : 1.0};
    return plot_frame(kPlotWidth, kPlotHeight, 40.0, x, axis_around(AxisScale::Linear, low, high));
}

/// Indices of the points to draw: all, or of each stretch the least and the greatest, in order.
std::vector<std::size_t> drawn_points(const std::vector<LearningPoint>& points, double LearningPoint::*score) {
    const std::size_t count = points.size();
    std::vector<std::size_t> drawn;
    if (count <= 2 * kMostStretches) {
        for (std::size_t i = 0; i < count; ++i) drawn.push_back(i);
        return drawn;
    }
    for (std::size_t stretch = 0; stretch < kMostStretches; ++stretch) {
        std::size_t least = stretch * count / kMostStretches;
        std::size_t greatest = least;
        for (std::size_t i = least; i < (stretch + 1) * count / kMostStretches; ++i) {
            // Negated, so that a score which is not finite gives way to any other.
            if (!(points[i].*score >= points[least].*score)) least = std::isnan(points[i].*score) ? least : i;
            if (!(points[i].*score <= points[greatest].*score)) greatest = std::isnan(points[i].*score) ? greatest : i;
        }
        drawn.push_back(std::min(least, greatest));
        if (least != greatest) drawn.push_back(std::max(least, greatest));
    }
    return drawn;
}

/// Interrupted where a score is not finite.
std::string learning_path(const PlotFrame& frame, const LearningLog& log, LearningAxis axis,
                          double LearningPoint::*score) {
    std::string path;
    bool pen_down = false;
    for (const std::size_t i : drawn_points(log.points, score)) {
        const LearningPoint& point = log.points[i];
        if (std::isfinite(point.*score)) {
            path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", frame.x.at(place_across(point, axis)),
                                frame.y.at(point.*score));
            if (!pen_down) path += "h.1";  // a single point is seen, too
        }
        pen_down = std::isfinite(point.*score);
    }
    return path;
}

std::string learning_curve(const PlotFrame& frame, const LearningLog& log, LearningAxis axis, std::size_t index) {
    const std::size_t colour = index % kPlotColours;
    return fmt::format(
        "<g><title>{}</title><path class=\"mean c{}\" d=\"{}\"/><path class=\"policy c{}\" d=\"{}\"/></g>\n",
        markup_text(log_label(log)), colour, learning_path(frame, log, axis, &LearningPoint::mean), colour,
        learning_path(frame, log, axis, &LearningPoint::policy));
}

std::string legend_entry(double x, double y, const std::string& classes, const std::string& text) {
    return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}h30\"/>", classes, x, y - 4) +
           plot_text(x + 37, y, "start", text);
}

/// What solid and dashed mean, and with several logs a line for each, in two columns.
std::string learning_legend(std::span<const LearningLog> logs) {
    const bool trained = logs.front().kind == LearningLogKind::Training;
    const std::string colour = logs.size() == 1 ? "c0" : "ink";
    const double second = (PlotFrame::kLeft + kPlotWidth) / 2;
    double y = kPlotHeight + kLegendLine;
    std::string svg = legend_entry(PlotFrame::kLeft, y, "policy " + colour,
                                   trained ? "the policy without perturbation" : "the system without perturbation") +
                      legend_entry(second, y, "mean " + colour, "mean of the population");
    if (logs.size() == 1) return svg;
    for (std::size_t i = 0; i < logs.size(); ++i) {
        if (i % 2 == 0) y += kLegendLine;
        svg += legend_entry(i % 2 == 0 ? PlotFrame::kLeft : second, y, fmt::format("policy c{}", i % kPlotColours),
                            log_label(logs[i]));
    }
    return svg;
}

}  // namespace

std::string learning_plot(std::span<const LearningLog> logs, LearningAxis axis) {
    const PlotFrame frame = learning_frame(logs, axis);
    const std::size_t lines = logs.size() == 1 ? 1 : 1 + (logs.size() + 1) / 2;
    const double height = kPlotHeight + kLegendLine * static_cast<double>(lines) + 10.0;
    const std::string title = plot_title(logs);
    const LearningLogKind kind = logs.front().kind;
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\" aria-label=\"Learning curves: {2}\">\n",
        kPlotWidth, height, markup_text(title));
    svg += kPlotStyle;
    svg += fmt::format("<rect class=\"page\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n", kPlotWidth, height);
    svg += plot_text(PlotFrame::kLeft, PlotFrame::kTop - 4, "start", title, " class=\"title\"");
    svg += plot_y_axis(frame, kind == LearningLogKind::Training ? "return" : "reward");
    svg += plot_x_axis(frame, across_label(axis, kind));
    for (std::size_t i = 0; i < logs.size(); ++i) svg += learning_curve(frame, logs[i], axis, i);
    return svg + learning_legend(logs) + "</svg>\n";
}

}  // namespace yolk::evolve
