// SPDX-License-Identifier: Apache-2.0
#include "gepa_state.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "fronts.hpp"

namespace yolk::hyper::prompts {
template <class Fields>
void each_field(Fields& fields, Candidate& candidate) {
    fields("texts", candidate.texts);
    fields("parents", candidate.parents);
    fields("scores", candidate.scores);
    fields("next_component", candidate.next_component);
}
template <class Fields>
void each_field(Fields& fields, Merged& merged) {
    fields("first", merged.first);
    fields("second", merged.second);
    fields("ancestor", merged.ancestor);
    fields("taken", merged.taken);
}
template <class Fields>
void each_field(Fields& fields, GepaState& state) {
    fields("iteration", state.iteration);
    fields("minibatches", state.minibatches);
    fields("idle", state.idle);
    fields("failed", state.failed);
    fields("merges_due", state.merges_due);
    fields("merges_accepted", state.merges_accepted);
    fields("added_by_mutation", state.added_by_mutation);
    fields("cost", state.cost);
    fields("log_bytes", state.log_bytes);
    fields("candidates", state.candidates);
    fields("merged", state.merged);
}

namespace {

/// The first field that is at odds with the others, or null.
const char* at_odds(const GepaState& state, std::uint32_t validation_size) {
    if (state.candidates.empty()) return "candidates";
    const auto below = [](const std::vector<std::uint32_t>& numbers, std::size_t bound) {
        return std::ranges::all_of(numbers, [bound](std::uint32_t number) { return number < bound; });
    };
    const Texts& first = state.candidates.front().texts;
    const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
    for (std::size_t i = 0; i < state.candidates.size(); ++i) {
        const Candidate& candidate = state.candidates[i];
        if (candidate.texts.empty() || !std::ranges::equal(candidate.texts, first, same_name)) return "texts";
        if (!below(candidate.parents, i)) return "parents";
        if (candidate.scores.size() != validation_size ||
            !std::ranges::all_of(candidate.scores, [](double score) { return std::isfinite(score); }))
            return "scores";
        if (candidate.next_component >= candidate.texts.size()) return "next_component";
    }
    for (const Merged& merged : state.merged) {
        if (merged.first >= state.candidates.size()) return "first";
        if (merged.second >= state.candidates.size()) return "second";
        if (merged.ancestor >= state.candidates.size()) return "ancestor";
        if (merged.taken.size() != first.size() || !below(merged.taken, state.candidates.size())) return "taken";
    }
    return std::isfinite(state.cost.cost) ? nullptr : "cost";
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

StateFile gepa_file(const GepaState& state, const Json& settings) {
    return {.fields = {{"settings", settings}, {"state", FieldWriter::json_of(state)}}};
}

Result<GepaState> gepa_state_from(const StateFile& file, const Json& settings, std::uint32_t validation_size,
                                  std::string_view what) {
    FieldReader reader(file.fields);
    YOLK_TRY_VOID(check_same_settings(reader, settings, "a prompt search", what));
    GepaState state;
    reader("state", state);
    if (const char* const odd = reader.failure() ? nullptr : at_odds(state, validation_size)) reader.fail(odd);
    YOLK_TRY_VOID(check_fields(reader, kGepaKind, what));
    return state;
}

Result<void> check_same_settings(FieldReader& reader, const Json& settings, std::string_view of,
                                 std::string_view what) {
    Json stored;
    reader("settings", stored);
    for (const auto& [name, value] : settings.items()) {
        const Json before = stored.is_object() ? stored.value(name, Json()) : Json();
        if (reader.failure() || before == value) continue;
        return bad_input("{} is of {} whose {} is {}; now it is {}. Give what it was, or search anew without resuming.",
                         what, of, name, to_line(before), to_line(value));
    }
    return {};
}

}  // namespace yolk::hyper::prompts
