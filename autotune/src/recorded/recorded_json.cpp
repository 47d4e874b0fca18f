// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "recorded_formats.hpp"
#include "yolk/autotune/surface.hpp"
#include "yolk/core/json.hpp"
#include "yolk/core/log.hpp"

namespace yolk::autotune {
namespace {

// Sorted keys: a cache is one object with tens of thousands of entries, in which ordered_json would search linearly.
using Tree = nlohmann::json;

/// Where in the file something is, for messages.
struct RecordPlace {
    std::string_view file;
    std::string entry;
    [[nodiscard]] Error wrong(std::string_view what) const { return bad_input("{}, {}: {}", file, entry, what); }
};

const Tree* member(const Tree& object, const char* key) {
    const auto found = object.find(key);
    return object.is_object() && found != object.end() ? &*found : nullptr;
}

std::string text_member(const Tree& object, const char* key) {
    const Tree* const found = member(object, key);
    return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

Result<Value> recorded_value(const Tree& value, const RecordPlace& place, std::string_view parameter) {
    if (value.is_boolean()) return Value(value.get<bool>() ? 1.0 : 0.0);
    if (value.is_number()) return Value(value.get<double>());
    if (value.is_string()) return Value(value.get<std::string>());
    return place.wrong(fmt::format("parameter '{}' is {}, but a number, a text or a truth value is expected.",
                                   parameter, value.type_name()));
}

/// A time as tuners write it: a number, or the name of a failure.
Result<double> cost_member(const Tree& entry, const char* key, const RecordPlace& place) {
    const Tree* const time = member(entry, key);
    if (time == nullptr) return place.wrong(fmt::format("there is no '{}'.", key));
    if (time->is_number()) return cost_of(time->get<double>());
    if (time->is_string() || time->is_null()) return kInvalidCost;
    return place.wrong(
        fmt::format("'{}' is {}, but a number or the name of a failure is expected.", key, time->type_name()));
}

Result<void> append_named(Records& records, const Tree& values, double cost, const RecordPlace& place) {
    std::vector<Value> row;
    for (const std::string& name : records.names) {
        const Tree* const value = member(values, name.c_str());
        if (value == nullptr) return place.wrong(fmt::format("there is no value of parameter '{}'.", name));
        YOLK_TRY(Value read, recorded_value(*value, place, name));
        row.push_back(std::move(read));
    }
    records.rows.push_back(std::move(row));
    records.costs.push_back(cost);
    return {};
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

/// Kernel Tuner's cache. Entries carry their values, or only the key "16,32,1" does.
Result<Records> parse_cache(const Tree& file, std::string_view name) {
    Records records{.names = {},
                    .domains = {},
                    .rows = {},
                    .costs = {},
                    .device = text_member(file, "device_name"),
                    .kernel = text_member(file, "kernel_name")};
    const RecordPlace head{name, "the head"};
    const Tree* const keys = member(file, "tune_params_keys");
    const Tree& cache = file["cache"];
    if (keys == nullptr || !keys->is_array() || !cache.is_object()) {
        return head.wrong("a Kernel Tuner cache has a list 'tune_params_keys' and an object 'cache'.");
    }
    for (const Tree& key : *keys) {
        if (!key.is_string()) return head.wrong("'tune_params_keys' contains an entry that is not a name.");
        records.names.push_back(key.get<std::string>());
    }
    const Tree* const domains = member(file, "tune_params");
    for (const std::string& parameter : records.names) {
        std::vector<Value>& domain = records.domains.emplace_back();
        const Tree* const values = domains == nullptr ? nullptr : member(*domains, parameter.c_str());
        if (values == nullptr || !values->is_array()) continue;
        for (const Tree& value : *values) {
            YOLK_TRY(Value read, recorded_value(value, head, parameter));
            domain.push_back(std::move(read));
        }
    }
    for (const auto& [key, entry] : cache.items()) {
        const RecordPlace place{name, fmt::format("configuration {}", key)};
        YOLK_TRY(const double cost, cost_member(entry, "time", place));
        if (!records.names.empty() && entry.contains(records.names.front())) {
            YOLK_TRY_VOID(append_named(records, entry, cost, place));
            continue;
        }
        std::vector<Value>& row = records.rows.emplace_back();
        for (const std::string_view part : split(key, ',')) row.push_back(autotune::value_of(part));
        records.costs.push_back(cost);
        if (row.size() != records.names.size()) {
            return place.wrong(fmt::format("{} values for {} parameters.", row.size(), records.names.size()));
        }
    }
    return records;
}

/// [{"tile": 8, ..., "time": 1.5}, ...]
Result<Records> parse_flat(const Tree& file, std::string_view name) {
    Records records;
    if (!file.empty() && file.front().is_object()) {
        for (const auto& [key, value] : file.front().items()) {
            if (key != "time" && !value.is_array() && !value.is_object()) records.names.push_back(key);
        }
    }
    std::size_t number = 0;
    for (const Tree& entry : file) {
        const RecordPlace place{name, fmt::format("entry {}", number++)};
        if (!entry.is_object()) return place.wrong("an object with parameters and a 'time' is expected.");
        YOLK_TRY(const double cost, cost_member(entry, "time", place));
        YOLK_TRY_VOID(append_named(records, entry, cost, place));
    }
    return records;
}

/// The objective among T4's measurements, else the mean of the runtimes.
std::optional<double> t4_cost(const Tree& entry) {
    std::string objective = "time";
    const Tree* const objectives = member(entry, "objectives");
    if (objectives != nullptr && objectives->is_array() && !objectives->empty() && objectives->front().is_string()) {
        objective = objectives->front().get<std::string>();
    }
    const Tree* const measurements = member(entry, "measurements");
    if (measurements != nullptr && measurements->is_array()) {
        for (const Tree& measurement : *measurements) {
            if (text_member(measurement, "name") != objective) continue;
            const Tree* const value = member(measurement, "value");
            if (value == nullptr) return std::nullopt;
            return value->is_number() ? cost_of(value->get<double>()) : kInvalidCost;
        }
    }
    const Tree* const times = member(entry, "times");
    const Tree* const runtimes = times == nullptr ? nullptr : member(*times, "runtimes");
    if (runtimes == nullptr || !runtimes->is_array() || runtimes->empty()) return std::nullopt;
    double sum = 0.0;
    for (const Tree& runtime : *runtimes) sum += runtime.is_number() ? runtime.get<double>() : kInvalidCost;
    return cost_of(sum / static_cast<double>(runtimes->size()));
}

Result<Records> parse_t4(const Tree& file, std::string_view name) {
    Records records;
    const std::string version = text_member(file, "schema_version");
    if (!version.empty() && !version.starts_with("1."))
        return bad_input("{} is T4 of version {}; this Yolk reads version 1. Record it in that.", name, version);
    std::size_t number = 0;
    for (const Tree& entry : file["results"]) {
        const RecordPlace place{name, fmt::format("result {}", number++)};
        const Tree* const configuration = member(entry, "configuration");
        if (configuration == nullptr || !configuration->is_object()) return place.wrong("there is no 'configuration'.");
        if (records.names.empty()) {
            for (const auto& [key, value] : configuration->items()) records.names.push_back(key);
        }
        double cost = kInvalidCost;
        const Tree* const invalidity = member(entry, "invalidity");
        if (invalidity == nullptr || *invalidity == "correct") {
            const std::optional<double> measured = t4_cost(entry);
            if (!measured)
                return place.wrong("it is correct, but has no measurement of its objective and no runtimes.");
            cost = *measured;
        }
        YOLK_TRY_VOID(append_named(records, *configuration, cost, place));
    }
    return records;
}

Result<Records> parse_ktt(const Tree& file, std::string_view name) {
    Records records;
    if (const Tree* const metadata = member(file, "Metadata")) records.device = text_member(*metadata, "Device");
    std::size_t number = 0;
    for (const Tree& entry : file["Results"]) {
        const RecordPlace place{name, fmt::format("result {}", number++)};
        const Tree* const configuration = member(entry, "Configuration");
        if (configuration == nullptr || !configuration->is_array()) return place.wrong("there is no 'Configuration'.");
        Tree values = Tree::object();
        for (const Tree& pair : *configuration) {
            const Tree* const value = member(pair, "Value");
            if (value != nullptr) values[text_member(pair, "Name")] = *value;
        }
        if (records.names.empty()) {
            records.kernel = text_member(entry, "KernelName");
            for (const auto& [key, value] : values.items()) records.names.push_back(key);
        }
        double cost = kInvalidCost;
        if (text_member(entry, "Status") == "Ok") {
            YOLK_TRY(cost, cost_member(entry, "TotalDuration", place));
        }
        YOLK_TRY_VOID(append_named(records, values, cost, place));
    }
    return records;
}

/// A run of Kernel Tuner that was stopped leaves its cache without an end: the last entry may be torn. What is whole is
/// kept.
Tree parse_tree(std::string_view text, std::string_view name) {
    Tree tree = Tree::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (!tree.is_discarded() || text.find("\"tune_params_keys\"") == std::string_view::npos) return tree;
    const std::size_t end = text.rfind("},");
    if (end == std::string_view::npos) return tree;
    const std::string closed = std::string(text.substr(0, end + 1)) + "}}";
    tree = Tree::parse(closed, nullptr, /*allow_exceptions=*/false);
    if (tree.is_object() && tree.contains("cache") && tree["cache"].is_object()) {
        log_info(fmt::format(
            "{} has no end: its tuning was stopped, or the file was cut off. The {} whole entries are read.", name,
            tree["cache"].size()));
    }
    return tree;
}

}  // namespace

Result<Records> parse_json_records(std::string_view text, std::string_view name) {
    const Tree file = parse_tree(text, name);
    if (file.is_discarded()) {
        return bad_input("{} is not valid JSON (damaged, or cut off). Fetch or record it again.", name);
    }
    if (file.is_array()) return parse_flat(file, name);
    if (file.contains("cache")) return parse_cache(file, name);
    const auto is_list = [&file](const char* key) { return file.contains(key) && file[key].is_array(); };
    if (is_list("results")) return parse_t4(file, name);
    if (is_list("Results")) return parse_ktt(file, name);
    return bad_input(
        "{} is JSON, but no recorded surface: a Kernel Tuner cache has 'cache', T4 'results', KTT 'Results', "
        "a flat list is an array of configurations.",
        name);
}

}  // namespace yolk::autotune
