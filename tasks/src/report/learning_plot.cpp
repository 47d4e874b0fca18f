// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/tasks/learning_plot.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "learning_curves.hpp"
#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/page.hpp"

namespace yolk::tasks {
namespace {

constexpr double kPlotWidth = 760.0, kPlotHeight = 380.0, kLegendLine = 19.0;
constexpr std::size_t kMostPointsOfPlot = 1000;  // of one curve; the frame is 688 pixels wide

constexpr std::string_view kPlotStyle = R"(
.policy,.mean{fill:none;stroke-linejoin:round;stroke-width:2}.mean{stroke-width:1.4;stroke-dasharray:5 3}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}.c4{stroke:var(--c4)}
.c5{stroke:var(--c5)}.c6{stroke:var(--c6)}.c7{stroke:var(--c7)}.ink{stroke:var(--ink)}
)";

std::string plot_title(std::span<const LearningLog> logs) {
    const std::uint64_t population = logs.front().population;
    const bool same = std::ranges::all_of(logs, [&](const LearningLog& log) { return log.population == population; });
    return same && population > 0 ? fmt::format("{}, population {}", logs.front().name, population) : logs.front().name;
}

std::string learning_curve(const PlotFrame& frame, const LearningLog& log, LearningAxis axis, std::size_t index) {
    const std::size_t colour = index % kPageColours;
    const auto path = [&](LearningReading score) {
        return curve_through(frame, log.points, place_on(axis), score, kMostPointsOfPlot).path;
    };
    return fmt::format(
        "<g><title>{}</title><path class=\"mean c{}\" d=\"{}\"/><path class=\"policy c{}\" d=\"{}\"/></g>\n",
        markup_text(log_label(log)), colour, path(&mean_of), colour, path(&policy_of));
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
                                   trained ? "the policy without perturbation" : "without perturbation") +
                      legend_entry(second, y, "mean " + colour, "mean of the population");
    if (logs.size() == 1) return svg;
    for (std::size_t i = 0; i < logs.size(); ++i) {
        if (i % 2 == 0) y += kLegendLine;
        svg += legend_entry(i % 2 == 0 ? PlotFrame::kLeft : second, y, fmt::format("policy c{}", i % kPageColours),
                            log_label(logs[i]));
    }
    return svg;
}

}  // namespace

std::string learning_plot(std::span<const LearningLog> logs, LearningAxis axis) {
    LogList drawn;
    for (const LearningLog& log : logs) drawn.push_back(&log);
    const PlotFrame frame = curve_frame(kPlotWidth, kPlotHeight, drawn, place_on(axis), {&mean_of, &policy_of});
    const std::size_t lines = logs.size() == 1 ? 1 : 1 + (logs.size() + 1) / 2;
    const double height = kPlotHeight + kLegendLine * static_cast<double>(lines) + 10.0;
    const std::string title = plot_title(logs);
    const LearningLogKind kind = logs.front().kind;
    std::string svg = begin_lone_picture(kPlotWidth, height, "Learning curves: " + title, kPlotStyle);
    svg += plot_text(PlotFrame::kLeft, PlotFrame::kTop - 4, "start", title, " class=\"name\"");
    svg += plot_y_axis(frame, score_name(kind)) + plot_x_axis(frame, axis_name(axis, kind));
    for (std::size_t i = 0; i < logs.size(); ++i) svg += learning_curve(frame, logs[i], axis, i);
    return svg + learning_legend(logs) + "</svg>\n";
}

}  // namespace yolk::tasks
