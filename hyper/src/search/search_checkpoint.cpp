// SPDX-License-Identifier: Apache-2.0
#include "search_checkpoint.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "yolk/core/json.hpp"
#include "yolk/core/safetensors.hpp"

namespace yolk::hyper {
namespace {

constexpr const char* kSearchFormat = "yolk-search-2";

Error not_a_checkpoint(std::string_view what, std::string_view why) {
    return bad_input(
        "{} cannot be read as the checkpoint of a search: {}. Restore it from a copy, or search anew without --resume.",
        what, why);
}

StoredTensor stored_tensor(const char* name, const std::vector<float>& values) {
    return {.name = name, .shape = {values.size()}, .values = values};
}

std::vector<float> tensor_values(const TensorFile& file, const char* name) {
    const StoredTensor* const tensor = file.find_tensor(name);
    return tensor == nullptr ? std::vector<float>() : tensor->values;
}

/// Of a member that should be a number; nothing else throws, whatever a file says.
double number_in(const Json& json, const char* name, double otherwise) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number() ? found->get<double>() : otherwise;
}
std::uint64_t count_in(const Json& json, const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

SearchCheckpoint checkpoint_from(const Json& json) {
    SearchCheckpoint checkpoint{
        // The worst, which JSON has no number for, where it was not finite.
        .start_reward = number_in(json, "start_reward", -HUGE_VAL),
        .best_reward = number_in(json, "best_reward", -HUGE_VAL),
        .cost = {.metric_calls = count_in(json, "metric_calls"),
                 .host_calls = count_in(json, "host_calls"),
                 .dispatches = count_in(json, "dispatches"),
                 .model_calls = count_in(json, "model_calls"),
                 .tokens = count_in(json, "tokens"),
                 .cost = number_in(json, "cost", 0.0)},
        .failed_candidates = count_in(json, "failed_candidates"),
    };
    checkpoint.centre.generation = static_cast<std::uint32_t>(count_in(json, "steps"));
    if (json.contains("held_out_start")) checkpoint.held_out_start = number_in(json, "held_out_start", -HUGE_VAL);
    const auto settings = json.find("settings");
    if (settings == json.end() || !settings->is_object()) return checkpoint;
    for (const auto& [name, value] : settings->items())
        checkpoint.settings.emplace_back(name, value.is_string() ? value.get<std::string>() : std::string());
    return checkpoint;
}

}  // namespace

Result<std::vector<std::byte>> encode_checkpoint(const SearchCheckpoint& checkpoint) {
    Json settings = Json::object();
    for (const auto& [name, value] : checkpoint.settings) settings[name] = value;
    Json json{{"steps", checkpoint.centre.generation},
              {"start_reward", checkpoint.start_reward},
              {"best_reward", checkpoint.best_reward},
              {"metric_calls", checkpoint.cost.metric_calls},
              {"host_calls", checkpoint.cost.host_calls},
              {"dispatches", checkpoint.cost.dispatches},
              {"model_calls", checkpoint.cost.model_calls},
              {"tokens", checkpoint.cost.tokens},
              {"cost", checkpoint.cost.cost},
              {"failed_candidates", checkpoint.failed_candidates},
              {"settings", std::move(settings)}};
    if (checkpoint.held_out_start) json["held_out_start"] = *checkpoint.held_out_start;
    for (const char* const name : {"start_reward", "best_reward", "held_out_start"}) {
        if (json.contains(name) && !std::isfinite(json[name].get<double>())) json.erase(name);
    }
    TensorFile file{.metadata = {}, .tensors = {stored_tensor("centre", checkpoint.centre.parameters)}};
    if (!checkpoint.centre.optimizer.empty())
        file.tensors.push_back(stored_tensor("optimizer", checkpoint.centre.optimizer));
    if (checkpoint.best) file.tensors.push_back(stored_tensor("best", *checkpoint.best));
    const std::string text = to_line(json);
    file.metadata = {{"format", kSearchFormat}, {"search", text}};
    return encode_safetensors(file);
}

Result<SearchCheckpoint> decode_checkpoint(std::span<const std::byte> bytes, std::string_view what) {
    YOLK_TRY(const TensorFile file, decode_safetensors(bytes, what));
    const std::string* const format = file.find_metadata("format");
    if (format == nullptr || !format->starts_with("yolk-search-"))
        return not_a_checkpoint(what, "it is another kind of file");
    if (*format != kSearchFormat)
        return not_a_checkpoint(what, "its version, '" + *format + "', is not " + kSearchFormat);
    const std::string* const text = file.find_metadata("search");
    if (text == nullptr || !file.has_checksum) return not_a_checkpoint(what, "it is damaged");
    const Json json = parse_json(*text, "its settings").value_or(nullptr);
    if (!json.is_object()) return not_a_checkpoint(what, "its settings are not a JSON object");
    SearchCheckpoint checkpoint = checkpoint_from(json);
    checkpoint.centre.parameters = tensor_values(file, "centre");
    checkpoint.centre.optimizer = tensor_values(file, "optimizer");
    if (file.find_tensor("best") != nullptr) checkpoint.best = tensor_values(file, "best");
    return checkpoint;
}

}  // namespace yolk::hyper
