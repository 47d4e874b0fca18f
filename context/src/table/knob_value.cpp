// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/context/knob_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"

namespace yolk {
namespace {

constexpr double kExactWhole = 9007199254740992.0;  // 2^53: from here on not every integer is a double

bool is_bare_word(const std::string& word) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !word.empty() && letter(word.front()) &&
           std::ranges::all_of(word, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string listed_text(const KnobValue& value) {
    const std::string text = value.text();
    return value.is_word() && !is_bare_word(text) ? value.json().dump(-1, ' ', false, Json::error_handler_t::replace)
                                                  : text;
}

/// The parts of "ROWS|\"a|b\"|0.5".
std::vector<std::string> split_list(std::string_view list) {
    std::vector<std::string> parts(1);
    bool quoted = false;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!quoted && list[i] == '|') {
            parts.emplace_back();
            continue;
        }
        parts.back() += list[i];
        if (list[i] == '"') quoted = !quoted;
        if (quoted && list[i] == '\\' && i + 1 < list.size()) parts.back() += list[++i];
    }
    return parts;
}

using Entry = StoredConfiguration::value_type;

StoredConfiguration::const_iterator entry_of(const StoredConfiguration& configuration, const std::string& name) {
    return std::ranges::find(configuration, name, &Entry::first);
}

}  // namespace

KnobValue::KnobValue(double number) : value_(number) {
    if (std::abs(number) < kExactWhole && number == std::floor(number)) value_ = static_cast<std::int64_t>(number);
}

std::optional<std::uint32_t> KnobValue::plain() const noexcept {
    const auto* const whole = std::get_if<std::int64_t>(&value_);
    if (whole == nullptr || *whole < 0 || *whole > std::int64_t{UINT32_MAX}) return std::nullopt;
    return static_cast<std::uint32_t>(*whole);
}

std::string KnobValue::text() const {
    return std::visit([](const auto& value) { return fmt::format("{}", value); }, value_);
}

Json KnobValue::json() const {
    return std::visit([](const auto& value) { return Json(value); }, value_);
}

std::optional<KnobValue> KnobValue::of_json(const Json& json) {
    if (json.is_string()) return KnobValue(json.get<std::string>());
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return std::nullopt;
    if (json.is_number_integer()) return KnobValue(json.get<std::int64_t>());
    if (json.is_number() && std::isfinite(json.get<double>())) return KnobValue(json.get<double>());
    return std::nullopt;
}

bool operator<(const KnobValue& a, const KnobValue& b) {
    if (a.is_word() || b.is_word()) return a.is_word() == b.is_word() ? a.value_ < b.value_ : b.is_word();
    const auto number = [](const KnobValue& value) {
        const auto* const whole = std::get_if<std::int64_t>(&value.value_);
        return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value.value_);
    };
    return number(a) != number(b) ? number(a) < number(b) : a.value_ < b.value_;
}

std::string listed_name(const std::string& name, std::span<const KnobValue> values) {
    return fmt::format("{}{{{}}}", name, fmt::join(values | std::views::transform(&listed_text), "|"));
}

KnobMeaning meaning_of(const std::string& knob) {
    const std::size_t brace = knob.find('{');
    KnobMeaning meaning{.name = knob.substr(0, brace)};
    if (brace == std::string::npos || !knob.ends_with('}')) return {.name = knob};
    for (const std::string& part : split_list(std::string_view(knob).substr(brace + 1, knob.size() - brace - 2))) {
        if (is_bare_word(part)) {
            meaning.values.emplace_back(part);
            continue;
        }
        const std::optional<KnobValue> value = KnobValue::of_json(parse_json(part, part).value_or(nullptr));
        if (!value) return {.name = knob};
        meaning.values.push_back(*value);
    }
    return meaning;
}

std::optional<std::uint32_t> counted(const KnobMeaning& knob, const KnobValue& value) {
    if (knob.values.empty()) return value.plain();
    const auto at = std::ranges::find(knob.values, value);
    if (at == knob.values.end()) return std::nullopt;
    return static_cast<std::uint32_t>(at - knob.values.begin());
}

std::string counted_text(const KnobMeaning& knob, std::uint32_t count) {
    return count < knob.values.size() ? knob.values[count].text() : std::to_string(count);
}

StoredConfiguration stored_configuration(const TuningSpace& space, const Configuration& configuration) {
    StoredConfiguration kept;
    for (std::size_t i = 0; i < configuration.size(); ++i) {
        KnobMeaning knob = meaning_of(space.knobs()[i].name);
        const bool listed = configuration[i] < knob.values.size();
        kept.emplace_back(std::move(knob.name), listed ? knob.values[configuration[i]] : KnobValue(configuration[i]));
    }
    return kept;
}

std::optional<Configuration> configuration_in(const TuningSpace& space, const StoredConfiguration& configuration) {
    if (configuration.size() != space.knobs().size()) return std::nullopt;
    Configuration values;
    for (const TuningKnob& knob : space.knobs()) {
        const KnobMeaning meaning = meaning_of(knob.name);
        const auto entry = entry_of(configuration, meaning.name);
        if (entry == configuration.end()) return std::nullopt;
        const std::optional<std::uint32_t> value = counted(meaning, entry->second);
        if (!value) return std::nullopt;
        values.push_back(*value);
    }
    return values;
}

bool fits(const TuningSpace& space, const StoredConfiguration& configuration) {
    const std::optional<Configuration> values = configuration_in(space, configuration);
    return values && space.check(*values);
}

std::string misfit_text(const TuningSpace& space, const StoredConfiguration& configuration) {
    std::vector<std::string> names;
    for (const TuningKnob& knob : space.knobs()) {
        const KnobMeaning meaning = meaning_of(knob.name);
        names.push_back(meaning.name);
        const auto entry = entry_of(configuration, meaning.name);
        if (entry == configuration.end()) return fmt::format("it says nothing of '{}'", shown(meaning.name));
        const std::optional<std::uint32_t> value = counted(meaning, entry->second);
        if (value && std::ranges::find(knob.values, *value) != knob.values.end()) continue;
        std::vector<std::string> there;
        for (const std::uint32_t each : knob.values) there.push_back(counted_text(meaning, each));
        return fmt::format("its {} is {}, and the values are {} now", meaning.name, shown(entry->second.text()),
                           fmt::join(there, ", "));
    }
    for (const Entry& entry : configuration) {
        if (std::ranges::find(names, entry.first) == names.end())
            return fmt::format("there is no '{}' any more", shown(entry.first));
    }
    const std::optional<Configuration> values = configuration_in(space, configuration);
    if (!values) return "it gives a knob twice";
    const Result<void> legal = space.check(*values);
    return legal ? std::string() : legal.error().message;
}

bool same_knobs(const StoredConfiguration& a, const StoredConfiguration& b) {
    return a.size() == b.size() &&
           std::ranges::all_of(a, [&b](const Entry& entry) { return entry_of(b, entry.first) != b.end(); });
}

std::optional<NamedConfiguration> plain_configuration(const StoredConfiguration& configuration) {
    NamedConfiguration plain;
    for (const auto& [name, value] : configuration) {
        const std::optional<std::uint32_t> number = value.plain();
        if (!number) return std::nullopt;
        plain.emplace_back(name, *number);
    }
    return plain;
}

}  // namespace yolk
