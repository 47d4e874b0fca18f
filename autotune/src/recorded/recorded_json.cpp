// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "recorded_tree.hpp"
#include "yolk/internal/autotune/surface.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/log.hpp"

namespace yolk::autotune {
namespace {

/// Recordings of 100,000 configurations, each with 32 times, take 500 MiB.
constexpr JsonLimits kRecordingLimits{.depth = 16, .memory_bytes = std::size_t{1} << 30U, .non_finite_as_null = true};

/// A run of Kernel Tuner that was stopped leaves its cache without an end: the last entry may be torn. What is whole is
/// kept.
Result<SortedJson> parse_tree(std::string_view text, std::string_view name) {
    Result<SortedJson> tree = parse_sorted_json(text, name, kRecordingLimits);
    if (tree) return tree;
    const std::string closed = closed_cache(text);
    if (closed.empty()) return std::move(tree).error();
    Result<SortedJson> kept = parse_sorted_json(closed, name, kRecordingLimits);
    if (!kept) return std::move(tree).error();
    log_info(
        fmt::format("{} has no end: its tuning was stopped, or the file was cut off. The {} whole entries are read. {}",
                    name, (*kept)["cache"].size(), tree.error().message));
    return kept;
}

Error unknown_recording(const SortedJson& file, std::string_view name) {
    if (member(file, "ConfigurationSpace") != nullptr)
        return bad_input("{} describes a space (T1) and has no measurements. Give a recording of one.", name);
    if (member(file, "sections") != nullptr) {
        return bad_input(
            "{} is CLBlast's database of many devices and kernels. Give the file that one of its tuners wrote.", name);
    }
    if (member(file, "yolk_prior") != nullptr) {
        return bad_input(
            "{} is a trained prior of an older Yolk; this one has none. Give recordings of other devices to "
            "--transfer.",
            name);
    }
    return bad_input(
        "{} is JSON, but no recorded surface: a Kernel Tuner cache has 'cache', T4 and CLBlast 'results', KTT "
        "'Results', a flat list is an array of configurations.",
        name);
}

}  // namespace

std::string RecordPlace::text() const { return fmt::format("{}, {}", file, entry); }

Error RecordPlace::wrong(std::string_view what) const { return bad_input("{}: {}", text(), what); }

const SortedJson* member(const SortedJson& object, const std::string& key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found != object.end() ? &*found : nullptr;
}

std::string text_member(const SortedJson& object, const std::string& key) {
    const SortedJson* const found = member(object, key);
    return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

Value recorded_value(const SortedJson& value) {
    if (value.is_boolean()) return value.get<bool>() ? 1.0 : 0.0;
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) return value.get<std::string>();
    return value.is_null() ? std::string("None") : listed_text(value.dump());
}

Result<double> cost_member(const SortedJson& entry, const Objective& objective, const RecordPlace& place) {
    if (const SortedJson* const error = member(entry, "__error__"); error != nullptr && !error->is_null())
        return kInvalidCost;
    const SortedJson* const measured = member(entry, objective.name);
    if (measured == nullptr) {
        // Kernel Tuner wrote the failure in place of the time, whatever was searched for.
        if (text_member(entry, "time").ends_with("Config")) return kInvalidCost;
        return place.wrong(fmt::format("there is no '{}'.", shown(objective.name)));
    }
    if (measured->is_number()) return objective.cost_of(measured->get<double>(), place.text());
    if (measured->is_null()) return kInvalidCost;
    if (measured->is_string()) {
        const Value value = value_of(measured->get_ref<const std::string&>());
        const double* const number = std::get_if<double>(&value);
        return number == nullptr ? kInvalidCost : objective.cost_of(*number, place.text());
    }
    return place.wrong(fmt::format("'{}' is {}, but a number or the name of a failure is expected.",
                                   shown(objective.name), measured->type_name()));
}

Result<void> append_named(Records& records, const SortedJson& values, double cost, const RecordPlace& place) {
    std::vector<Value> row;
    for (const std::string& name : records.names) {
        const SortedJson* const value = member(values, name);
        if (value == nullptr) return place.wrong(fmt::format("there is no value of parameter '{}'.", shown(name)));
        row.push_back(recorded_value(*value));
    }
    records.rows.push_back(std::move(row));
    records.costs.push_back(cost);
    return {};
}

Result<void> append_configuration(Records& records, const SortedJson& values, double cost, const RecordPlace& place) {
    if (records.names.empty()) {
        for (const auto& [key, value] : values.items()) records.names.push_back(key);
    }
    YOLK_TRY_VOID(append_named(records, values, cost, place));
    if (values.size() == records.names.size()) return {};
    return place.wrong(fmt::format("it has {} parameters, and the first has {}.", values.size(), records.names.size()));
}

Result<Records> parse_json_records(std::string_view text, std::string_view name, const RecordingOptions& options) {
    YOLK_TRY(const SortedJson file, parse_tree(text, name));
    if (file.is_array()) return parse_flat(file, name, options);
    if (member(file, "cache") != nullptr) return parse_cache(file, name, options);
    const auto is_list = [&file](const char* key) {
        const SortedJson* const list = member(file, key);
        return list != nullptr && list->is_array();
    };
    if (is_list("results") && member(file, "kernel_family") != nullptr) return parse_clblast(file, name, options);
    if (is_list("results")) return parse_t4(file, name, options);
    if (is_list("Results")) return parse_ktt(file, name, options);
    return unknown_recording(file, name);
}

}  // namespace yolk::autotune
