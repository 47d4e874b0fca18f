// SPDX-License-Identifier: Apache-2.0
#include "peer_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "yolk/internal/core/markup.hpp"
#include "yolk/internal/core/page.hpp"
#include "yolk/internal/core/plot.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::tasks {
namespace {

constexpr double kBarsWidth = 560.0, kBarHeight = 14.0, kBarPitch = 24.0, kSideWidth = 170.0;
constexpr std::size_t kMostSideLetters = 24;
/// Fields that say what was measured; all others are about the side or how it was measured.
constexpr std::array<const char*, 5> kProblemFields{"network", "problem", "size", "population", "kind"};

constexpr std::string_view kPeerStyle = R"(
.bar{fill:var(--c7)}.bar.ours{fill:var(--c0)}.reach{stroke:var(--ink);fill:none}
)";

std::string text_field(const Json& line, const char* name) {
    const auto at = line.find(name);
    return at != line.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::string problem_of(const Json& line) {
    std::string text;
    for (const char* field : kProblemFields) {
        const auto at = line.find(field);
        if (at == line.end() || !(at->is_string() || at->is_number())) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", field,
                            at->is_string() ? at->get<std::string>() : number_text(at->get<double>()));
    }
    return text;
}

/// A number of 0 or more that an axis can show.
std::optional<double> rate_in(const Json& value) {
    if (!value.is_number()) return std::nullopt;
    const double rate = value.get<double>();
    return rate >= 0.0 && rate <= 1e100 ? std::optional(rate) : std::nullopt;
}

/// What is wrong with a line; empty: nothing.
std::string_view add_row(std::vector<PeerRow>& rows, const Json& line) {
    if (!is_peer_row(line)) return "is not an object with `side` or `peer`";
    PeerRow row{.side = text_field(line, line.contains("side") ? "side" : "peer"),
                .problem = problem_of(line),
                .failed = text_field(line, "failed")};
    bool found = false;
    for (const auto& [name, value] : line.items()) {
        const std::optional<double> rate = rate_in(value);
        if (found || !rate || !(name == "median" || name.ends_with("_per_second"))) continue;
        row.figure = name;
        std::ranges::replace(row.figure, '_', ' ');
        row.median = *rate;
        found = true;
    }
    if (!found && row.failed.empty())
        return "has neither a `median` (or a number that ends in _per_second) nor `failed`";
    row.lowest = rate_in(line.value("lowest", Json()));
    row.highest = rate_in(line.value("highest", Json()));
    rows.push_back(std::move(row));
    return {};
}

bool is_ours(const PeerRow& row) { return row.side.starts_with("yolk"); }

std::string bar_svg(const PlotFrame& frame, const PeerRow& row, double y) {
    const std::string name =
        row.side.size() > kMostSideLetters ? row.side.substr(0, kMostSideLetters - 2) + ".." : row.side;
    std::string svg = plot_text(kSideWidth - 8, y + kBarHeight - 3, "end", name);
    if (!row.failed.empty()) return svg + plot_text(kSideWidth + 6, y + kBarHeight - 3, "start", "failed");
    svg += fmt::format(
        "<rect class=\"bar{}\" data-side=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.0f}\"><title>{}"
        "</title></rect>\n",
        is_ours(row) ? " ours" : "", markup_text(row.side), frame.x.from, y, frame.x.at(row.median) - frame.x.from,
        kBarHeight, markup_text(fmt::format("{}: {}", row.side, short_number_text(row.median))));
    if (row.lowest && row.highest) {
        svg += fmt::format("<path class=\"reach\" d=\"M{0:.1f} {1:.1f}v8m0 -4H{2:.1f}m0 -4v8\"/>\n",
                           frame.x.at(*row.lowest), y + 3, frame.x.at(*row.highest));
    }
    return svg;
}

std::string bars_svg(const std::vector<PeerRow>& rows) {
    double high = 0.0;
    std::string figure;
    for (const PeerRow& row : rows) {
        if (!row.failed.empty()) continue;
        high = std::max({high, row.median, row.highest.value_or(0.0)});
        if (figure.empty()) figure = row.figure;
    }
    if (!(high > 0.0)) return {};
    const double height = PlotFrame::kTop + 40.0 + kBarPitch * static_cast<double>(rows.size());
    PlotFrame frame = plot_frame(kBarsWidth, height, 40, {.low = 0.0, .high = 1.04 * high}, {});
    frame.x.from = kSideWidth;
    std::string svg = begin_picture(kBarsWidth, height, figure + " of each side", " data-figure=\"peers\"") +
                      plot_x_axis(frame, figure);
    double y = PlotFrame::kTop + (kBarPitch - kBarHeight) / 2;
    for (const PeerRow& row : rows) {
        svg += bar_svg(frame, row, y);
        y += kBarPitch;
    }
    return svg + "</svg>\n";
}

std::string rows_table(const std::vector<PeerRow>& rows) {
    const auto ours = std::ranges::find_if(rows, [](const PeerRow& row) { return is_ours(row) && row.median > 0.0; });
    std::string html =
        "<table><thead><tr><th>side</th><th class=\"n\">median</th><th class=\"n\">lowest</th><th class=\"n\">highest"
        "</th><th class=\"n\">Yolk is faster by</th></tr></thead>\n<tbody>\n";
    const auto number = [](std::optional<double> value) {
        return fmt::format("<td class=\"n\">{}</td>", value ? short_number_text(*value) : "&ndash;");
    };
    for (const PeerRow& row : rows) {
        html += fmt::format("<tr><td>{}</td>", markup_text(row.side));
        if (!row.failed.empty()) {
            html += fmt::format("<td class=\"bad\" colspan=\"4\">{}</td></tr>\n", markup_text(row.failed));
            continue;
        }
        const bool compared = ours != rows.end() && !is_ours(row) && row.median > 0.0;
        html += number(row.median) + number(row.lowest) + number(row.highest) +
                (compared ? fmt::format("<td class=\"n\">{:.2f} times</td></tr>\n", ours->median / row.median)
                          : std::string("<td></td></tr>\n"));
    }
    return html + "</tbody></table>\n";
}

}  // namespace

bool is_peer_row(const Json& line) {
    return line.is_object() && (line.value("side", Json()).is_string() || line.value("peer", Json()).is_string());
}

Result<std::vector<PeerRow>> parse_peer_rows(std::string_view text, std::string_view file) {
    std::vector<PeerRow> rows;
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        ++number;
        if (line.empty()) continue;
        const Result<Json> json = parse_json(line, fmt::format("'{}', line {}", shown(file), number));
        if (!json && end == std::string_view::npos) break;
        if (!json) return json.error();
        const std::string_view wrong = add_row(rows, *json);
        if (!wrong.empty()) {
            return bad_input("'{}' is damaged: line {} {}. Remove that line, or print the rows again with --json.",
                             shown(file), number, wrong);
        }
    }
    return rows;
}

std::string peer_section(const std::string& title, const std::vector<PeerRow>& rows) {
    std::vector<std::pair<std::string, std::vector<PeerRow>>> problems;
    for (const PeerRow& row : rows) {
        auto at = std::ranges::find(problems, row.problem, &std::pair<std::string, std::vector<PeerRow>>::first);
        if (at == problems.end()) at = problems.insert(problems.end(), {row.problem, {}});
        at->second.push_back(row);
    }
    std::string html = fmt::format("<section>\n<h2>Beside others: {}</h2>\n", markup_text(title));
    for (const auto& [problem, sides] : problems) {
        if (!problem.empty()) html += fmt::format("<h3>{}</h3>\n", markup_text(problem));
        html += "<div class=\"plots\">\n" + bars_svg(sides) + "</div>\n" + rows_table(sides);
    }
    return html + "<p class=\"soft\">Bars are medians; lines go from the lowest turn to the highest.</p>\n</section>\n";
}

std::string_view peer_style() { return kPeerStyle; }

}  // namespace yolk::tasks
