// SPDX-License-Identifier: Apache-2.0
#include "search_checkpoint.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "yolk/internal/core/state_file.hpp"

namespace yolk::hyper {
template <class Fields>
void each_field(Fields& fields, SearchCheckpoint& checkpoint) {
    fields("steps", checkpoint.mean.generation);
    fields("start_reward", checkpoint.start_reward);
    fields("best_reward", checkpoint.best_reward);
    fields("metric_calls", checkpoint.cost.metric_calls);
    fields("host_calls", checkpoint.cost.host_calls);
    fields("dispatches", checkpoint.cost.dispatches);
    fields("model_calls", checkpoint.cost.model_calls);
    fields("tokens", checkpoint.cost.tokens);
    fields("cost", checkpoint.cost.cost);
    fields("failed_candidates", checkpoint.failed_candidates);
    fields("settings", checkpoint.settings);
    fields.maybe("held_out_start", checkpoint.held_out_start);
}

Result<std::vector<std::byte>> encode_checkpoint(const SearchCheckpoint& checkpoint) {
    StateFile file{.fields = {{"search", FieldWriter::json_of(checkpoint)}},
                   .tensors = {stored_vector("centre", checkpoint.mean.parameters)}};
    if (!checkpoint.mean.optimizer.empty())
        file.tensors.push_back(stored_vector("optimizer", checkpoint.mean.optimizer));
    if (checkpoint.best) file.tensors.push_back(stored_vector("best", *checkpoint.best));
    return encode_state(kSearchKind, std::move(file));
}

Result<SearchCheckpoint> decode_checkpoint(std::span<const std::byte> bytes, std::string_view what) {
    YOLK_TRY(StateFile file, decode_state(bytes, kSearchKind, what));
    FieldReader reader(file.fields);
    SearchCheckpoint checkpoint;
    reader("search", checkpoint);
    if (!take_tensor(file, "centre", checkpoint.mean.parameters)) reader.fail("centre");
    YOLK_TRY_VOID(check_fields(reader, kSearchKind, what));
    static_cast<void>(take_tensor(file, "optimizer", checkpoint.mean.optimizer));  // not every rule has one
    if (std::vector<float> best; take_tensor(file, "best", best)) checkpoint.best = std::move(best);
    // Rewards that were not finite are the worst.
    for (double* const reward : {&checkpoint.start_reward, &checkpoint.best_reward}) {
        if (std::isnan(*reward)) *reward = -HUGE_VAL;
    }
    if (checkpoint.held_out_start && std::isnan(*checkpoint.held_out_start)) checkpoint.held_out_start.reset();
    return checkpoint;
}

}  // namespace yolk::hyper
