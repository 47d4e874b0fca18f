// SPDX-License-Identifier: Apache-2.0
// The log of a search: each generation as it is made, and from there back to the parameters after any of them.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "objective.hpp"
#include "system_impl.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/evolve/setting_reader.hpp"
#include "yolk/log.hpp"
#include "yolk/run_log.hpp"

namespace yolk::hyper {
namespace {

constexpr std::string_view kParametersHash = "hash of the parameters";

/// What the log's settings and the system make of it.
struct LoggedSearch {
    evolve::EvolutionOptions options;
    ParameterSet set;
    SearchSpace space;
};

Result<LoggedSearch> logged_search(System& system, std::span<const Example> examples, const evolve::RunLogReader& log) {
    const std::string what = fmt::format("'{}'", shown(log.path()));
    const evolve::SettingReader settings(log.header().settings, what);
    if (settings.find("system") == nullptr) {
        return bad_input("{} is the log of a policy's training, not of a search over a system. `yolk replay` reads it.",
                         what);
    }
    YOLK_TRY(const std::string name, settings.text("system"));
    if (name != system.name())
        return bad_input("{} is of the system '{}'; this one is '{}'.", what, shown(name), shown(system.name()));
    LoggedSearch search;
    YOLK_TRY(search.options, evolve::options_of(settings));
    const System::LeftOut values = [&] { return Result(optimized_groups(system.parameters())); };
    YOLK_TRY([[maybe_unused]] const std::vector<TracedExample> traces,
             system.trace_all(examples, values));  // registers
    YOLK_TRY(search.set, working_set(system.parameters(), search.options));
    YOLK_TRY(search.space, search_space(search.set));
    YOLK_TRY(const std::string start, evolve::state_hash(search.space.mean, {}, 0));
    YOLK_TRY(const std::string wanted, settings.text(kParametersHash));
    if (start != wanted || search.space.table.element_count() != log.header().element_count) {
        return bad_input(
            "{} is of a search that began with other parameters: their hash is {}, that of the system's is {}. Replay "
            "it on the system as it was when the search began.",
            what, wanted, start);
    }
    if (const std::uint32_t first = log.header().first_generation; first != 0) {
        return bad_input(
            "{} begins after generation {}, since the search went on from a checkpoint there without its log, so that "
            "its parameters cannot be rebuilt from it alone.",
            what, first);
    }
    return search;
}

Result<std::vector<float>> replayed(evolve::Evolution& run, const evolve::RunLogReader& log, SearchReplay& replay) {
    YOLK_TRY(replay.differs_from, evolve::replay_log(run, log, replay.generation));
    YOLK_TRY(replay.state_hash, run.state_hash());
    YOLK_TRY(replay.state_digest, run.state_digest());
    return std::vector<float>(run.parameters().begin(), run.parameters().end());
}

/// On the system's device; without one, by the exact twin.
Result<std::vector<float>> state_after(System& system, const LoggedSearch& search, const evolve::RunLogReader& log,
                                       SearchReplay& replay) {
    const std::vector<evolve::ElementBounds> bounds = bounds_of(search.set, search.space.table);
    YOLK_TRY(const MaybeDevice device, device_of(system));
    if (device.dispatcher == nullptr) {
        evolve::PoolParts parts{.parameters = search.space.table, .initial = search.space.mean, .bounds = bounds};
        YOLK_TRY(evolve::Evolution run,
                 evolve::Evolution::create(evolve::Devices::none(), std::move(parts), search.options));
        return replayed(run, log, replay);
    }
    evolve::EvolutionParts parts{
        .parameters = search.space.table, .initial = search.space.mean, .bounds = bounds, .digest = true};
    YOLK_TRY(evolve::Evolution run, evolve::Evolution::create(device.dispatcher->device(), *device.dispatcher,
                                                              std::move(parts), search.options));
    return replayed(run, log, replay);
}

}  // namespace

Result<SearchReplay> replay(System& system, std::span<const Example> examples, const std::filesystem::path& path,
                            std::optional<std::uint32_t> generation) {
    YOLK_TRY(const evolve::RunLogReader log, evolve::RunLogReader::open(path));
    YOLK_TRY(LoggedSearch search, logged_search(system, examples, log));
    SearchReplay replay{.seed = search.options.seed,
                        .population = search.options.population,
                        .generations_in_log = log.generations(),
                        .torn_bytes = log.torn_bytes(),
                        .generation = generation.value_or(log.generations())};
    if (replay.generation > log.generations()) {
        return bad_input("'{}' ends after generation {}; generation {} was asked for. Ask for {} at most.", shown(path),
                         log.generations(), replay.generation, log.generations());
    }
    YOLK_TRY(std::vector<float> coordinates, state_after(system, search, log, replay));
    evolve::move_into_bounds(bounds_of(search.set, search.space.table), coordinates);
    YOLK_TRY_VOID(apply_coordinates(search.set, coordinates));
    for (const ParameterGroup& group : search.set.groups()) {
        if (group.spec.optimize) YOLK_TRY_VOID(system.parameters().set(group.spec.name, group.values));
    }
    return replay;
}

/// A search that resumes goes on with its log, if that reaches the checkpoint's state. Otherwise a new log replaces it.
Result<void> SystemObjective::open_run_log() {
    if (!keeps_log()) return {};
    evolve::EvolutionState first = first_state();
    first.optimizer.resize(optimizer_state_arrays(options_.evolution.optimizer) * first.parameters.size(), 0.0F);
    YOLK_TRY(evolve::RunLogHeader header, evolve::run_log_header(settings_, options_.evolution, first.parameters,
                                                                 first.optimizer, first.generation));
    const std::string digest = header.first_digest;
    run_log_ = evolve::RunLogWriter::replace(options_.run_log, std::move(header));
    if (!first_) return {};
    const Result<evolve::RunLogReader> before = evolve::RunLogReader::open(options_.run_log);
    if (!before && before.error().native == ENOENT) return {};
    if (!before) return before.error();
    const std::uint32_t begins = before->header().first_generation;
    if (before->header().settings != settings_ || begins > first.generation || before->generations() < first.generation)
        return {};
    YOLK_TRY(const bool goes_on, evolve::goes_on_from(*before, first.generation, digest));
    if (!goes_on) return {};
    YOLK_TRY(run_log_, evolve::RunLogWriter::continue_after(*before, first.generation));
    return {};
}

Result<void> SystemObjective::log_generation(const evolve::Evolution& run) {
    if (!run_log_) return {};
    const std::uint32_t generation = run.generations() - 1;
    if (generation < run_log_->generations()) {  // an audit took the run back
        YOLK_TRY(const evolve::RunLogReader before, evolve::RunLogReader::open(options_.run_log));
        YOLK_TRY(run_log_, evolve::RunLogWriter::continue_after(before, generation));
    }
    evolve::LoggedGeneration logged{.generation = generation};
    YOLK_TRY(logged.shaped, run.shaped());
    YOLK_TRY(logged.digest, run.state_digest());
    return run_log_->append(logged);
}

}  // namespace yolk::hyper
