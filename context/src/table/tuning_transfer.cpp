// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/context/tuning_transfer.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "table_schema.hpp"
#include "yolk/json.hpp"

namespace yolk {
namespace {

constexpr int kTransferVersion = 2;

std::optional<double> time_from(const Json& json, const char* name) {
    if (!json.contains(name) || !json[name].is_number()) return std::nullopt;
    const double value = json[name].get<double>();
    return std::isfinite(value) && value >= 0.0 ? std::optional(value) : std::nullopt;
}

std::optional<TuningChoice> choice_from(const Json& json) {
    std::optional<TuningKey> key = key_of_json(json);
    if (!key || !json.contains("configuration")) return std::nullopt;
    std::optional<StoredConfiguration> configuration = configuration_of_json(json["configuration"]);
    if (!configuration) return std::nullopt;
    TuningChoice choice{.key = std::move(*key), .configuration = std::move(*configuration)};
    const std::array<std::pair<const char*, double*>, 4> times{
        {{"milliseconds", &choice.milliseconds},
         {"heuristic_milliseconds", &choice.heuristic_milliseconds},
         {"default_milliseconds", &choice.plain_milliseconds},
         {"spread", &choice.spread}}};
    for (const auto& [name, number] : times) {
        const std::optional<double> time = time_from(json, name);
        if (!time) return std::nullopt;
        *number = *time;
    }
    if (json.contains("evaluations") && json["evaluations"].is_number_unsigned())
        choice.evaluations = json["evaluations"].get<std::uint64_t>();
    choice.pinned = json.contains("pinned") && json["pinned"].is_boolean() && json["pinned"].get<bool>();
    return choice;
}

}  // namespace

Json configuration_json(const StoredConfiguration& configuration) {
    Json json = Json::object();
    for (const auto& [name, value] : configuration) json[name] = value.json();
    return json;
}

std::optional<StoredConfiguration> configuration_of_json(const Json& json) {
    if (!json.is_object()) return std::nullopt;
    StoredConfiguration configuration;
    for (const auto& [name, given] : json.items()) {
        std::optional<KnobValue> value = KnobValue::of_json(given);
        if (!value) return std::nullopt;
        configuration.emplace_back(name, *std::move(value));
    }
    return configuration;
}

Json key_json(const TuningKey& key) {
    return {{"device", key.device.device}, {"driver", key.device.driver},  {"family", key.family},
            {"kernels", key.kernels},      {"variant", key.shape.variant}, {"extents", key.shape.extents}};
}

std::optional<TuningKey> key_of_json(const Json& json) {
    if (!json.is_object() || !json.contains("extents")) return std::nullopt;
    for (const char* name : {"device", "driver", "family", "kernels", "variant"}) {
        if (!json.contains(name) || !json[name].is_string()) return std::nullopt;
    }
    std::optional<std::vector<std::uint64_t>> extents = extents_of_json(json["extents"]);
    if (!extents) return std::nullopt;
    return TuningKey{.device = {.device = json["device"], .driver = json["driver"]},
                     .family = json["family"],
                     .shape = {.variant = json["variant"], .extents = std::move(*extents)},
                     .kernels = json["kernels"]};
}

Json choice_json(const TuningChoice& choice) {
    Json json = key_json(choice.key);
    json.update({{"configuration", configuration_json(choice.configuration)},
                 {"milliseconds", choice.milliseconds},
                 {"heuristic_milliseconds", choice.heuristic_milliseconds},
                 {"default_milliseconds", choice.plain_milliseconds},
                 {"spread", choice.spread},
                 {"evaluations", choice.evaluations},
                 {"pinned", choice.pinned}});
    return json;
}

std::string export_text(const std::vector<TuningChoice>& choices) {
    std::string text = fmt::format("{{\"yolk_tuning\": {}, \"choices\": [", kTransferVersion);
    for (std::size_t i = 0; i < choices.size(); ++i) {
        text += i == 0 ? "\n" : ",\n";
        text += choice_json(choices[i]).dump(-1, ' ', false, Json::error_handler_t::replace);
    }
    return text + "\n]}\n";
}

Result<Imported> import_text(std::string_view text, std::string_view name) {
    const Result<Json> parsed = parse_json(text, name);
    if (!parsed) {
        return bad_input("{} So it is not an export of a tuning table (yolk tune table export FILE writes one).",
                         parsed.error().message);
    }
    const Json& json = *parsed;
    if (!json.is_object() || !json.contains("yolk_tuning") || !json["yolk_tuning"].is_number_integer() ||
        !json.contains("choices") || !json["choices"].is_array()) {
        return bad_input("{} is not an export of a tuning table (yolk tune table export FILE writes one).", name);
    }
    const auto version = json["yolk_tuning"].get<std::int64_t>();
    if (version != kTransferVersion) {
        return bad_input("{} is an export of version {}, and this Yolk reads version {}; export the table again.", name,
                         version, kTransferVersion);
    }
    Imported imported;
    for (const Json& entry : json["choices"]) {
        std::optional<TuningChoice> choice = choice_from(entry);
        if (choice) imported.choices.push_back(std::move(*choice));
        imported.left_out += choice ? 0U : 1U;
    }
    return imported;
}

}  // namespace yolk
