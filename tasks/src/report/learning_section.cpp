// SPDX-License-Identifier: Apache-2.0
#include "learning_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/page.hpp"

namespace yolk::tasks {
namespace {

constexpr double kFigureWidth = 560.0, kFigureHeight = 300.0;
constexpr std::size_t kTypicalPoints = 240;

constexpr std::string_view kLearningStyle = R"(
.seed{fill:none;stroke:var(--c);stroke-width:1.1;stroke-opacity:.5;stroke-linejoin:round}
.seed.alone{stroke-width:2;stroke-opacity:1}.run:hover .seed{stroke-width:2.4;stroke-opacity:1}
.typical{fill:none;stroke:var(--c);stroke-width:3;stroke-linejoin:round}
.quartiles{fill:var(--c);fill-opacity:.16;stroke:none}
.population{fill:none;stroke:var(--c);stroke-width:1.4;stroke-dasharray:5 3}.share{fill:var(--c0)}
.g0{--c:var(--c0)}.g1{--c:var(--c1)}.g2{--c:var(--c2)}.g3{--c:var(--c3)}.g4{--c:var(--c4)}.g5{--c:var(--c5)}
.g6{--c:var(--c6)}.g7{--c:var(--c7)}
)";

/// What a figure shows of each run.
struct LearningFigure {
    std::string_view name;  ///< for those who look for it in the page
    std::string across_label;
    std::string up_label;
    LearningReading across;
    LearningReading up;
    bool from_zero = false;  ///< a rate, of which the population has no mean
};

std::string group_svg(const PlotFrame& frame, const LearningFigure& figure, const LearningGroup& group,
                      std::size_t index, std::size_t most_points) {
    const bool alone = group.runs.size() == 1;
    std::string svg = fmt::format("<g class=\"g{}\">", index % kPageColours);
    if (!alone) {
        const std::vector<TypicalPoint> typical = typical_of(group.runs, figure.across, figure.up, kTypicalPoints);
        svg += fmt::format("<path class=\"quartiles\" d=\"{}\"/>\n", quartile_path(frame, typical));
        svg += fmt::format("<path class=\"typical\" data-points=\"{}\" d=\"{}\"/>\n", typical.size(),
                           median_path(frame, typical));
    }
    for (const LearningLog* run : group.runs) {
        const Curve curve = curve_through(frame, run->points, figure.across, figure.up, most_points);
        svg += fmt::format(
            "<g class=\"run\" data-run=\"{0}\" data-generations=\"{1}\" data-points=\"{2}\"><title>{0}</title>"
            "<path class=\"seed{4}\" d=\"{3}\"/></g>\n",
            markup_text(log_label(*run)), run->points.size(), curve.points, curve.path, alone ? " alone" : "");
        if (alone && !figure.from_zero && has_finite(*run, &mean_of)) {
            svg += fmt::format("<path class=\"population\" d=\"{}\"/>\n",
                               curve_through(frame, run->points, figure.across, &mean_of, most_points).path);
        }
    }
    return svg + "</g>\n";
}

/// Of the runs that have what it shows; empty where none has.
std::string figure_svg(const LearningFigure& figure, const std::vector<LearningGroup>& groups, bool counted,
                       std::size_t most_points) {
    std::vector<LearningGroup> shown = groups;
    LogList all;
    for (LearningGroup& group : shown) {
        std::erase_if(group.runs, [&](const LearningLog* run) {
            return !has_finite(*run, figure.up) || (counted && run->points.front().generation != 1);
        });
        all.insert(all.end(), group.runs.begin(), group.runs.end());
    }
    if (all.empty()) return {};
    const bool with_means = !figure.from_zero && std::ranges::any_of(shown, [](const LearningGroup& group) {
        return group.runs.size() == 1 && has_finite(*group.runs.front(), &mean_of);
    });
    const PlotFrame frame =
        with_means ? curve_frame(kFigureWidth, kFigureHeight, all, figure.across, {figure.up, &mean_of})
                   : curve_frame(kFigureWidth, kFigureHeight, all, figure.across, {figure.up}, figure.from_zero);
    std::string svg =
        begin_picture(kFigureWidth, kFigureHeight, fmt::format("{} by {}", figure.up_label, figure.across_label),
                      fmt::format(" data-figure=\"{}\"", figure.name)) +
        plot_y_axis(frame, figure.up_label) + plot_x_axis(frame, figure.across_label);
    for (std::size_t g = 0; g < shown.size(); ++g)
        if (!shown[g].runs.empty()) svg += group_svg(frame, figure, shown[g], g, most_points);
    return svg + "</svg>\n";
}

std::string legend_key(std::string_view line, std::size_t colour) {
    return fmt::format(
        "<svg class=\"key\" viewBox=\"0 0 34 10\" width=\"34\" height=\"10\" aria-hidden=\"true\"><g class=\"g{}\">"
        "<path class=\"{}\" d=\"M1 5H33\"/></g></svg>",
        colour % kPageColours, line);
}

std::string legend(const std::vector<LearningGroup>& groups, LearningLogKind kind) {
    std::string html = "<p class=\"legend\">";
    const auto add = [&](std::string_view line, std::size_t colour, std::string_view text) {
        html += fmt::format("<span>{}{}</span> ", legend_key(line, colour), markup_text(text));
    };
    const bool several = std::ranges::any_of(groups, [](const LearningGroup& group) { return group.runs.size() > 1; });
    const bool single = std::ranges::any_of(groups, [](const LearningGroup& group) { return group.runs.size() == 1; });
    const bool labelled = groups.size() > 1;
    for (std::size_t g = 0; labelled && g < groups.size(); ++g) {
        add("typical", g,
            fmt::format("{} ({} run{})", groups[g].label, groups[g].runs.size(),
                        groups[g].runs.size() == 1 ? "" : "s"));
    }
    if (labelled) html += "</p>\n<p class=\"legend soft\">";
    if (several) {
        add("typical", 0, "median of the seeds");
        html += "<span>band: from the first to the third quartile</span> ";
        add("seed", 0, "one seed");
    }
    if (single) add("seed alone", 0, several ? "a run alone" : "without perturbation");
    if (single && kind != LearningLogKind::Bytes) add("population", 0, "mean of its population");
    return html + "</p>\n";
}

std::string heading(const LogList& runs) {
    std::string html = fmt::format("<h2>{}</h2>\n<p>{} run{}", markup_text(runs.front()->name), runs.size(),
                                   runs.size() == 1 ? "" : "s");
    const auto running = std::ranges::count_if(runs, [](const LearningLog* run) { return run->being_written; });
    if (running > 0) html += fmt::format(", {} of them still going", running);
    return html + ".</p>\n";
}

}  // namespace

std::string_view learning_style() { return kLearningStyle; }

std::string learning_section(const LogList& runs, std::size_t number, std::size_t most_points) {
    const LearningLogKind kind = runs.front()->kind;
    const std::vector<LearningGroup> groups = groups_of(runs);
    std::string figures;
    for (const LearningAxis axis : {LearningAxis::Generation, LearningAxis::Evaluations, LearningAxis::Seconds}) {
        const std::string across(axis_name(axis, kind));
        figures += figure_svg({.name = across,
                               .across_label = across,
                               .up_label = std::string(score_name(kind)),
                               .across = place_on(axis),
                               .up = &policy_of},
                              groups, axis != LearningAxis::Generation, most_points);
    }
    figures += figure_svg({.name = "throughput",
                           .across_label = "generations",
                           .up_label = fmt::format("{} per second", evaluations_name(kind)),
                           .across = place_on(LearningAxis::Generation),
                           .up = &rate_of,
                           .from_zero = true},
                          groups, false, most_points);
    std::string html = fmt::format("<section id=\"task-{}\">\n", number) + heading(runs);
    if (figures.empty()) {
        html += "<p>There is no finite score yet, so nothing is drawn.</p>\n";
    } else {
        html += legend(groups, kind) + "<div class=\"plots\">\n" + figures + "</div>\n";
    }
    return html + runs_table(runs) + shares_table(runs) + machines_table(runs) + "</section>\n";
}

}  // namespace yolk::tasks
