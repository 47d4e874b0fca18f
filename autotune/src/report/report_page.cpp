// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report_plots.hpp"
#include "yolk/internal/autotune/race.hpp"
#include "yolk/internal/autotune/report.hpp"
#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/page.hpp"

namespace yolk::autotune {
namespace {

// Marks and strategies differ by shape and dash besides the colour.
constexpr std::string_view kTuningStyle = R"(
.tuning svg{max-width:100%;height:auto}
.dot{fill:var(--soft);fill-opacity:.45}.median{stroke:var(--ink);stroke-width:2;fill:none}.bad{fill:var(--bad)}
.range{stroke:var(--soft);stroke-width:7;stroke-opacity:.4;fill:none}
.sample{stroke:var(--soft);stroke-opacity:.8;fill:none}
.mark{stroke:var(--bg);stroke-width:1.2}.mark.tuned{fill:var(--c1)}.mark.heuristic{fill:var(--c0)}
.mark.default{fill:var(--c2)}
.curve .mean{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}
.curve .band{fill:var(--c);fill-opacity:0;stroke:none}.curve .band.shown{fill-opacity:.13}
.curve:hover .band{fill-opacity:.3}.curve:hover .mean{stroke-width:3.4}
.s-natural{--c:var(--c0)}.s-natural .mean{stroke-width:2.8}.s-eggroll{--c:var(--c1)}
.s-smoothed{--c:var(--c3)}.s-smoothed .mean{stroke-dasharray:7 3}.s-random{--c:var(--c7)}
.s-random .mean{stroke-dasharray:4 3;stroke-width:2.4}.s-exhaustive{--c:var(--edge)}
.s-exhaustive .mean{stroke-dasharray:1.5 3}.s-greedy{--c:var(--c2)}.s-anneal{--c:var(--c4)}
.s-anneal .mean{stroke-dasharray:9 3 2 3}.s-genetic{--c:var(--c5)}.s-genetic .mean{stroke-dasharray:12 3}
.s-bayes{--c:var(--c6)}.s-bayes .mean{stroke-dasharray:5 2 1 2}.s-other{--c:var(--ink)}
)";

std::string milliseconds(double value) { return value > 0.0 ? fmt::format("{:.4g}", value) : "&ndash;"; }

const ReportedTime* time_named(const ShapeReport& shape, const char* name) {
    const auto at = std::ranges::find(shape.times, name, &ReportedTime::name);
    return at == shape.times.end() ? nullptr : &*at;
}

double median_named(const ShapeReport& shape, const char* name) {
    const ReportedTime* time = time_named(shape, name);
    return time == nullptr ? 0.0 : time->median;
}

std::string speed_up(double heuristic, double time) {
    return heuristic > 0.0 && time > 0.0 ? fmt::format("{:.2f}x", heuristic / time) : "&ndash;";
}

std::string summary(std::span<const ShapeReport> shapes) {
    std::string html =
        "<table><thead><tr><th>shape</th><th class=\"n\">default ms</th><th class=\"n\">heuristic ms</th><th "
        "class=\"n\">tuned ms</th><th class=\"n\">speed-up</th><th class=\"n\">spread</th><th "
        "class=\"n\">measured</th><th class=\"n\">failed</th></tr></thead>\n<tbody>\n";
    std::string driver;
    for (std::size_t s = 0; s < shapes.size(); ++s) {
        const ShapeReport& shape = shapes[s];
        if (s == 0 || shape.driver != driver) {
            html += fmt::format("<tr><td colspan=\"8\" class=\"soft\">{}<br>{}</td></tr>\n", markup_text(shape.device),
                                markup_text(shape.driver));
            driver = shape.driver;
        }
        const double heuristic = median_named(shape, "heuristic");
        const double tuned = median_named(shape, "tuned");
        html += fmt::format(
            "<tr><td><a href=\"#shape-{}\">{}</a></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td></tr>\n",
            s + 1, markup_text(shape.title), milliseconds(median_named(shape, "default")), milliseconds(heuristic),
            milliseconds(tuned), speed_up(heuristic, tuned),
            tuned > 0.0 ? fmt::format("{:.1f} %", 100.0 * shape.spread) : "&ndash;", shape.measured,
            shape.failures.size());
    }
    return html + "</tbody></table>\n";
}

std::string times_section(const ShapeReport& shape) {
    if (shape.times.empty()) return {};
    std::string html = "<h4>Default, heuristic, tuned</h4>\n";
    html += times_plot(shape);
    html +=
        "<table><thead><tr><th></th><th class=\"n\">median ms</th><th class=\"n\">against the heuristic</th><th "
        "class=\"n\">spread</th><th class=\"n\">samples</th><th>configuration</th></tr></thead>\n<tbody>\n";
    const double heuristic = median_named(shape, "heuristic");
    for (const ReportedTime& time : shape.times) {
        const bool tuned = time.name == "tuned";
        const double spread = tuned ? shape.spread : spread_of(time.samples);
        const bool has_spread = tuned ? time.median > 0.0 : time.samples.size() >= 2;
        html += fmt::format(
            "<tr><td>{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td><td><code>{}</code></td></tr>\n",
            markup_text(time.name), tuned && shape.pinned ? ", pinned" : "", milliseconds(time.median),
            speed_up(heuristic, time.median), has_spread ? fmt::format("{:.1f} %", 100.0 * spread) : "&ndash;",
            time.samples.size(), markup_text(time.configuration));
    }
    return html +
           "</tbody></table>\n<p class=\"soft\">Medians are of the last finals; samples are of all finals. Spread: "
           "interquartile range over the median.</p>\n";
}

std::string figure_cell(const std::optional<std::uint64_t>& value) {
    return value ? fmt::format("<td class=\"n\">{}</td>", *value) : "<td class=\"n\">&ndash;</td>";
}

std::string pipeline_row(const ReportedTime& time, const ReportedPipeline& pipeline) {
    const PipelineFigures& f = pipeline.figures;
    std::string html =
        fmt::format("<tr><td>{}</td><td><code>{}</code></td>", markup_text(time.name), markup_text(pipeline.kernel));
    for (const auto& value : {f.registers, f.spilled_registers, f.scratch_bytes, f.shared_bytes})
        html += figure_cell(value);
    html += f.waves && f.waves_of ? fmt::format("<td class=\"n\">{} of {}</td>", *f.waves, *f.waves_of)
                                  : figure_cell(f.waves);
    for (const auto& value : {f.instructions, f.code_bytes, f.latency, f.inverse_throughput})
        html += figure_cell(value);
    return html + "</tr>\n";
}

std::string pipelines_section(const ShapeReport& shape) {
    std::string rows;
    for (const ReportedTime& time : shape.times)
        for (const ReportedPipeline& pipeline : time.pipelines) rows += pipeline_row(time, pipeline);
    if (rows.empty()) return {};
    std::string html =
        "<h4>What the driver&rsquo;s compiler made of them</h4>\n<table><thead><tr><th></th><th>kernel</th>";
    for (const char* heading : {"registers", "spills", "scratch bytes", "shared bytes", "waves", "instructions",
                                "code bytes", "latency", "inverse throughput"})
        html += fmt::format("<th class=\"n\">{}</th>", heading);
    return html + "</tr></thead>\n<tbody>\n" + rows +
           "</tbody></table>\n<p class=\"soft\">As <code>yolk inspect</code> shows it. Latency and inverse throughput "
           "are "
           "cycles by the compiler&rsquo;s model, which knows neither caches nor the length of loops.</p>\n";
}

std::string knobs_section(const ShapeReport& shape) {
    if (!shape.surface) return "<p>No configuration that works was measured.</p>\n";
    const auto parameters = shape.surface->candidates().space().parameters();
    std::string plots;
    std::string fixed;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        if (parameters[p].values.size() > 1) {
            plots += knob_plot(shape, p);
        } else {
            fixed += fmt::format("{}{} {}", fixed.empty() ? "" : ", ", parameters[p].name,
                                 to_text(parameters[p].values.front()));
        }
    }
    std::string html = fmt::format(
        "<h4>Cost by knob</h4>\n<p class=\"soft\">A dot for each configuration that was measured (its median; of more "
        "than 60 of a value, 60 evenly by rank), a bar for the median of a value; a search measures good "
        "configurations more often than bad ones.{}</p>\n",
        shape.times.empty() ? "" : " <span class=\"marks\">Diamond: tuned, square: heuristic, circle: default.</span>");
    html += "<div class=\"plots\">\n" + plots + "</div>\n";
    if (!fixed.empty()) html += fmt::format("<p class=\"soft\">The same in all: {}.</p>\n", markup_text(fixed));
    return html;
}

std::string curves_table(const ShapeReport& shape) {
    const std::vector<std::size_t> budgets = reported_budgets(shape.replayed_budget);
    std::string html = "<table><thead><tr><th>mean (tenth percentile) after</th>";
    for (const std::size_t budget : budgets) html += fmt::format("<th class=\"n\">{}</th>", budget);
    html += "</tr></thead>\n<tbody>\n";
    for (const StrategyCurve& curve : shape.curves) {
        html += fmt::format("<tr><td>{}{}</td>", legend_line(curve.strategy), markup_text(curve.strategy));
        for (const std::size_t budget : budgets) {
            html += fmt::format("<td class=\"n\">{:.3f} ({:.3f})</td>", curve.replay.mean(budget),
                                curve.replay.percentile(budget, 0.1));
        }
        html += "</tr>\n";
    }
    return html + "</tbody></table>\n";
}

std::string curves_section(const ShapeReport& shape, const ReportReplays& replays) {
    if (shape.curves.empty()) return {};
    std::string html = fmt::format(
        "<h4>How the strategies would have fared</h4>\n<p>Replays of {} searches each, seeds from {}, that know only "
        "the {} configurations which were measured{}{}: the best of those counts as 1. Lines are means, bands go from "
        "the tenth to the ninetieth percentile.</p>\n",
        shape.curves.front().replay.curves.size(), replays.seed, shape.measured,
        shape.candidates.empty() ? "" : ", of ", markup_text(shape.candidates));
    html += "<p class=\"legend\">";
    for (const StrategyCurve& curve : shape.curves)
        html += fmt::format("<span>{}{}</span> ", legend_line(curve.strategy), markup_text(curve.strategy));
    html += "</p>\n" + curves_plot(shape) + curves_table(shape) +
            "<details open><summary>Each against random search</summary>\n<div class=\"plots\">\n";
    for (const StrategyCurve& curve : shape.curves) {
        if (curve.strategy != "random") html += strategy_plot(shape, curve);
    }
    return html + "</div></details>\n";
}

std::string failures_section(const ShapeReport& shape) {
    if (shape.failures.empty()) return {};
    std::string html = fmt::format(
        "<details{}><summary>{} configuration{} failed</summary>\n<table><thead><tr><th></th><th>configuration</th>"
        "<th>reason</th></tr></thead>\n<tbody>\n",
        shape.failures.size() <= 12 ? " open" : "", shape.failures.size(), shape.failures.size() == 1 ? "" : "s");
    for (const ReportedFailure& failure : shape.failures) {
        html += fmt::format("<tr><td{}>{}</td><td><code>{}</code></td><td>{}</td></tr>\n",
                            failure.quarantined ? " class=\"bad\"" : "", failure.quarantined ? "quarantined" : "failed",
                            markup_text(failure.configuration), markup_text(failure.reason));
    }
    return html + "</tbody></table></details>\n";
}

std::string shape_section(const ShapeReport& shape, std::size_t number, const ReportReplays& replays) {
    std::string html =
        fmt::format("<section class=\"tuning\" id=\"shape-{}\">\n<h3>{}</h3>\n<p class=\"soft\">{}<br>{}</p>\n", number,
                    markup_text(shape.title), markup_text(shape.device), markup_text(shape.driver));
    html += fmt::format("<p>{} configuration{} measured{}{}{}.</p>\n", shape.measured,
                        shape.measured == 1 ? " was" : "s were", shape.candidates.empty() ? "" : " of ",
                        markup_text(shape.candidates),
                        shape.failures.empty() ? "" : fmt::format("; {} failed", shape.failures.size()));
    html += times_section(shape) + pipelines_section(shape) + knobs_section(shape) + curves_section(shape, replays);
    for (const std::string& note : shape.notes) html += fmt::format("<p class=\"soft\">{}</p>\n", markup_text(note));
    return html + failures_section(shape) + "</section>\n";
}

}  // namespace

std::string_view report_style() { return kTuningStyle; }

std::string report_body(std::span<const ShapeReport> shapes, const ReportReplays& replays) {
    std::string html;
    const bool timed = std::ranges::any_of(shapes, [](const ShapeReport& shape) { return !shape.times.empty(); });
    if (shapes.empty()) html += "<p>The table has no shapes yet: tune some with <code>yolk tune</code>.</p>\n";
    if (shapes.size() > 1 || timed) html += summary(shapes);
    for (std::size_t s = 0; s < shapes.size(); ++s) html += shape_section(shapes[s], s + 1, replays);
    return html;
}

std::string report_page(std::span<const ShapeReport> shapes, const ReportReplays& replays) {
    return html_page("Tuning", report_style(), report_body(shapes, replays));
}

}  // namespace yolk::autotune
