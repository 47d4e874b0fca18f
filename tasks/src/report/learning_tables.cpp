// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "learning_section.hpp"
#include "yolk/internal/core/markup.hpp"
#include "yolk/json.hpp"

namespace yolk::tasks {
namespace {

std::string setting_of(const LearningLog& run, const char* key) {
    const auto at = run.settings.find(key);
    return at == run.settings.end() ? std::string() : at->second;
}

std::string cell(std::string_view text) { return fmt::format("<td>{}</td>", text.empty() ? "&ndash;" : text); }

std::string number_cell(std::optional<double> value) {
    return fmt::format("<td class=\"n\">{}</td>", value ? short_number_text(*value) : "&ndash;");
}

std::optional<std::uint64_t> generations_wanted(const LearningLog& run) {
    const std::string text = setting_of(run, "generations");
    std::uint64_t wanted = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), wanted);
    return failed == std::errc() && wanted > 0 ? std::optional(wanted) : std::nullopt;
}

std::string state_of(const LearningLog& run) {
    const std::optional<std::uint64_t> wanted = generations_wanted(run);
    if (run.being_written) return "still going";
    if (run.torn_line > 0) return "ended in the middle of a line, which is left out";
    if (run.points.empty()) return "no generation";
    if (!run.stopped_by.empty()) return "ended by " + run.stopped_by;
    if (wanted && run.points.back().generation >= *wanted) return "all generations";
    if (run.kind == LearningLogKind::Training && wanted) return "ended earlier: solved or stopped";
    return {};
}

std::optional<double> last_finite(const LearningLog& run, LearningReading up) {
    for (auto at = run.points.rbegin(); at != run.points.rend(); ++at)
        if (std::isfinite(up(*at))) return up(*at);
    return std::nullopt;
}

std::optional<double> best_score(const LearningLog& run) {
    std::optional<double> best;
    for (const LearningPoint& point : run.points) {
        if (!std::isfinite(point.policy)) continue;
        const bool better = run.kind == LearningLogKind::Bytes ? point.policy < best.value_or(point.policy)
                                                               : point.policy > best.value_or(point.policy);
        if (!best || better) best = point.policy;
    }
    return best;
}

struct RanOn {
    std::string device{};
    std::string driver{};
    friend bool operator==(const RanOn&, const RanOn&) = default;
};

std::string field_of(const Json& object, const char* key) {
    const auto at = object.find(key);
    return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::vector<RanOn> devices_of(const LearningLog& run) {
    std::vector<RanOn> devices;
    const Json several = parse_json(setting_of(run, "devices"), "devices").value_or(Json());
    if (several.is_array()) {
        for (const Json& device : several)
            if (device.is_object()) devices.push_back({field_of(device, "device"), field_of(device, "driver")});
    }
    if (devices.empty() && !setting_of(run, "device").empty()) {
        const std::string info = setting_of(run, "driver_info");
        devices.push_back({setting_of(run, "device"), setting_of(run, "driver") + (info.empty() ? "" : ", ") + info});
    }
    return devices;
}

}  // namespace

std::string runs_table(const LogList& runs) {
    const LearningLogKind kind = runs.front()->kind;
    std::string html = fmt::format(
        "<table><thead><tr><th>run</th><th class=\"n\">seed</th><th class=\"n\">population</th><th class=\"n\">"
        "generations</th><th>state</th><th class=\"n\">last {0}</th><th class=\"n\">best {0}</th><th class=\"n\">{1}"
        "</th><th class=\"n\">seconds</th></tr></thead>\n<tbody>\n",
        score_name(kind), evaluations_name(kind));
    for (const LearningLog* run : runs) {
        const bool begun = !run->points.empty();
        const std::optional<std::uint64_t> wanted = generations_wanted(*run);
        html += "<tr>" + cell(markup_text(log_label(*run))) +
                fmt::format("<td class=\"n\">{}</td>", markup_text(setting_of(*run, "seed"))) +
                number_cell(run->population > 0 ? std::optional(static_cast<double>(run->population)) : std::nullopt);
        html += fmt::format("<td class=\"n\">{}{}</td>", begun ? run->points.back().generation : 0,
                            wanted ? fmt::format(" of {}", *wanted) : "");
        html += cell(markup_text(state_of(*run))) + number_cell(last_finite(*run, &policy_of)) +
                number_cell(best_score(*run)) +
                number_cell(begun ? std::optional(run->points.back().evaluations) : std::nullopt) +
                number_cell(begun ? std::optional(run->points.back().seconds) : std::nullopt) + "</tr>\n";
    }
    return html + "</tbody></table>\n";
}

std::string shares_table(const LogList& runs) {
    std::string rows;
    for (const LearningLog* run : runs) {
        std::uint64_t members = 0;
        for (const LoggedDevice& device : run->devices) members += device.members;
        for (const LoggedDevice& device : run->devices) {
            const double percent =
                members > 0 ? 100.0 * static_cast<double>(device.members) / static_cast<double>(members) : 0.0;
            rows += fmt::format(
                "<tr>{}{}<td><svg class=\"key\" viewBox=\"0 0 100 10\" width=\"100\" height=\"10\" "
                "aria-hidden=\"true\">"
                "<rect class=\"share\" width=\"{:.1f}\" height=\"10\"/></svg>{:.1f} %</td><td class=\"n\">{}</td>"
                "<td class=\"n\">{}</td><td class=\"n\">{}</td>{}",
                cell(markup_text(log_label(*run))), cell(markup_text(device.name)), percent, percent, device.members,
                device.audited, device.chunks, number_cell(device.busy_seconds));
            rows += device.dropped_in == 0
                        ? "<td></td></tr>\n"
                        : fmt::format("<td class=\"bad\">in generation {}</td></tr>\n", device.dropped_in);
        }
    }
    if (rows.empty()) return {};
    return "<h3>Devices&rsquo; shares</h3>\n<table><thead><tr><th>run</th><th>device</th><th>of the members</th>"
           "<th class=\"n\">members</th><th class=\"n\">audited</th><th class=\"n\">chunks</th>"
           "<th class=\"n\">busy seconds</th><th>dropped</th></tr></thead>\n<tbody>\n" +
           rows + "</tbody></table>\n";
}

std::string machines_table(const LogList& runs) {
    struct Row {
        std::vector<RanOn> devices;
        std::string version;
        std::string processor;
        std::size_t runs = 0;
    };
    std::vector<Row> rows;
    for (const LearningLog* run : runs) {
        Row row{devices_of(*run), setting_of(*run, "yolk_version"), setting_of(*run, "processor"), 1};
        const auto same = std::ranges::find_if(rows, [&](const Row& other) {
            return other.devices == row.devices && other.version == row.version && other.processor == row.processor;
        });
        if (same != rows.end()) {
            ++same->runs;
        } else {
            rows.push_back(std::move(row));
        }
    }
    std::string html =
        "<h3>Machine and drivers</h3>\n<table><thead><tr><th class=\"n\">runs</th><th>device</th><th>driver</th>"
        "<th>processor</th><th>Yolk</th></tr></thead>\n<tbody>\n";
    for (const Row& row : rows) {
        std::string devices;
        std::string drivers;
        for (const RanOn& device : row.devices) {
            devices += (devices.empty() ? "" : "<br>") + markup_text(device.device);
            drivers += (drivers.empty() ? "" : "<br>") + markup_text(device.driver);
        }
        html += fmt::format("<tr><td class=\"n\">{}</td>{}{}{}{}</tr>\n", row.runs,
                            row.devices.empty() ? cell("the log does not say") : cell(devices), cell(drivers),
                            cell(markup_text(row.processor)), cell(markup_text(row.version)));
    }
    return html + "</tbody></table>\n";
}

}  // namespace yolk::tasks
