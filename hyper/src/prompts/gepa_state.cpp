// SPDX-License-Identifier: Apache-2.0
#include "gepa_state.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "fronts.hpp"
#include "yolk/core/hash.hpp"

namespace yolk::hyper::prompts {
namespace {

constexpr const char* kGepaFormat = "yolk-gepa-1";

Error not_a_gepa_state(std::string_view what, std::string_view why) {
    return bad_input(
        "{} cannot be read as the checkpoint of a prompt search: {}. Restore it from a copy, or search anew without "
        "resuming.",
        what, why);
}

std::string hash_of_contents(const Json& settings, const Json& state) {
    Hasher hasher;
    for (const Json* const part : {&settings, &state}) {
        const std::string text = to_line(*part);
        hasher.add(std::as_bytes(std::span(text)));
    }
    return hasher.hex();
}

Json json_of(const Candidate& candidate) {
    return {{"texts", candidate.texts},
            {"parents", candidate.parents},
            {"scores", candidate.scores},
            {"next_component", candidate.next_component}};
}

Json json_of(const Merged& merged) {
    return {{"first", merged.first}, {"second", merged.second}, {"ancestor", merged.ancestor}, {"taken", merged.taken}};
}

Json json_of(const GepaState& state) {
    Json json{{"iteration", state.iteration},
              {"minibatches", state.minibatches},
              {"idle", state.idle},
              {"failed", state.failed},
              {"merges_due", state.merges_due},
              {"merges_accepted", state.merges_accepted},
              {"added_by_mutation", state.added_by_mutation},
              {"cost", to_json(state.cost)},
              {"log_bytes", state.log_bytes},
              {"candidates", Json::array()},
              {"merged", Json::array()}};
    for (const Candidate& candidate : state.candidates) json["candidates"].push_back(json_of(candidate));
    for (const Merged& merged : state.merged) json["merged"].push_back(json_of(merged));
    return json;
}

/// Reads members of objects and remembers the first that is missing or of another kind.
class Reader {
   public:
    const Json* member(const Json& object, const char* name) {
        const auto found = object.is_object() ? object.find(name) : object.end();
        if (object.is_object() && found != object.end()) return &*found;
        fail(name);
        return nullptr;
    }
    std::uint64_t count(const Json& object, const char* name,
                        std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
        const Json* const json = member(object, name);
        if (json != nullptr && json->is_number_unsigned() && json->get<std::uint64_t>() <= most)
            return json->get<std::uint64_t>();
        fail(name);
        return 0;
    }
    std::uint32_t count32(const Json& object, const char* name,
                          std::uint32_t most = std::numeric_limits<std::uint32_t>::max()) {
        return static_cast<std::uint32_t>(count(object, name, most));
    }
    double number(const Json& object, const char* name) {
        const Json* const json = member(object, name);
        if (json != nullptr && json->is_number()) return json->get<double>();
        fail(name);
        return 0.0;
    }
    bool truth(const Json& object, const char* name) {
        const Json* const json = member(object, name);
        if (json != nullptr && json->is_boolean()) return json->get<bool>();
        fail(name);
        return false;
    }
    const Json& list(const Json& object, const char* name) {
        const Json* const json = member(object, name);
        if (json != nullptr && json->is_array()) return *json;
        fail(name);
        return empty_;
    }
    /// Numbers below `bound`.
    std::vector<std::uint32_t> numbers_below(const Json& object, const char* name, std::uint64_t bound) {
        std::vector<std::uint32_t> numbers;
        for (const Json& json : list(object, name)) {
            if (!json.is_number_unsigned() || json.get<std::uint64_t>() >= bound) {
                fail(name);
            } else {
                numbers.push_back(json.get<std::uint32_t>());
            }
        }
        return numbers;
    }
    std::vector<double> numbers(const Json& object, const char* name, std::size_t count) {
        std::vector<double> numbers;
        for (const Json& json : list(object, name)) {
            if (!json.is_number()) fail(name);
            numbers.push_back(json.is_number() ? json.get<double>() : 0.0);
        }
        if (numbers.size() != count) fail(name);
        return numbers;
    }
    void fail(std::string_view name) {
        if (!failure_) failure_ = std::string(name);
    }
    [[nodiscard]] const std::optional<std::string>& failure() const noexcept { return failure_; }

   private:
    Json empty_ = Json::array();
    std::optional<std::string> failure_;
};

Texts texts_in(Reader& reader, const Json& object, const Json* like) {
    Texts texts;
    const Json* const json = reader.member(object, "texts");
    if (json == nullptr || !json->is_object() || json->empty()) {
        reader.fail("texts");
        return texts;
    }
    for (const auto& [name, text] : json->items()) {
        if (!text.is_string() || (like != nullptr && !like->contains(name))) {
            reader.fail("texts");
        } else {
            texts.emplace(name, text.get<std::string>());
        }
    }
    if (like != nullptr && texts.size() != like->size()) reader.fail("texts");
    return texts;
}

TextCost cost_in(Reader& reader, const Json& object) {
    const Json* const json = reader.member(object, "cost");
    if (json == nullptr) return {};
    return {.metric_calls = reader.count(*json, "metric_calls"),
            .model_calls = reader.count(*json, "model_calls"),
            .prompt_tokens = reader.count(*json, "prompt_tokens"),
            .completion_tokens = reader.count(*json, "completion_tokens"),
            .cost = reader.number(*json, "cost")};
}

void read_candidates(Reader& reader, const Json& json, std::uint32_t validation_size, GepaState& state) {
    const Json& list = reader.list(json, "candidates");
    const Json* like = nullptr;  // all have the components of the first
    for (const Json& each : list) {
        Candidate candidate{.texts = texts_in(reader, each, like)};
        candidate.parents = reader.numbers_below(each, "parents", state.candidates.size());
        candidate.scores = reader.numbers(each, "scores", validation_size);
        candidate.next_component = reader.count32(each, "next_component");
        if (candidate.next_component >= std::max<std::size_t>(1, candidate.texts.size())) reader.fail("next_component");
        if (reader.failure()) return;
        like = &list.front()["texts"];
        state.candidates.push_back(std::move(candidate));
    }
    if (state.candidates.empty()) reader.fail("candidates");
}

Result<GepaState> state_from(const Json& json, std::uint32_t validation_size, std::string_view what) {
    Reader reader;
    GepaState state;
    read_candidates(reader, json, validation_size, state);
    state.iteration = reader.count32(json, "iteration");
    state.minibatches = reader.count32(json, "minibatches");
    state.idle = reader.count32(json, "idle");
    state.failed = reader.count32(json, "failed");
    state.merges_due = reader.count32(json, "merges_due");
    state.merges_accepted = reader.count32(json, "merges_accepted");
    state.added_by_mutation = reader.truth(json, "added_by_mutation");
    state.cost = cost_in(reader, json);
    state.log_bytes = reader.count(json, "log_bytes");
    const std::size_t candidates = state.candidates.size();
    for (const Json& each : reader.list(json, "merged")) {
        const auto most = static_cast<std::uint32_t>(std::max<std::size_t>(1, candidates) - 1);
        state.merged.push_back({.first = reader.count32(each, "first", most),
                                .second = reader.count32(each, "second", most),
                                .ancestor = reader.count32(each, "ancestor", most),
                                .taken = reader.numbers_below(each, "taken", candidates)});
        if (candidates == 0 || state.merged.back().taken.size() != state.candidates.front().texts.size())
            reader.fail("taken");
    }
    if (reader.failure())
        return not_a_gepa_state(what, "'" + *reader.failure() + "' is missing or not as it should be");
    return state;
}

Result<void> check_settings(const Json& then, const Json& now, std::string_view what) {
    for (const auto& [name, value] : now.items()) {
        const auto found = then.find(name);
        const Json before = found == then.end() ? Json() : *found;
        if (before == value) continue;
        return bad_input(
            "{} is of a prompt search whose {} is {}; now it is {}. Give what it was, or search anew without resuming.",
            what, name, to_line(before), to_line(value));
    }
    return {};
}

}  // namespace

std::vector<std::vector<double>> GepaState::scores() const {
    std::vector<std::vector<double>> all;
    for (const Candidate& candidate : candidates) all.push_back(candidate.scores);
    return all;
}

std::vector<double> GepaState::means() const {
    std::vector<double> all;
    for (const Candidate& candidate : candidates) all.push_back(mean_of(candidate.scores));
    return all;
}

std::uint32_t GepaState::best() const {
    const std::vector<double> all = means();
    return static_cast<std::uint32_t>(std::distance(all.begin(), std::ranges::max_element(all)));
}

std::string encode_state(const GepaState& state, const Json& settings) {
    const Json json = json_of(state);
    return Json{{"format", kGepaFormat},
                {"settings", settings},
                {"state", json},
                {"hash", hash_of_contents(settings, json)}}
               .dump(1, ' ', false, Json::error_handler_t::replace) +
           "\n";
}

Result<GepaState> decode_state(std::string_view text, const Json& settings, std::uint32_t validation_size,
                               std::string_view what) {
    const Result<Json> read = parse_json(text, what);
    if (!read)
        return not_a_gepa_state(what, fmt::format("it is another kind of file, or cut: {}", read.error().message));
    const Json& file = *read;
    if (!file.is_object() || !file.contains("format") || !file["format"].is_string())
        return not_a_gepa_state(what, "it is another kind of file, or cut");
    const auto format = file["format"].get<std::string>();
    if (!format.starts_with("yolk-gepa-")) return not_a_gepa_state(what, "it is another kind of file");
    if (format != kGepaFormat)
        return not_a_gepa_state(what, "its version, '" + format + "', is not " + std::string(kGepaFormat));
    for (const char* const name : {"settings", "state"}) {
        if (!file.contains(name) || !file[name].is_object())
            return not_a_gepa_state(what, "'" + std::string(name) + "' is missing");
    }
    if (file.value("hash", Json()) != Json(hash_of_contents(file["settings"], file["state"])))
        return not_a_gepa_state(what, "its hash is not that of its contents");
    YOLK_TRY_VOID(check_settings(file["settings"], settings, what));
    return state_from(file["state"], validation_size, what);
}

}  // namespace yolk::hyper::prompts
