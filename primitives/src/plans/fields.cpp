// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace yolk {

namespace {

constexpr std::string_view kBlanks = " \t";

std::vector<std::string_view> names_of(const FieldInfos& known) {
    std::vector<std::string_view> names;
    for (const FieldInfo& field : known) names.emplace_back(field.name);
    return names;
}

const FieldInfo* find_field(const FieldInfos& known, std::string_view name) {
    const auto found = std::ranges::find(known, name, &FieldInfo::name);
    return found == known.end() ? nullptr : &*found;
}

/// Letters to insert, remove or replace (Levenshtein).
std::size_t changes_between(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
        }
    }
    return row.back();
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
        if (text.empty()) return words;
        const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

Error unknown_field(std::string_view operation, std::string_view name, const FieldInfos& known) {
    const std::vector<std::string_view> names = names_of(known);
    const std::string_view near = nearest_word(name, names);
    return bad_input("{} has no field '{}'; it has {}.{}", operation, name, fmt::join(names, ", "),
                     near.empty() ? "" : fmt::format(" Did you mean {}?", near));
}

std::optional<FieldText> split_word(std::string_view word) {
    const std::size_t sign = word.find('=');
    if (sign == 0 || sign == std::string_view::npos || sign + 1 == word.size()) return std::nullopt;
    return FieldText{.name = std::string(word.substr(0, sign)), .value = std::string(word.substr(sign + 1))};
}

std::vector<std::uint64_t> extents_of(std::string_view value) {
    std::vector<std::uint64_t> extents;
    while (!value.empty()) {
        std::uint64_t extent = 0;
        const std::size_t end = std::min(value.find('-'), value.size());
        // What follows the digits of an element ("3s", a shared part) is no extent.
        std::from_chars(value.data(), value.data() + end, extent);
        extents.push_back(extent);
        value.remove_prefix(std::min(end + 1, value.size()));
    }
    return extents;
}

}  // namespace

std::string detail::any_of(std::span<const std::string_view> words) {
    if (words.size() < 2) return fmt::format("{}", fmt::join(words, ""));
    return fmt::format("{} or {}", fmt::join(words.first(words.size() - 1), ", "), words.back());
}

std::string detail::range_text(std::uint32_t least, std::uint32_t most) {
    if (most == 0xFFFFFFFFU && least == 0) return "a number below 2^32";
    if (most == 0xFFFFFFFFU) return fmt::format("a number from {}", least);
    return fmt::format("a number from {} to {}", least, most);
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> names) {
    std::string_view nearest;
    if (word.empty()) return nearest;
    std::size_t least = std::max<std::size_t>(word.size() / 2, 1) + 1;
    for (const std::string_view name : names) {
        // The beginning of a name counts as near: "log" of "logarithm".
        const std::size_t changes = name.starts_with(word) ? 1 : changes_between(word, name);
        if (changes >= least) continue;
        least = changes;
        nearest = name;
    }
    return nearest;
}

Result<std::vector<FieldText>> split_fields(std::string_view operation, std::string_view text,
                                            const FieldInfos& known) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    std::vector<FieldText> given;
    for (const std::string_view word : words_of(text)) {
        std::optional<FieldText> field = split_word(word);
        if (!field)
            return bad_input("'{}' of '{} {}' is not name=value; {} takes {}.", word, operation, text, operation,
                             field_summary(known));
        if (find_field(known, field->name) == nullptr) return unknown_field(operation, field->name, known);
        if (const auto twice = std::ranges::find(given, field->name, &FieldText::name); twice != given.end())
            return bad_input("'{} {}' gives {} twice, {} and {}; give it once.", operation, text, field->name,
                             twice->value, field->value);
        given.push_back(*std::move(field));
    }
    for (const FieldInfo& field : known) {
        const FieldText* found = find_given(given, field.name);
        if (!field.fallback.empty() || (found != nullptr && found->value != "0")) continue;
        return bad_input("'{} {}' needs {}, above 0; {} takes {}.", operation, text, field.name, operation,
                         field_summary(known));
    }
    return given;
}

const FieldText* find_given(std::span<const FieldText> given, std::string_view name) noexcept {
    const auto found = std::ranges::find(given, name, &FieldText::name);
    return found == given.end() ? nullptr : &*found;
}

Result<void> check_field(std::string_view operation, const FieldInfo& field, std::string_view value) {
    std::uint32_t number = 0;
    const bool is_number = detail::parse_number(value, number);
    if (value.starts_with('?')) return wrong_field(operation, field, value.substr(1));
    if (is_number && (number < field.least || number > field.most)) return wrong_field(operation, field, value);
    return {};
}

Error wrong_field(std::string_view operation, const FieldInfo& field, std::string_view value) {
    return bad_input("{} of [{}] is {}; it is {}.", field.name, operation, value, field.allowed);
}

std::string field_summary(const FieldInfos& known) {
    std::string summary;
    for (const FieldInfo& field : known) {
        summary.append(summary.empty() ? "" : " ").append(field.name);
        if (!field.fallback.empty()) summary.append("=").append(field.fallback);
        if (field.allowed.find(" or ") != std::string::npos && field.allowed != "0 or 1")
            summary.append(" (").append(field.allowed).append(")");
    }
    return summary;
}

TuningShape key_of_fields(const FieldInfos& known, std::span<const std::string> values) {
    TuningShape key;
    std::uint64_t factor = 1;
    for (std::size_t i = 0; i < known.size(); ++i) {
        const std::string& value = values[i];
        switch (known[i].role) {
            case FieldRole::Factor: factor *= extents_of(value).front(); break;
            case FieldRole::Extent:
                for (const std::uint64_t extent : extents_of(value)) key.extents.push_back(factor * extent);
                factor = 1;
                break;
            case FieldRole::Variant:
                if (value == known[i].fallback) break;
                key.variant.append(key.variant.empty() ? "" : " ").append(known[i].name).append("=").append(value);
                break;
            case FieldRole::Neither: break;
        }
    }
    return key;
}

Error foreign_key(std::string_view operation, const TuningShape& key, const FieldInfos& known) {
    return bad_input("'{}' with the extents {} is not a shape of {}, which has {}.", key.variant, key.extents,
                     operation, field_summary(known));
}

Result<std::vector<FieldText>> fields_of_key(std::string_view operation, const TuningShape& key,
                                             const FieldInfos& known) {
    const auto foreign = [&] { return foreign_key(operation, key, known); };
    const auto extents = static_cast<std::size_t>(std::ranges::count(known, FieldRole::Extent, &FieldInfo::role));
    std::string text = key.variant;
    std::size_t next = 0;
    for (const FieldInfo& field : known) {
        if (field.role != FieldRole::Extent) continue;
        // Lists take what the others leave.
        const std::size_t count = field.is_list ? key.extents.size() - std::min(key.extents.size(), extents - 1) : 1;
        if (next + count > key.extents.size()) return foreign();
        text += fmt::format(" {}={}", field.name, fmt::join(std::span(key.extents).subspan(next, count), "-"));
        next += count;
    }
    if (next != key.extents.size()) return foreign();
    std::vector<FieldText> given;
    for (const std::string_view word : words_of(text)) {
        std::optional<FieldText> field = split_word(word);
        if (!field || find_field(known, field->name) == nullptr) return foreign();
        given.push_back(*std::move(field));
    }
    return given;
}

}  // namespace yolk
