// SPDX-License-Identifier: Apache-2.0
// What the readers of JSON recordings share.
#pragma once

#include <string>
#include <string_view>

#include "recorded_formats.hpp"
#include "yolk/json.hpp"

namespace yolk::autotune {

/// Where in the file something is, for messages.
struct RecordPlace {
    std::string_view file;
    std::string entry;
    [[nodiscard]] std::string text() const;
    [[nodiscard]] Error wrong(std::string_view what) const;
};

/// nullptr where it is not an object, or has none of that name.
[[nodiscard]] const SortedJson* member(const SortedJson& object, const std::string& key);
[[nodiscard]] std::string text_member(const SortedJson& object, const std::string& key);

/// Truth values are 1 and 0; lists, objects and null are texts.
[[nodiscard]] Value recorded_value(const SortedJson& value);

/// What an entry says of the objective: a number, or that it failed, by null, by a text, or by an "__error__".
[[nodiscard]] Result<double> cost_member(const SortedJson& entry, const Objective& objective, const RecordPlace& place);

/// Adds a row of the values that `records.names` has.
[[nodiscard]] Result<void> append_named(Records& records, const SortedJson& values, double cost,
                                        const RecordPlace& place);
/// The same, where `values` has nothing but parameters: names them from the first row.
[[nodiscard]] Result<void> append_configuration(Records& records, const SortedJson& values, double cost,
                                                const RecordPlace& place);

/// Kernel Tuner's cache. Entries carry their values, or only the key "16,32,1" does.
[[nodiscard]] Result<Records> parse_cache(const SortedJson& file, std::string_view name,
                                          const RecordingOptions& options);
/// [{"tile": 8, ..., "time": 1.5}, ...]
[[nodiscard]] Result<Records> parse_flat(const SortedJson& file, std::string_view name,
                                         const RecordingOptions& options);
[[nodiscard]] Result<Records> parse_t4(const SortedJson& file, std::string_view name, const RecordingOptions& options);
[[nodiscard]] Result<Records> parse_ktt(const SortedJson& file, std::string_view name, const RecordingOptions& options);
/// What a tuner of CLBlast writes.
[[nodiscard]] Result<Records> parse_clblast(const SortedJson& file, std::string_view name,
                                            const RecordingOptions& options);

/// The text of a Kernel Tuner cache up to its last whole entry, closed; empty where it is not one that was cut off.
[[nodiscard]] std::string closed_cache(std::string_view text);

}  // namespace yolk::autotune
