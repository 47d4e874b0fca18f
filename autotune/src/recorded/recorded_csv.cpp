// SPDX-License-Identifier: Apache-2.0
// CSV: a heading, then a line per configuration. The columns before the one called time, cost or duration are
// parameters; what stands after it is not read.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "recorded_formats.hpp"
#include "yolk/autotune/surface.hpp"

namespace yolk::autotune {
namespace {

constexpr std::array<std::string_view, 4> kCostNames{"time", "cost", "duration", "time_ms"};

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\"";
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
    std::vector<std::string_view> cells;
    for (;;) {
        const std::size_t at = line.find(separator);
        cells.push_back(trimmed(line.substr(0, at)));
        if (at == std::string_view::npos) return cells;
        line.remove_prefix(at + 1);
    }
}

}  // namespace

Value value_of(std::string_view text) {
    const std::string_view word = trimmed(text);
    if (word == "True" || word == "true") return 1.0;
    if (word == "False" || word == "false") return 0.0;
    double number = 0.0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && stop == word.data() + word.size() && std::isfinite(number)) return number;
    return std::string(word);
}

double cost_of(double number) noexcept {
    constexpr double kFailed = 1e19;
    return std::isfinite(number) && number > 0.0 && number < kFailed ? number : kInvalidCost;
}

Result<Records> parse_csv_records(std::string_view text, std::string_view name) {
    Records records;
    char separator = ',';
    std::size_t cost_column = 0;
    std::size_t line_number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        ++line_number;
        if (line.empty() || line.front() == '#') continue;
        if (records.names.empty()) {
            if (line.find(',') == std::string_view::npos) separator = ';';
            const auto heading = cells_of(line, separator);
            const auto cost = std::ranges::find_first_of(heading, kCostNames);
            if (cost == heading.end() || cost == heading.begin()) {
                return bad_input(
                    "{} is neither JSON nor a CSV file of a surface: its first line must name the parameters, then a "
                    "column 'time', 'time_ms', 'cost' or 'duration'.",
                    name);
            }
            cost_column = static_cast<std::size_t>(cost - heading.begin());
            records.names.assign(heading.begin(), cost);
            continue;
        }
        const auto cells = cells_of(line, separator);
        if (cells.size() <= cost_column) {
            return bad_input("{}, line {}: {} cells, but the heading names {}.", name, line_number, cells.size(),
                             cost_column + 1);
        }
        std::vector<Value>& row = records.rows.emplace_back();
        for (std::size_t i = 0; i < cost_column; ++i) row.push_back(value_of(cells[i]));
        const Value cost = value_of(cells[cost_column]);
        const double* const number = std::get_if<double>(&cost);
        records.costs.push_back(number == nullptr ? kInvalidCost : cost_of(*number));
    }
    return records;
}

}  // namespace yolk::autotune
