// SPDX-License-Identifier: Apache-2.0
#include "suite_json.hpp"

#include <fmt/format.h>

#include <map>
#include <thread>

#include "output.hpp"
#include "select_device.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"
#include "yolk/json.hpp"

namespace yolk::cli {
namespace {

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

double relative_spread(double low, double median, double high) { return median > 0.0 ? (high - low) / median : 0.0; }

Error measured_elsewhere(const std::filesystem::path& file, std::string_view what, const std::string& there,
                         const std::string& here) {
    return bad_input(
        "'{}' was measured elsewhere: its {} is {}, and here it is {}. Compare with an outcome of this machine.",
        shown(file.string()), what, shown(there), shown(here));
}

}  // namespace

Json place_json(const Device& device) {
    return {{"device", device.info().name},
            {"driver", driver_text(device.info())},
            {"cores", std::thread::hardware_concurrency()},
            {"version", YOLK_VERSION}};
}

Json suite_json(const Device& device, std::span<const SuiteRow> rows, const SuiteLimits& limits) {
    Json json{{"bench", "suite"}, {"format", tasks::kBenchFormat}, {"place", place_json(device)}};
    json["limits"] = Json::array();
    for (const SuiteLimits::Known& limit : limits.known())
        json["limits"].push_back({{"name", limit.name}, {"unit", limit.unit}, {"rate", limit.rate}});
    json["rows"] = Json::array();
    for (const SuiteRow& row : rows) json["rows"].push_back(row_json(row));
    return json;
}

Result<tasks::BenchOutcome> read_suite(const std::filesystem::path& file, const Device& device) {
    YOLK_TRY(const std::string text, read_text(file, kMostSuiteBytes));
    YOLK_TRY(tasks::BenchOutcome suite, tasks::parse_bench_outcome(text, file.string()));
    const auto quoted = [](const std::string& name) { return fmt::format("\"{}\"", name); };
    if (suite.device != device.info().name)
        return measured_elsewhere(file, "device", quoted(suite.device), quoted(device.info().name));
    if (const std::string driver = driver_text(device.info()); suite.driver != driver)
        return measured_elsewhere(file, "driver", quoted(suite.driver), quoted(driver));
    if (const std::uint64_t cores = std::thread::hardware_concurrency(); suite.cores != cores)
        return measured_elsewhere(file, "number of cores", std::to_string(suite.cores), std::to_string(cores));
    return suite;
}

SuiteComparison compare_suites(std::span<const SuiteRow> now, const tasks::BenchOutcome& then) {
    SuiteComparison compared{.rows = {}, .only_now = {}, .only_then = {}, .version_then = then.version};
    std::map<std::pair<std::string, std::string>, const tasks::BenchRow*> earlier;
    for (const tasks::BenchRow& row : then.rows) {
        if (row.error.empty()) earlier.emplace(std::pair(row.group, row.name), &row);
    }
    for (const SuiteRow& row : now) {
        if (!row.error.empty()) continue;
        const auto found = earlier.find({row.group, row.name});
        if (found == earlier.end()) {
            compared.only_now.push_back(fmt::format("{}: {}", row.group, row.name));
            continue;
        }
        const tasks::BenchRow& before = *found->second;
        const Spread spread(row.runs.best_known());
        compared.rows.push_back({.group = row.group,
                                 .name = row.name,
                                 .ratio = row.rate() / before.rate,
                                 .error = relative_spread(spread.low, spread.median, spread.high) +
                                          relative_spread(before.low, before.seconds, before.high)});
        earlier.erase(found);
    }
    for (const auto& [name, row] : earlier)
        compared.only_then.push_back(fmt::format("{}: {}", name.first, name.second));
    return compared;
}

}  // namespace yolk::cli
