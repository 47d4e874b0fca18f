// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/tuning_transfer.hpp"
#include "yolk/core/json.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

namespace yolk::autotune {
namespace {

/// 1: of searches that may have been misled by samples with the driver's compilation in them. 2: has "reopened".
constexpr int kTransferVersion = 2;

std::optional<double> time_from(const Json& json, const char* name) {
    if (!json.contains(name) || !json[name].is_number()) return std::nullopt;
    const double value = json[name].get<double>();
    return std::isfinite(value) && value >= 0.0 ? std::optional(value) : std::nullopt;
}

std::optional<TuningChoice> choice_from(const Json& json, std::int64_t version) {
    if (!json.is_object()) return std::nullopt;
    TuningChoice choice;
    const std::array<std::pair<const char*, std::string*>, 5> texts{{{"device", &choice.key.device.device},
                                                                     {"driver", &choice.key.device.driver},
                                                                     {"family", &choice.key.family},
                                                                     {"kernels", &choice.key.kernels},
                                                                     {"variant", &choice.key.shape.variant}}};
    for (const auto& [name, text] : texts) {
        if (!json.contains(name) || !json[name].is_string()) return std::nullopt;
        *text = json[name].get<std::string>();
    }
    if (!json.contains("extents") || !json["extents"].is_array() || !json.contains("configuration"))
        return std::nullopt;
    for (const Json& extent : json["extents"]) {
        if (!extent.is_number_unsigned()) return std::nullopt;
        choice.key.shape.extents.push_back(extent.get<std::uint64_t>());
    }
    std::optional<NamedConfiguration> configuration =
        parse_configuration(json["configuration"].dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!configuration) return std::nullopt;
    choice.configuration = std::move(*configuration);
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
    const auto flag = [&json](const char* name) {
        return json.contains(name) && json[name].is_boolean() && json[name].get<bool>();
    };
    choice.pinned = flag("pinned");
    choice.reopened = !choice.pinned && (version < 2 || flag("reopened"));
    return choice;
}

}  // namespace

Json configuration_json(const NamedConfiguration& configuration) {
    Json json = Json::object();
    for (const auto& [name, value] : configuration) json[name] = value;
    return json;
}

Json choice_json(const TuningChoice& choice) {
    return {{"device", choice.key.device.device},
            {"driver", choice.key.device.driver},
            {"family", choice.key.family},
            {"kernels", choice.key.kernels},
            {"variant", choice.key.shape.variant},
            {"extents", choice.key.shape.extents},
            {"configuration", configuration_json(choice.configuration)},
            {"milliseconds", choice.milliseconds},
            {"heuristic_milliseconds", choice.heuristic_milliseconds},
            {"default_milliseconds", choice.plain_milliseconds},
            {"spread", choice.spread},
            {"evaluations", choice.evaluations},
            {"pinned", choice.pinned},
            {"reopened", choice.reopened}};
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
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("yolk_tuning") || !json["yolk_tuning"].is_number_integer() ||
        !json.contains("choices") || !json["choices"].is_array()) {
        return bad_input("{} is not an export of a tuning table (yolk tune table export FILE writes one).", name);
    }
    const auto version = json["yolk_tuning"].get<std::int64_t>();
    if (version > kTransferVersion)
        return bad_input("{} was exported by a newer Yolk; this one reads version {}.", name, kTransferVersion);
    Imported imported;
    for (const Json& entry : json["choices"]) {
        std::optional<TuningChoice> choice = choice_from(entry, version);
        if (choice) imported.choices.push_back(std::move(*choice));
        imported.left_out += choice ? 0U : 1U;
    }
    return imported;
}

}  // namespace yolk::autotune
