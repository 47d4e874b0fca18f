// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/tasks/bench_outcome.hpp"

#include <fmt/format.h>

#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::tasks {
namespace {

std::string text_of(const Json& object, const char* name) {
    const auto at = object.find(name);
    return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}
/// A number from 0 to 10^18, which an integer holds; anything else counts as 0.
double number_of(const Json& object, const char* name) {
    const auto at = object.find(name);
    const double number = at != object.end() && at->is_number() ? at->get<double>() : 0.0;
    return number >= 0.0 && number <= 1e18 ? number : 0.0;
}

/// What is wrong with the row; empty: nothing.
std::string add_row(std::vector<BenchRow>& rows, const Json& json) {
    if (!json.is_object() || text_of(json, "group").empty() || text_of(json, "name").empty())
        return "a row has no group or no name";
    BenchRow row{.group = text_of(json, "group"), .name = text_of(json, "name"), .error = text_of(json, "error")};
    if (row.error.empty()) {
        row.unit = text_of(json, "unit");
        row.rate = number_of(json, "rate");
        row.seconds = number_of(json, "seconds");
        row.runs = static_cast<std::uint64_t>(number_of(json, "runs"));
        row.of_limit = number_of(json, "of_limit");
        row.limit_of = text_of(json, "limit_of");
        const Json quartiles = json.value("seconds_quartiles", Json());
        if (!(row.rate > 0.0) || !(row.seconds > 0.0) || !quartiles.is_array() || quartiles.size() != 2 ||
            !quartiles[0].is_number() || !quartiles[1].is_number())
            return fmt::format("the row '{}' has no figure", shown(row.name));
        row.low = quartiles[0].get<double>();
        row.high = quartiles[1].get<double>();
    }
    rows.push_back(std::move(row));
    return {};
}

std::string read_outcome(const Json& json, BenchOutcome& outcome) {
    if (!is_bench_outcome(json)) return "it is another kind of JSON";
    if (json.value("format", Json()) != kBenchFormat) return fmt::format("its format is not {}", kBenchFormat);
    const Json place = json.value("place", Json());
    if (!place.is_object()) return "it does not say where it was measured";
    outcome.device = text_of(place, "device");
    outcome.driver = text_of(place, "driver");
    outcome.version = text_of(place, "version");
    outcome.cores = static_cast<std::uint64_t>(number_of(place, "cores"));
    const Json rows = json.value("rows", Json());
    if (!rows.is_array()) return "it has no rows";
    for (const Json& row : rows) {
        if (std::string wrong = add_row(outcome.rows, row); !wrong.empty()) return wrong;
    }
    for (const Json& limit : json.value("limits", Json::array())) {
        if (limit.is_object())
            outcome.limits.push_back({text_of(limit, "name"), text_of(limit, "unit"), number_of(limit, "rate")});
    }
    return {};
}

}  // namespace

bool is_bench_outcome(const Json& json) { return json.is_object() && json.value("bench", Json()) == "suite"; }

Result<BenchOutcome> parse_bench_outcome(std::string_view text, std::string_view file) {
    YOLK_TRY(const Json json, parse_json(text, fmt::format("'{}'", shown(file))));
    BenchOutcome outcome;
    if (const std::string wrong = read_outcome(json, outcome); !wrong.empty())
        return bad_input("'{}' is no outcome of `yolk bench --json`: {}.", shown(file), wrong);
    return outcome;
}

}  // namespace yolk::tasks
