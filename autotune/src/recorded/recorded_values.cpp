// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "recorded_formats.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

constexpr double kFailed = 1e19;

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

/// The directions of objectives that tuners name. Anything per time, power or energy is a rate.
std::optional<bool> more_is_better(std::string_view given) {
    const std::string name = lower(given);
    for (const std::string_view rate : {"/s", "/w", "/j"}) {
        if (name.ends_with(rate)) return true;
    }
    for (const std::string_view part : {"flops", "score", "fitness", "throughput", "bandwidth", "reward", "accuracy"}) {
        if (name.ends_with(part)) return true;
    }
    for (const std::string_view part :
         {"time", "time_ms", "duration", "cost", "loss", "energy", "latency", "runtime"}) {
        if (name.ends_with(part)) return false;
    }
    return std::nullopt;
}

bool names_a_measurement(std::string_view given) {
    const std::string name = lower(given);
    if (name.find('/') != std::string::npos) return true;
    constexpr std::string_view kEnds[] = {"time",        "times",     "energy",    "power",     "freq",
                                          "temperature", "registers", "flops",     "score",     "cost",
                                          "bandwidth",   "occupancy", "duration",  "loss",      "error",
                                          "status",      "result",    "timestamp", "throughput"};
    return std::ranges::any_of(kEnds, [&name](std::string_view end) { return name.ends_with(end); });
}

/// Parameters have whole numbers or words, and few of them; a parameter that is the only one has as many as there are
/// rows.
bool may_be_measured(const Records& records, std::size_t column) {
    constexpr std::size_t kFew = 8;
    if (names_a_measurement(records.names[column])) return true;
    std::set<Value> different;
    for (const std::vector<Value>& row : records.rows) {
        different.insert(row[column]);
        const double* const number = std::get_if<double>(&row[column]);
        if (number != nullptr && *number != std::floor(*number)) return true;
    }
    return records.names.size() > 1 && different.size() > kFew && different.size() * 2 > records.rows.size();
}

}  // namespace

Result<void> check_nothing_measured(const Records& records, std::string_view file, std::string_view format) {
    std::vector<std::string> doubtful;
    std::vector<std::string> parameters;
    for (std::size_t column = 0; column < records.names.size(); ++column)
        (may_be_measured(records, column) ? doubtful : parameters).push_back(records.names[column]);
    if (doubtful.empty()) return {};
    return bad_input(
        "{} is {}, which does not say what its parameters are; {} may have been measured, and would tell a search the "
        "answer. Name all parameters: --parameters {}.",
        file, format, shown(fmt::format("{}", fmt::join(doubtful, ", "))),
        parameters.empty() ? "NAMES..." : shown(fmt::format("{}", fmt::join(parameters, " "))));
}

double cost_of(double number) noexcept {
    return std::isfinite(number) && number > 0.0 && number < kFailed ? number : kInvalidCost;
}

Result<double> Objective::cost_of(double value, std::string_view place) const {
    const double cost = autotune::cost_of(value);
    if (!is_maximised) return cost;
    if (value < 0.0 && std::isfinite(value)) {
        return bad_input(
            "{}: its {} is {}. More of it is better, and a search compares ratios, so it must be above 0. Add a "
            "constant to all of them.",
            place, name, value);
    }
    return cost == kInvalidCost ? cost : 1.0 / cost;
}

Result<Objective> objective_of(std::string_view text, std::string_view file) {
    constexpr std::string_view kMost = "max:";
    constexpr std::string_view kLeast = "min:";
    const bool says = text.starts_with(kMost) || text.starts_with(kLeast);
    Objective objective{.name = std::string(says ? text.substr(kMost.size()) : text),
                        .is_maximised = text.starts_with(kMost)};
    if (says) return objective;
    const std::optional<bool> known = more_is_better(objective.name);
    if (!known) {
        return bad_input(
            "{} is to be searched for '{}', and whether more of that is better is not known. Say --objective max:{} or "
            "min:{}.",
            file, shown(objective.name), objective.name, objective.name);
    }
    objective.is_maximised = *known;
    return objective;
}

std::string listed_text(std::string_view text) {
    std::string result;
    bool in_string = false;
    for (char c : text) {
        if (c == '\'') c = '"';
        if (c == '"') in_string = !in_string;
        if (!in_string && c == ' ') continue;
        if (!in_string && c == '(') c = '[';
        if (!in_string && c == ')') c = ']';
        if (!in_string && c == ']' && result.ends_with(',')) result.pop_back();  // a tuple of one
        result += c;
    }
    return result;
}

Value value_of(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r";
    const std::size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return std::string();
    const std::string_view word = text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
    if (word == "True" || word == "true") return 1.0;
    if (word == "False" || word == "false") return 0.0;
    double number = 0.0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && stop == word.data() + word.size() && std::isfinite(number)) return number;
    if (word.front() == '(' || word.front() == '[') return listed_text(word);
    return word == "null" ? std::string("None") : std::string(word);
}

}  // namespace yolk::autotune
