// SPDX-License-Identifier: Apache-2.0
#include "suite_json.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <thread>

#include "output.hpp"
#include "select_device.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

constexpr int kSuiteFormat = 1;
constexpr std::size_t kMostSuiteBytes = std::size_t{16} << 20U;

Json row_json(const SuiteRow& row) {
    Json json{{"group", row.group}, {"name", row.name}};
    if (!row.error.empty()) {
        json["error"] = row.error;
        return json;
    }
    const Spread wall(row.runs.wall), best(row.runs.best_known());
    json["unit"] = row.unit;
    json["rate"] = row.rate();
    json["runs"] = row.runs.wall.size();
    json["seconds"] = best.median;
    json["seconds_quartiles"] = {best.low, best.high};
    json["wall_seconds"] = wall.median;
    json["clock"] = row.runs.device.empty() ? "host" : "device";
    if (row.limit > 0.0) {
        json["limit"] = row.limit;
        json["limit_of"] = row.limit_of;
        json["of_limit"] = row.rate() / row.limit;
    }
    return json;
}

/// What must be the same for two outcomes to be compared.
struct SamePlace {
    const char* key;
    const char* words;
};
constexpr std::array kSamePlace{SamePlace{"device", "device"}, SamePlace{"driver", "driver"},
                                SamePlace{"cores", "number of cores"}};

double relative_spread(double low, double median, double high) { return median > 0.0 ? (high - low) / median : 0.0; }

Error not_an_outcome(const std::filesystem::path& file, const std::string& why) {
    return bad_input("'{}' is no outcome of `yolk bench --json`: {}.", shown(file.string()), why);
}

/// The parts that compare_suites() reads.
std::string what_is_missing(const Json& suite) {
    if (!suite.is_object() || suite.value("bench", "") != "suite") return "it is another kind of JSON";
    if (suite.value("format", 0) != kSuiteFormat) return fmt::format("its format is not {}", kSuiteFormat);
    if (!suite.contains("place") || !suite["place"].is_object()) return "it does not say where it was measured";
    if (!suite.contains("rows") || !suite["rows"].is_array()) return "it has no rows";
    for (const Json& row : suite["rows"]) {
        if (!row.is_object() || !row.contains("group") || !row["group"].is_string() || !row.contains("name") ||
            !row["name"].is_string())
            return "a row has no group or no name";
        if (row.contains("error")) continue;
        const bool has_figures = row.contains("rate") && row["rate"].is_number() && row["rate"].get<double>() > 0.0 &&
                                 row.contains("seconds") && row["seconds"].is_number() &&
                                 row.contains("seconds_quartiles") && row["seconds_quartiles"].is_array() &&
                                 row["seconds_quartiles"].size() == 2 && row["seconds_quartiles"][0].is_number() &&
                                 row["seconds_quartiles"][1].is_number();
        if (!has_figures) return fmt::format("the row '{}' has no figure", shown(row["name"].get<std::string>()));
    }
    return {};
}

}  // namespace

Json place_json(const Device& device) {
    return {{"device", device.info().name},
            {"driver", driver_text(device.info())},
            {"cores", std::thread::hardware_concurrency()},
            {"version", YOLK_VERSION}};
}

Json suite_json(const Device& device, std::span<const SuiteRow> rows, const SuiteLimits& limits) {
    Json json{{"bench", "suite"}, {"format", kSuiteFormat}, {"place", place_json(device)}};
    json["limits"] = Json::array();
    for (const SuiteLimits::Known& limit : limits.known())
        json["limits"].push_back({{"name", limit.name}, {"unit", limit.unit}, {"rate", limit.rate}});
    json["rows"] = Json::array();
    for (const SuiteRow& row : rows) json["rows"].push_back(row_json(row));
    return json;
}

Result<Json> read_suite(const std::filesystem::path& file, const Device& device) {
    YOLK_TRY(const std::vector<std::byte> bytes, read_file(file, kMostSuiteBytes));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    YOLK_TRY(Json suite, parse_json(text, fmt::format("'{}'", shown(file.string()))));
    if (const std::string missing = what_is_missing(suite); !missing.empty()) return not_an_outcome(file, missing);
    const Json here = place_json(device);
    for (const auto& [key, words] : kSamePlace) {
        const Json there = suite["place"].contains(key) ? suite["place"][key] : Json();
        if (there != here[key]) {
            return bad_input(
                "'{}' was measured elsewhere: its {} is {}, and here it is {}. Compare with an outcome of this "
                "machine.",
                shown(file.string()), words, shown(there.dump()), shown(here[key].dump()));
        }
    }
    return suite;
}

SuiteComparison compare_suites(std::span<const SuiteRow> now, const Json& then) {
    SuiteComparison compared{.rows = {}, .only_now = {}, .only_then = {}, .version_then = {}};
    if (then["place"].contains("version") && then["place"]["version"].is_string())
        compared.version_then = then["place"]["version"];
    std::map<std::pair<std::string, std::string>, const Json*> earlier;
    for (const Json& row : then["rows"]) {
        if (!row.contains("error"))
            earlier.emplace(std::pair(std::string(row["group"]), std::string(row["name"])), &row);
    }
    for (const SuiteRow& row : now) {
        if (!row.error.empty()) continue;
        const auto found = earlier.find({row.group, row.name});
        if (found == earlier.end()) {
            compared.only_now.push_back(fmt::format("{}: {}", row.group, row.name));
            continue;
        }
        const Json& before = *found->second;
        const Spread spread(row.runs.best_known());
        compared.rows.push_back(
            {.group = row.group,
             .name = row.name,
             .ratio = row.rate() / before["rate"].get<double>(),
             .error = relative_spread(spread.low, spread.median, spread.high) +
                      relative_spread(before["seconds_quartiles"][0].get<double>(), before["seconds"].get<double>(),
                                      before["seconds_quartiles"][1].get<double>())});
        earlier.erase(found);
    }
    for (const auto& [name, row] : earlier)
        compared.only_then.push_back(fmt::format("{}: {}", name.first, name.second));
    return compared;
}

}  // namespace yolk::cli
