// SPDX-License-Identifier: Apache-2.0
#include "inspected_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>

#include "output.hpp"
#include "yolk/internal/autotune/user_kernel.hpp"
#include "yolk/internal/context/tuning_transfer.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::cli {
namespace {

using Figure = std::optional<double>;

/// A figure of a row: its name in JSON and for --sort, its heading, how it is read and written.
struct Column {
    std::string_view name;
    const char* heading;
    Figure (*value)(const InspectedRow&);
    bool most_first = false;
    std::string (*text)(const InspectedRow&) = nullptr;  ///< a whole number without it
};

template <class Number>
Figure figure(const std::optional<Number>& value) {
    return value ? Figure(static_cast<double>(*value)) : std::nullopt;
}

std::string waves_text(const InspectedRow& row) {
    const PipelineFigures& f = row.figures;
    return f.waves_of ? fmt::format("{} of {}", *f.waves, *f.waves_of) : fmt::format("{}", *f.waves);
}

template <auto kMember>
Figure figure_of(const InspectedRow& row) {
    return figure(row.figures.*kMember);
}

constexpr std::array kColumns{
    Column{"workgroup_size", "workgroup", [](const InspectedRow& row) { return figure(row.pipeline.workgroup_size); }},
    Column{"subgroup_size", "subgroup",
           [](const InspectedRow& row) {
               return row.executable.subgroup_size == 0 ? Figure() : Figure(row.executable.subgroup_size);
           }},
    Column{"registers", "registers", &figure_of<&PipelineFigures::registers>},
    Column{"spilled_registers", "spills", &figure_of<&PipelineFigures::spilled_registers>},
    Column{"scratch_bytes", "scratch B", &figure_of<&PipelineFigures::scratch_bytes>},
    Column{"shared_bytes", "shared B", &figure_of<&PipelineFigures::shared_bytes>},
    Column{"waves", "waves", &figure_of<&PipelineFigures::waves>, true, &waves_text},
    Column{"occupancy", "occupancy", &figure_of<&PipelineFigures::occupancy>, true,
           [](const InspectedRow& row) { return fmt::format("{:.0f} %", 100.0 * *row.figures.occupancy); }},
    Column{"code_bytes", "code B", &figure_of<&PipelineFigures::code_bytes>},
    Column{"instructions", "instructions", &figure_of<&PipelineFigures::instructions>},
    Column{"latency", "latency", &figure_of<&PipelineFigures::latency>},
    Column{"inverse_throughput", "inv. throughput", &figure_of<&PipelineFigures::inverse_throughput>},
    Column{"compile_milliseconds", "compile ms",
           [](const InspectedRow& row) {
               return row.pipeline.kernel.empty() ? Figure() : Figure(1e3 * row.pipeline.compile_seconds);
           },
           false, [](const InspectedRow& row) { return fmt::format("{:.1f}", 1e3 * row.pipeline.compile_seconds); }},
};

Figure statistic_of(const InspectedRow& row, std::string_view name) {
    const auto& statistics = row.executable.statistics;
    const auto found = std::ranges::find(statistics, name, &PipelineStatistic::name);
    if (found == statistics.end()) return std::nullopt;
    return std::visit([](auto value) { return Figure(static_cast<double>(value)); }, found->value);
}

const Column* column_named(std::string_view name) {
    const auto found = std::ranges::find(kColumns, name, &Column::name);
    return found == kColumns.end() ? nullptr : &*found;
}

std::string cell(const Column& column, const InspectedRow& row) {
    const Figure value = column.value(row);
    if (!value) return "-";
    return column.text == nullptr ? fmt::format("{:.0f}", *value) : column.text(row);
}

template <class Number>
Json json_of(const std::optional<Number>& value) {
    return value ? Json(*value) : Json();
}

}  // namespace

InspectedCandidate candidate_of(const DeviceInfo& info, const oracle::Problem& problem,
                                const Configuration& configuration) {
    const TuningSpace space = problem.space(info);
    const auto* const own = dynamic_cast<const autotune::UserKernel*>(&problem);
    InspectedCandidate candidate{.kernel = space.family(),
                                 .shape = problem.name(),
                                 .text = space.text(configuration),
                                 .is_default = configuration == problem.default_configuration(info)};
    if (own != nullptr) {
        candidate.configuration = own->describe(configuration)["configuration"];
        candidate.text = candidate.configuration.dump();
    } else {
        // Behind the fields a problem's name has what its inputs are, which no pipeline depends on.
        candidate.shape.resize(std::min(candidate.shape.find(", "), candidate.shape.size()));
        candidate.configuration = configuration_json(stored_configuration(space, configuration));
    }
    return candidate;
}

std::vector<InspectedRow> rows_of(const DeviceInfo& info, const InspectedCandidate& candidate,
                                  autotune::InspectedPlan plan) {
    std::vector<InspectedRow> rows;
    for (PipelineReport& report : plan.pipelines) {
        const std::vector<PipelineExecutable> executables = std::exchange(report.executables, {});
        for (const PipelineExecutable& executable : executables)
            rows.push_back({.of = candidate,
                            .pipeline = report,
                            .executable = executable,
                            .figures = pipeline_figures(info, report, executable)});
        if (!executables.empty()) continue;
        rows.push_back({.of = candidate, .pipeline = std::move(report)});
        if (!rows.back().refused()) rows.back().figures.shared_bytes = rows.back().pipeline.declared_shared;
    }
    if (plan.refused.empty()) return rows;
    rows.push_back({.of = candidate, .pipeline = {.kernel = {}, .refused = std::move(plan.refused)}});
    return rows;
}

Json row_json(const InspectedRow& row) {
    Json json{
        {"number", row.of.number},      {"kernel", row.of.kernel},
        {"shape", row.of.shape},        {"configuration", row.of.configuration},
        {"default", row.of.is_default}, {"pipeline", row.pipeline.kernel.empty() ? Json() : Json(row.pipeline.kernel)}};
    Json constants = Json::object();
    for (const auto& [id, value] : row.pipeline.constants) constants[std::to_string(id)] = value;
    json["constants"] = std::move(constants);
    json["identity"] = row.pipeline.kernel.empty() ? Json() : Json(fmt::format("{:016x}", row.pipeline.identity));
    if (row.refused()) {
        json["refused"] = row.pipeline.refused;
        return json;
    }
    const PipelineFigures& f = row.figures;
    json["workgroup_size"] = json_of(row.pipeline.workgroup_size);
    json["subgroup_size"] = row.executable.subgroup_size == 0 ? Json() : Json(row.executable.subgroup_size);
    json["registers"] = json_of(f.registers);
    json["spilled_registers"] = json_of(f.spilled_registers);
    json["scratch_bytes"] = json_of(f.scratch_bytes);
    json["shared_bytes"] = json_of(f.shared_bytes);
    json["waves"] = json_of(f.waves);
    json["waves_of"] = json_of(f.waves_of);
    json["occupancy"] = json_of(f.occupancy);
    json["code_bytes"] = json_of(f.code_bytes);
    json["instructions"] = json_of(f.instructions);
    json["latency"] = json_of(f.latency);
    json["inverse_throughput"] = json_of(f.inverse_throughput);
    json["compile_milliseconds"] = 1e3 * row.pipeline.compile_seconds;
    json["executable"] = row.executable.name.empty() ? Json() : Json(row.executable.name);
    Json statistics = Json::object();
    for (const PipelineStatistic& statistic : row.executable.statistics)
        statistics[statistic.name] = std::visit([](auto value) { return Json(value); }, statistic.value);
    json["statistics"] = std::move(statistics);
    if (!row.files.empty()) json["ir"] = row.files;
    return json;
}

std::string sort_columns_text() {
    std::string text;
    for (const Column& column : kColumns) text += fmt::format("{}{}", text.empty() ? "" : ", ", column.name);
    return text;
}

Result<void> check_sort_column(std::string_view name, std::span<const InspectedRow> rows) {
    if (column_named(name) != nullptr) return {};
    std::string statistics;
    for (const InspectedRow& row : rows) {
        if (statistic_of(row, name)) return {};
        if (!statistics.empty()) continue;
        for (const PipelineStatistic& statistic : row.executable.statistics) statistics += ", " + statistic.name;
    }
    return bad_input(
        "--sort is '{}'; there are the columns {}{}{}.", shown(name), sort_columns_text(),
        statistics.empty() ? "; this driver has no statistics of its own" : ", and the driver's own statistics",
        statistics.empty() ? "" : ": " + statistics.substr(2));
}

void sort_rows(std::string_view name, std::vector<InspectedRow>& rows) {
    const Column* const column = column_named(name);
    const double sign = column != nullptr && column->most_first ? -1.0 : 1.0;
    std::ranges::stable_sort(rows, {}, [&](const InspectedRow& row) {
        const Figure value = column == nullptr ? statistic_of(row, name) : column->value(row);
        return value && !row.refused() ? sign * *value : std::numeric_limits<double>::infinity();
    });
}

std::string other_statistics_text(const InspectedRow& row) {
    std::string text;
    for (const PipelineStatistic& statistic : other_statistics(row.executable)) {
        const std::string value = std::visit([](auto of) { return fmt::format("{}", of); }, statistic.value);
        text += fmt::format("{}{} {}", text.empty() ? "the driver also reports " : ", ", statistic.name, value);
    }
    return text;
}

std::string rows_table(std::span<const InspectedRow> rows, bool with_configuration) {
    std::vector<std::vector<std::string>> cells{{"  pipeline"}};
    for (const InspectedRow& row : rows) {
        const std::string name = row.pipeline.kernel.empty() ? "(no plan)" : row.pipeline.kernel;
        cells.push_back({(row.of.is_default && with_configuration ? "* " : "  ") + name});
    }
    for (const Column& column : kColumns) {
        if (std::ranges::none_of(rows, [&](const InspectedRow& row) { return column.value(row).has_value(); }))
            continue;
        cells.front().emplace_back(column.heading);
        for (std::size_t r = 0; r < rows.size(); ++r)
            cells[r + 1].push_back(rows[r].refused() ? std::string("-") : cell(column, rows[r]));
    }
    if (with_configuration) {
        cells.front().emplace_back("configuration");
        for (std::size_t r = 0; r < rows.size(); ++r) cells[r + 1].push_back(rows[r].of.text);
    }
    std::string text = table(cells);
    for (const InspectedRow& row : rows) {
        if (!row.refused()) continue;
        text += fmt::format("\n  REFUSED {}{}{}", row.pipeline.kernel, row.pipeline.kernel.empty() ? "" : ": ",
                            row.pipeline.refused);
    }
    return text;
}

}  // namespace yolk::cli
