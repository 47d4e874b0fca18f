// SPDX-License-Identifier: Apache-2.0
#include "bench_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/plot.hpp"

namespace yolk::tasks {
namespace {

constexpr std::string_view kBenchStyle = R"(
.share{display:inline-block;width:6em;height:.7em;background:var(--grid)}.share i{display:block;height:100%;background:var(--c0)}
)";

std::string milliseconds(double seconds) { return short_number_text(1e3 * seconds); }

std::string share_cell(const BenchRow& row) {
    if (!(row.of_limit > 0.0)) return "<td></td>";
    return fmt::format(
        "<td data-share=\"{0:.3f}\"><span class=\"share\"><i style=\"width:{1:.0f}%\"></i></span> {0:.2f} of {2}</td>",
        row.of_limit, 100.0 * std::min(row.of_limit, 1.0), markup_text(row.limit_of));
}

std::string row_html(const BenchRow& row) {
    if (!row.error.empty()) {
        return fmt::format("<tr><td>{}</td><td class=\"bad\" colspan=\"5\">{}</td></tr>\n", markup_text(row.name),
                           markup_text(row.error));
    }
    return fmt::format(
        "<tr><td>{}</td><td class=\"n\">{} {}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td "
        "class=\"n\">{}</td>{}</tr>\n",
        markup_text(row.name), short_number_text(row.rate), markup_text(row.unit), milliseconds(row.seconds),
        milliseconds(row.low), milliseconds(row.high), row.runs, share_cell(row));
}

std::string machine_html(const BenchOutcome& outcome) {
    std::string html = fmt::format("<p>{}, {}, {} cores, Yolk {}.", markup_text(outcome.device),
                                   markup_text(outcome.driver), outcome.cores, markup_text(outcome.version));
    for (const BenchLimit& limit : outcome.limits) {
        html += fmt::format(" Limit of {}: {} {}.", markup_text(limit.name), short_number_text(limit.rate),
                            markup_text(limit.unit));
    }
    return html + "</p>\n";
}

}  // namespace

std::string bench_section(const std::string& title, const BenchOutcome& outcome) {
    std::string html = fmt::format("<section>\n<h2>Rates: {}</h2>\n{}", markup_text(title), machine_html(outcome));
    std::vector<std::string> groups;
    for (const BenchRow& row : outcome.rows) {
        if (std::ranges::find(groups, row.group) == groups.end()) groups.push_back(row.group);
    }
    for (const std::string& group : groups) {
        html += fmt::format(
            "<h3>{}</h3>\n<table><thead><tr><th>what</th><th class=\"n\">rate</th><th class=\"n\">median ms</th><th "
            "class=\"n\">quartiles ms</th><th class=\"n\">runs</th><th>share of the limit</th></tr></thead>\n<tbody>\n",
            markup_text(group));
        for (const BenchRow& row : outcome.rows) {
            if (row.group == group) html += row_html(row);
        }
        html += "</tbody></table>\n";
    }
    return html + "</section>\n";
}

std::string_view bench_style() { return kBenchStyle; }

}  // namespace yolk::tasks
