// SPDX-License-Identifier: Apache-2.0
#include "run_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "yolk/core/hash.hpp"

namespace yolk::train {
namespace {

using Bytes = std::vector<std::byte>;

/// By pieces: the whole file would count in the process's peak memory.
Result<std::string> binary_hash() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    Hasher hasher;
    Bytes piece(std::size_t{1} << 20U);
    while (file.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(piece.size())) ||
           file.gcount() > 0)
        hasher.add(std::span(piece).first(static_cast<std::size_t>(file.gcount())));
    if (!file.eof()) return io_error("The program's own file (/proc/self/exe) cannot be read.", errno);
    return hasher.hex();
}

/// Everything that must be the same on all ranks: what the bits depend on, and what ends the run.
Result<evolve::NamedValues> common_settings(const TrainOptions& options, const Result<TaskSetup>& setup) {
    if (!setup) return setup.error();
    YOLK_TRY(const std::string binary, binary_hash());
    evolve::NamedValues values{{"version", YOLK_VERSION}, {"binary", binary}};
    const Settings settings = run_settings(options, setup->environment);
    values.insert(values.end(), settings.begin(), settings.end());
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

Result<bool> RunRanks::agree_on_end(Result<bool> mine) const {
    if (is_alone()) return mine;
    YOLK_TRY(const std::vector<Bytes> all,
             evolve::gather_results(
                 *exchange_, mine ? Result<Bytes>(Bytes{static_cast<std::byte>(*mine)}) : Result<Bytes>(mine.error())));
    return std::ranges::any_of(all, [](const Bytes& bytes) { return bytes == Bytes{std::byte{1}}; });
}

}  // namespace yolk::train
