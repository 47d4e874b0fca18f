// SPDX-License-Identifier: Apache-2.0
// Where the rounds of prompts and numbers stand, as a file.
#include "gepa_state.hpp"
#include "rounds.hpp"
#include "stored_parameters.hpp"

namespace yolk::hyper {

template <class Fields>
void each_field(Fields& fields, TextRound& round) {
    fields("start_mean", round.start_mean);
    fields("best_mean", round.best_mean);
    fields("iterations", round.iterations);
    fields("stopped_by", round.stopped_by);
    each_field(fields, round.cost);
}

namespace prompts {

template <class Fields>
void each_field(Fields& fields, RoundsState& state) {
    OptimizeOutcome& outcome = state.outcome;
    fields("phase", state.phase);
    fields("start_reward", outcome.start_reward);
    fields("best_reward", outcome.best_reward);
    fields("steps", outcome.generations);
    fields("failed_candidates", outcome.failed_candidates);
    fields("metric_calls", outcome.cost.metric_calls);
    fields("host_calls", outcome.cost.host_calls);
    fields("dispatches", outcome.cost.dispatches);
    fields("model_calls", outcome.cost.model_calls);
    fields("tokens", outcome.cost.tokens);
    fields("cost", outcome.cost.cost);
    fields("log_bytes", state.log_bytes);
    fields("text_rounds", outcome.text_rounds);
}

Result<StateFile> rounds_file(const RoundsState& state, const Json& settings, const ParameterSet& set) {
    StateFile file{.fields = {{"settings", settings}, {"state", FieldWriter::json_of(state)}}};
    YOLK_TRY_VOID(store_parameters(set, file));
    return file;
}

Result<RoundsState> rounds_state_from(const StateFile& file, const Json& settings, ParameterSet& set,
                                      std::string_view what) {
    FieldReader reader(file.fields);
    YOLK_TRY_VOID(check_same_settings(reader, settings, "an optimization", what));
    RoundsState state;
    reader("state", state);
    YOLK_TRY_VOID(check_fields(reader, kRoundsKind, what));
    YOLK_TRY_VOID(restore_parameters(set, file, kRoundsKind, what));
    return state;
}

}  // namespace prompts
}  // namespace yolk::hyper
