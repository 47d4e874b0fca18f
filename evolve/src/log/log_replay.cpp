// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/printable.hpp"
#include "yolk/run_log.hpp"

namespace yolk::evolve {
namespace {

Result<void> check_reach(const RunLogReader& log, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t first = log.header().first_generation;
    if (from < first) {
        return bad_input(
            "'{}' begins after generation {}, but the state to go on from is that after generation {}. Give the state "
            "of a checkpoint from generation {} on.",
            shown(log.path()), first, from, first);
    }
    if (to < from) {
        return bad_input(
            "The state after generation {} was asked for, but the state to go on from is that after generation {} "
            "already. Give an earlier one: that of an earlier checkpoint, or the run's first.",
            to, from);
    }
    if (to > log.generations()) {
        return bad_input("'{}' ends after generation {}; generation {} was asked for. Ask for {} at most.",
                         shown(log.path()), log.generations(), to, log.generations());
    }
    return {};
}

}  // namespace

Result<bool> goes_on_from(const RunLogReader& log, std::uint32_t generations, const std::string& digest) {
    YOLK_TRY(const std::string wanted, log.digest_after(generations));
    if (wanted.empty() || wanted == digest) return true;
    if (log.header().weights == FitnessWeights::F32) return false;
    return failed_work(
        "'{}' does not go on from this state: after {} generations it has the state digest {}, and this is {}. The two "
        "are of different runs, or of different versions of Yolk.",
        shown(log.path()), generations, wanted, digest);
}

Result<std::optional<std::uint32_t>> replay_log(Evolution& run, const RunLogReader& log, std::uint32_t generations,
                                                const OnReplayed& on_replayed) {
    YOLK_TRY_VOID(check_reach(log, run.generations(), generations));
    YOLK_TRY(const std::string begins, run.state_digest());
    YOLK_TRY(const bool same, goes_on_from(log, run.generations(), begins));
    std::optional<std::uint32_t> differs;
    if (!same) differs = run.generations();
    while (run.generations() < generations) {
        const std::uint32_t generation = run.generations();
        YOLK_TRY(const LoggedGeneration logged, log.read(generation));
        YOLK_TRY_VOID(run.apply(logged.shaped));
        YOLK_TRY(const std::string digest, run.state_digest());
        if (!logged.digest.empty() && digest != logged.digest && !differs) {
            if (log.header().weights == FitnessWeights::I8) {
                return failed_work(
                    "Replaying generation {} of '{}' gives the state digest {}, but the log has {}: the device "
                    "computes wrongly, or another version of Yolk wrote the log. Replay it on another device.",
                    generation, shown(log.path()), digest, logged.digest);
            }
            differs = run.generations();
        }
        if (on_replayed && !on_replayed(run.generations())) {
            return cancelled("The replay of '{}' was ended after generation {} of {}.", shown(log.path()),
                             run.generations(), generations);
        }
    }
    return differs;
}

}  // namespace yolk::evolve
