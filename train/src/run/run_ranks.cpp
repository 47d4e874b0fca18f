// SPDX-License-Identifier: Apache-2.0
#include "run_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "yolk/internal/train/processes.hpp"

namespace yolk::train {
namespace {

using Bytes = std::vector<std::byte>;

/// Everything that must be the same on all ranks: what the bits depend on, and what ends the run.
Result<evolve::NamedValues> common_settings(const TrainOptions& options, const Result<TaskSetup>& setup) {
    if (!setup) return setup.error();
    evolve::NamedValues values = run_settings(options, setup->environment);
    values.emplace_back("antithetic sampling", fmt::format("{}", options.evolution.antithetic));
    values.emplace_back("generations", fmt::format("{}", options.generations));
    values.emplace_back("stop_when_solved", fmt::format("{}", options.stop_when_solved));
    values.emplace_back("audit", fmt::format("{}", options.audit));
    return values;
}

}  // namespace

TrainOptions RunRanks::options_here(const TrainOptions& options) const {
    TrainOptions here = options;
    if (writes()) return here;
    here.out.clear();
    here.resume = false;
    here.checkpoint_every = 0;
    here.hash_every = 0;
    return here;
}

Result<void> RunRanks::compare(const TrainOptions& options, const Result<TaskSetup>& setup) const {
    if (is_alone()) return setup ? Result<void>() : Result<void>(setup.error());
    YOLK_TRY_VOID(compare_programs(*exchange_));
    YOLK_TRY_VOID(evolve::compare_settings(*exchange_, common_settings(options, setup)));
    const Result<void> enough =
        evolve::check_ranks(ranks(), options.evolution.population, options.evolution.antithetic);
    return enough ? enough : exchange_->end_together(enough.error());
}

Result<std::optional<Checkpoint>> RunRanks::share(Result<std::optional<Checkpoint>> mine) const {
    if (is_alone()) return mine;
    Result<Bytes> packed = Bytes();
    if (!mine)
        packed = mine.error();
    else if (*mine)
        packed = encode_checkpoint(**mine);
    YOLK_TRY(const Bytes shared, evolve::share_from(*exchange_, 0, packed));
    if (shared.empty()) return std::optional<Checkpoint>();
    YOLK_TRY(Checkpoint checkpoint, decode_checkpoint(shared, "The checkpoint that rank 0 sent"));
    return std::optional<Checkpoint>(std::move(checkpoint));
}

Result<void> RunRanks::agree(Result<void> mine) const { return is_alone() ? mine : evolve::agree(*exchange_, mine); }

Result<RunEnd> RunRanks::agree_on_end(Result<RunEnd> mine) const {
    if (is_alone()) return mine;
    YOLK_TRY(const std::vector<Bytes> all,
             evolve::gather_results(
                 *exchange_, mine ? Result<Bytes>(Bytes{static_cast<std::byte>(*mine)}) : Result<Bytes>(mine.error())));
    const auto any = [&all](RunEnd end) {
        return std::ranges::any_of(all, [end](const Bytes& bytes) { return bytes == Bytes{std::byte(end)}; });
    };
    return any(RunEnd::Callback) ? RunEnd::Callback : any(RunEnd::Own) ? RunEnd::Own : RunEnd::NotYet;
}

}  // namespace yolk::train
