// SPDX-License-Identifier: Apache-2.0
// Where the rounds of prompts and numbers stand, as a file.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "rounds.hpp"
#include "yolk/core/hash.hpp"

namespace yolk::hyper::prompts {
namespace {

constexpr const char* kRoundsFormat = "yolk-rounds-1";

Error not_rounds(std::string_view what, std::string_view why) {
    return bad_input(
        "{} cannot be read as the checkpoint of an optimization with prompts: {}. Restore it from a copy, or search "
        "anew "
        "without resuming.",
        what, why);
}

std::string hash_of_json(const Json& json) {
    const std::string text = to_line(json);
    return Hasher().add(std::as_bytes(std::span(text))).hex();
}

Json json_of_round(const TextRound& round) { return to_json(round); }

Json state_json(const RoundsState& state) {
    const OptimizeOutcome& outcome = state.outcome;
    Json json{{"phase", state.phase},
              {"start_reward", outcome.start_reward},
              {"best_reward", outcome.best_reward},
              {"steps", outcome.steps},
              {"failed_candidates", outcome.failed_candidates},
              {"metric_calls", outcome.cost.metric_calls},
              {"host_calls", outcome.cost.host_calls},
              {"dispatches", outcome.cost.dispatches},
              {"model_calls", outcome.cost.model_calls},
              {"tokens", outcome.cost.tokens},
              {"cost", outcome.cost.cost},
              {"log_bytes", state.log_bytes},
              {"text_rounds", Json::array()},
              {"parameters", state.parameters}};
    for (const TextRound& round : outcome.text_rounds) json["text_rounds"].push_back(json_of_round(round));
    return json;
}

/// The file has the right hash, so it is as it was written: a member of another kind is one of another program.
template <class T>
T member(const Json& json, const char* name, bool& fits) {
    const auto found = json.find(name);
    if constexpr (std::is_same_v<T, double>) {  // a reward that nobody knows yet
        if (found != json.end() && found->is_null()) return std::numeric_limits<double>::quiet_NaN();
    }
    const bool there =
        found != json.end() && (std::is_same_v<T, std::string> ? found->is_string() : found->is_number());
    fits = fits && there;
    return there ? found->get<T>() : T();
}

TextRound round_from(const Json& json, bool& fits) {
    TextRound round{.start_mean = member<double>(json, "start_mean", fits),
                    .best_mean = member<double>(json, "best_mean", fits),
                    .iterations = member<std::uint32_t>(json, "iterations", fits),
                    .stopped_by = member<std::string>(json, "stopped_by", fits)};
    round.cost = {.metric_calls = member<std::uint64_t>(json, "metric_calls", fits),
                  .model_calls = member<std::uint64_t>(json, "model_calls", fits),
                  .prompt_tokens = member<std::uint64_t>(json, "prompt_tokens", fits),
                  .completion_tokens = member<std::uint64_t>(json, "completion_tokens", fits),
                  .cost = member<double>(json, "cost", fits)};
    return round;
}

}  // namespace

std::string encode_rounds(const RoundsState& state, const Json& settings) {
    const Json json = state_json(state);
    return Json{{"format", kRoundsFormat},
                {"settings", settings},
                {"state", json},
                {"hash", hash_of_json(Json::array({settings, json}))}}
               .dump(1, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

Result<RoundsState> decode_rounds(std::string_view text, const Json& settings, std::string_view what) {
    const Json file = parse_json(text, what).value_or(nullptr);
    if (!file.is_object() || file.value("format", Json()) != Json(kRoundsFormat))
        return not_rounds(what, "it is another kind of file, of another version, or cut");
    if (!file.contains("settings") || !file.contains("state") || !file["state"].is_object() ||
        file.value("hash", Json()) != Json(hash_of_json(Json::array({file["settings"], file["state"]}))))
        return not_rounds(what, "its hash is not that of its contents");
    for (const auto& [name, value] : settings.items()) {
        const Json before = file["settings"].value(name, Json());
        if (before == value) continue;
        return bad_input(
            "{} is of an optimization whose {} is {}; now it is {}. Give what it was, or search anew without resuming.",
            what, name, to_line(before), to_line(value));
    }
    const Json& json = file["state"];
    bool fits = true;
    RoundsState state{.phase = member<std::uint32_t>(json, "phase", fits)};
    OptimizeOutcome& outcome = state.outcome;
    outcome.start_reward = member<double>(json, "start_reward", fits);
    outcome.best_reward = member<double>(json, "best_reward", fits);
    outcome.steps = member<std::uint32_t>(json, "steps", fits);
    outcome.failed_candidates = member<std::uint64_t>(json, "failed_candidates", fits);
    outcome.cost.metric_calls = member<std::uint64_t>(json, "metric_calls", fits);
    outcome.cost.host_calls = member<std::uint64_t>(json, "host_calls", fits);
    outcome.cost.dispatches = member<std::uint64_t>(json, "dispatches", fits);
    outcome.cost.model_calls = member<std::uint64_t>(json, "model_calls", fits);
    outcome.cost.tokens = member<std::uint64_t>(json, "tokens", fits);
    outcome.cost.cost = member<double>(json, "cost", fits);
    state.log_bytes = member<std::uint64_t>(json, "log_bytes", fits);
    for (const Json& round : json.value("text_rounds", Json::array()))
        outcome.text_rounds.push_back(round_from(round.is_object() ? round : Json::object(), fits));
    state.parameters = json.value("parameters", Json());
    if (!fits) return not_rounds(what, "what it should have is missing");
    return state;
}

Json parameters_json(const ParameterSet& set) {
    Json json = Json::object();
    for (const ParameterGroup& group : set.groups()) {
        if (group.spec.is_text) {
            json[group.spec.name] = group.text;
        } else {
            json[group.spec.name] = std::vector<float>(group.values.values().begin(), group.values.values().end());
        }
    }
    return json;
}

Result<void> set_parameters(ParameterSet& set, const Json& json) {
    if (!json.is_object() || json.size() != set.groups().size())
        return bad_input("The parameters are {} groups, the system has {}.", json.size(), set.groups().size());
    ParameterSet changed = set;
    for (const ParameterGroup& group : set.groups()) {
        const Json value = json.value(group.spec.name, Json());
        const bool numbers =
            value.is_array() && std::ranges::all_of(value, [](const Json& each) { return each.is_number(); });
        if (group.spec.is_text ? !value.is_string() : !numbers)
            return bad_input("The parameters of '{}' are missing, or of another kind.", group.spec.name);
        if (group.spec.is_text) {
            YOLK_TRY_VOID(changed.set_text(group.spec.name, value.get<std::string>()));
        } else {
            YOLK_TRY(Tensor tensor, Tensor::create(group.values.shape(), value.get<std::vector<float>>()));
            YOLK_TRY_VOID(changed.set(group.spec.name, std::move(tensor)));
        }
    }
    set = std::move(changed);
    return {};
}

}  // namespace yolk::hyper::prompts
