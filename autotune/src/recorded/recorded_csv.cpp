// SPDX-License-Identifier: Apache-2.0
// CSV: a heading, then a line per configuration. The columns before the one called time, cost or duration are
// parameters; what stands after it is not read. KTT's has its parameters between "Local size" and its counters.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "recorded_formats.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::autotune {
namespace {

constexpr std::array<std::string_view, 4> kCostNames{"time", "cost", "duration", "time_ms"};
constexpr std::array<std::string_view, 2> kKttCostNames{"Computation duration (us)", "Total duration (us)"};
/// Cells of the parameters: what they take is some hundred MiB at most.
constexpr std::size_t kMostCells = std::size_t{8} << 20U;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r";
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

/// A separator within quotes is part of a cell; a quote within them is written twice.
std::vector<std::string> cells_of(std::string_view line, char separator) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"') {
            if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
                cells.back() += line[++i];
            } else {
                quoted = !quoted;
            }
        } else if (line[i] == separator && !quoted) {
            cells.emplace_back();
        } else {
            cells.back() += line[i];
        }
    }
    for (std::string& cell : cells) cell = trimmed(cell);
    return cells;
}

/// Where in a line the wanted cells are.
struct Columns {
    std::vector<std::size_t> parameters;
    std::size_t cost = 0;
    std::size_t heading_size = 0;
    Objective objective;
    bool is_ktt = false;
};

Result<std::size_t> column_of(const std::vector<std::string>& heading, const std::string& column,
                              std::string_view name) {
    const auto count = std::ranges::count(heading, column);
    if (count == 1) return static_cast<std::size_t>(std::ranges::find(heading, column) - heading.begin());
    return bad_input("{} has {} columns '{}'; there must be one. Its heading is: {}.", name, count, shown(column),
                     shown(fmt::format("{}", fmt::join(heading, ", "))));
}

/// Counters have dotted names, or __; what the compiler says of a kernel comes after them.
bool is_ktt_parameter(const std::string& column) {
    return column.find("__") == std::string::npos && column.find('.') == std::string::npos &&
           column != "Maximum work-group size";
}

/// First and end of the columns that are parameters where nothing else is said.
std::pair<std::size_t, std::size_t> parameter_range(const std::vector<std::string>& heading, bool is_ktt,
                                                    std::size_t cost) {
    if (!is_ktt) return {0, cost};
    const auto local_size = std::ranges::find(heading, "Local size");
    const auto first = local_size == heading.end() ? heading.end() : local_size + 1;
    return {first - heading.begin(), std::find_if_not(first, heading.end(), is_ktt_parameter) - heading.begin()};
}

Result<Columns> read_heading(const std::vector<std::string>& heading, std::string_view name,
                             const RecordingOptions& options) {
    Columns columns;
    columns.heading_size = heading.size();
    columns.is_ktt = heading.front() == "Kernel name";
    const auto known = columns.is_ktt ? std::ranges::find_first_of(heading, kKttCostNames)
                                      : std::ranges::find_first_of(heading, kCostNames);
    if (known != heading.end()) columns.objective.name = *known;
    if (!options.objective.empty()) {
        YOLK_TRY(columns.objective, objective_of(options.objective, name));
    }
    if (known != heading.end() || !options.objective.empty()) {
        YOLK_TRY(columns.cost, column_of(heading, columns.objective.name, name));
    }
    for (const std::string& parameter : options.parameters) {
        YOLK_TRY(const std::size_t column, column_of(heading, parameter, name));
        columns.parameters.push_back(column);
    }
    if (options.parameters.empty()) {
        const auto before = std::min(static_cast<std::size_t>(known - heading.begin()), columns.cost);
        const auto [first, last] = parameter_range(heading, columns.is_ktt, before);
        for (std::size_t column = first; column < last; ++column) columns.parameters.push_back(column);
    }
    if (!columns.parameters.empty()) return columns;
    return bad_input(
        "{} is neither JSON nor a CSV file of a surface: its first line must name the parameters, then a column "
        "'time', 'time_ms', 'cost' or 'duration'; --parameters and --objective name other columns.",
        name);
}

Result<void> read_line(const std::vector<std::string>& cells, const Columns& columns, const std::string& place,
                       Records& records) {
    const std::size_t needed = std::max(columns.cost, std::ranges::max(columns.parameters)) + 1;
    if (cells.size() < needed || cells.size() > columns.heading_size)
        return bad_input("{}: {} cells, but the heading names {}.", place, cells.size(), columns.heading_size);
    std::vector<Value>& row = records.rows.emplace_back();
    for (const std::size_t column : columns.parameters) row.push_back(value_of(cells[column]));
    if (records.rows.size() * columns.parameters.size() > kMostCells)
        return bad_input("{}: there are more than {} values of parameters, the limit here.", place, kMostCells);
    const Value cost = value_of(cells[columns.cost]);
    const double* const number = std::get_if<double>(&cost);
    double read = kInvalidCost;
    if (number != nullptr) {
        YOLK_TRY(read, columns.objective.cost_of(*number, place));
    }
    records.costs.push_back(read);
    if (columns.is_ktt) records.kernel = cells.front();
    return {};
}

}  // namespace

Result<Records> parse_csv_records(std::string_view text, std::string_view name, const RecordingOptions& options) {
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        return bad_input("{} is damaged, or no text: it has a NUL byte at {}.", name, text_place(text, nul));
    Records records;
    std::optional<Columns> columns;
    char separator = ',';
    std::size_t line_number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++line_number;
        if (line.empty() || line.front() == '#') continue;
        if (columns) {
            YOLK_TRY_VOID(
                read_line(cells_of(line, separator), *columns, fmt::format("{}, line {}", name, line_number), records));
            continue;
        }
        if (line.find(',') == std::string_view::npos) separator = ';';
        const std::vector<std::string> heading = cells_of(line, separator);
        YOLK_TRY(columns, read_heading(heading, name, options));
        for (const std::size_t column : columns->parameters) records.names.push_back(heading[column]);
    }
    // KTT's says which columns are parameters.
    if (options.parameters.empty() && columns && !columns->is_ktt)
        YOLK_TRY_VOID(check_nothing_measured(records, name, "a CSV file"));
    return records;
}

}  // namespace yolk::autotune
