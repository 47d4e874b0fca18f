// SPDX-License-Identifier: Apache-2.0
// Kernel Tuner's caches, and flat lists.
#include <fmt/format.h>

#include "recorded_tree.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

/// The values of the key "16,(8, 4),fast": separators within brackets and quotes are part of one.
std::vector<std::string_view> key_parts(std::string_view key) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < key.size(); ++i) {
        if (key[i] == '(' || key[i] == '[') ++depth;
        if (key[i] == ')' || key[i] == ']') --depth;
        if (key[i] != ',' || depth > 0) continue;
        parts.push_back(key.substr(begin, i - begin));
        begin = i + 1;
    }
    parts.push_back(key.substr(begin));
    return parts;
}

/// A list of one counts as the one.
Result<Objective> cache_objective(const SortedJson& file, const RecordPlace& head, const RecordingOptions& options) {
    if (!options.objective.empty()) return objective_of(options.objective, head.file);
    const SortedJson* named = member(file, "objective");
    if (named == nullptr || named->is_null()) return Objective{};
    if (named->is_array() && named->size() == 1) named = &named->front();
    if (named->is_string()) return objective_of(named->get_ref<const std::string&>(), head.file);
    return head.wrong(fmt::format("its 'objective' is {}, and one name is needed. Choose one by --objective NAME.",
                                  named->dump(-1, ' ', false, SortedJson::error_handler_t::replace)));
}

/// Names and domains.
Result<void> read_cache_space(const SortedJson& file, const RecordPlace& head, Records& records) {
    const SortedJson* const keys = member(file, "tune_params_keys");
    if (keys == nullptr || !keys->is_array() || !file["cache"].is_object())
        return head.wrong("a Kernel Tuner cache has a list 'tune_params_keys' and an object 'cache'.");
    for (const SortedJson& key : *keys) {
        if (!key.is_string()) return head.wrong("'tune_params_keys' contains an entry that is not a name.");
        records.names.push_back(key.get<std::string>());
    }
    const SortedJson* const domains = member(file, "tune_params");
    for (const std::string& parameter : records.names) {
        std::vector<Value>& domain = records.domains.emplace_back();
        const SortedJson* const values = domains == nullptr ? nullptr : member(*domains, parameter);
        if (values == nullptr || !values->is_array()) continue;
        for (const SortedJson& value : *values) domain.push_back(recorded_value(value));
    }
    return {};
}

/// The names of the first entry, but for the objective's, unless the options name them.
std::vector<std::string> flat_parameters(const SortedJson& file, const Objective& objective,
                                         const RecordingOptions& options) {
    if (!options.parameters.empty()) return options.parameters;
    std::vector<std::string> names;
    if (file.empty() || !file.front().is_object()) return names;
    for (const auto& [key, value] : file.front().items()) {
        if (key != objective.name && key != "__error__") names.push_back(key);
    }
    return names;
}

}  // namespace

Result<Records> parse_cache(const SortedJson& file, std::string_view name, const RecordingOptions& options) {
    Records records{.names = {},
                    .domains = {},
                    .rows = {},
                    .costs = {},
                    .device = text_member(file, "device_name"),
                    .kernel = text_member(file, "kernel_name")};
    const RecordPlace head{name, "the head"};
    YOLK_TRY_VOID(read_cache_space(file, head, records));
    YOLK_TRY(const Objective objective, cache_objective(file, head, options));
    for (const auto& [key, entry] : file["cache"].items()) {
        const RecordPlace place{name, fmt::format("configuration {}", key)};
        YOLK_TRY(const double cost, cost_member(entry, objective, place));
        if (!records.names.empty() && member(entry, records.names.front()) != nullptr) {
            YOLK_TRY_VOID(append_named(records, entry, cost, place));
            continue;
        }
        std::vector<Value>& row = records.rows.emplace_back();
        for (const std::string_view part : key_parts(key)) row.push_back(value_of(part));
        records.costs.push_back(cost);
        if (row.size() != records.names.size()) {
            return place.wrong(fmt::format("{} values for {} parameters.", row.size(), records.names.size()));
        }
    }
    return records;
}

Result<Records> parse_flat(const SortedJson& file, std::string_view name, const RecordingOptions& options) {
    Objective objective;
    if (!options.objective.empty()) {
        YOLK_TRY(objective, objective_of(options.objective, name));
    }
    Records records;
    records.names = flat_parameters(file, objective, options);
    std::size_t number = 0;
    for (const SortedJson& entry : file) {
        const RecordPlace place{name, fmt::format("entry {}", number++)};
        if (!entry.is_object()) return place.wrong("an object with parameters and a 'time' is expected.");
        YOLK_TRY(const double cost, cost_member(entry, objective, place));
        YOLK_TRY_VOID(append_named(records, entry, cost, place));
        for (const auto& [key, value] : entry.items()) {
            if (options.parameters.empty() && !file.front().contains(key) && key != "__error__" &&
                key != objective.name) {
                return place.wrong(fmt::format(
                    "it has '{}', which the first entry has not. Name all parameters: --parameters NAMES...",
                    shown(key)));
            }
        }
    }
    if (options.parameters.empty()) YOLK_TRY_VOID(check_nothing_measured(records, name, "a flat list"));
    return records;
}

std::string closed_cache(std::string_view text) {
    const std::size_t cache = text.find("\"cache\"");
    if (cache == std::string_view::npos || text.find("\"tune_params_keys\"") == std::string_view::npos) return {};
    std::size_t depth = 0;
    std::size_t whole = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string && c == '\\') {
            ++i;
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '{' || c == '[')) {
            ++depth;
        } else if (!in_string && (c == '}' || c == ']')) {
            if (depth <= 1) return {};  // it has an end; what is wrong is something else
            if (--depth == 2 && c == '}' && i > cache) whole = i + 1;
        }
    }
    return whole == 0 ? std::string() : std::string(text.substr(0, whole)) + "}}";
}

}  // namespace yolk::autotune
