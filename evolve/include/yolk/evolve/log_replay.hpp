// SPDX-License-Identifier: Apache-2.0
// From the log of a run to its state after any generation, without evaluating anything.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "yolk/core/result.hpp"
#include "yolk/evolve/evolution.hpp"
#include "yolk/evolve/run_log.hpp"

namespace yolk::evolve {

/// Called after each generation with the number done; returning false ends the replay with an error, Cancelled.
using OnReplayed = std::function<bool(std::uint32_t generations)>;

/// Applies the log's generations to `run` until it has done `generations`, and compares the state's digest with the
/// log's before the first and after each. `run` has EvolutionParts::digest or no device, needs no evaluator, and is in
/// the state after some generation from the log's first on, or at the run's beginning.
///
/// The value is empty where all digests agree. Float weights give the same update only within a tolerance on another
/// device or with other tiles (docs/kernels/es_update.md): for such a log the number of generations after which the
/// state first differs is the value, and the replay goes on. For integer weights a difference is an error.
///
/// Errors: a log that begins later or ends sooner, a `run` that has done more than `generations` already, a state or a
/// generation whose digest is not the log's (Failed, with the generation), those of RunLogReader::read and
/// Evolution::apply.
[[nodiscard]] Result<std::optional<std::uint32_t>> replay_log(Evolution& run, const RunLogReader& log,
                                                              std::uint32_t generations,
                                                              const OnReplayed& on_replayed = {});

/// Whether the log goes on from the state with this digest after `generations` generations; false where its weights are
/// floats and the digests differ. Errors: as replay_log's for a state that is not the log's.
[[nodiscard]] Result<bool> goes_on_from(const RunLogReader& log, std::uint32_t generations, const std::string& digest);

}  // namespace yolk::evolve
