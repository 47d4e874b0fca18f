// SPDX-License-Identifier: Apache-2.0
// From one state of a run to a later one by the generations of its log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/result.hpp"
#include "yolk/run_log.hpp"

namespace yolk::train {

/// Where a replay begins. The arrays are copied.
struct ReplayStart {
    const ParameterTable& table;
    const evolve::EvolutionOptions& options;
    const std::vector<float>& parameters;
    const std::vector<float>& optimizer_state;  ///< empty: zeros, as a run begins
    std::uint32_t generation = 0;
    std::optional<std::uint32_t> pairs_per_slice{};  ///< es_update's
    std::chrono::nanoseconds hang_limit = DispatcherOptions{}.hang_limit;
};

struct ReplayedState {
    std::vector<float> parameters{}, optimizer_state{};
    std::uint32_t generation = 0;  ///< done
    bool solved = false;           ///< as of the last of them
    std::string state_hash{}, state_digest{};
    std::optional<std::uint32_t> differs_from{};  ///< as replay_log has it
};

/// Errors: replay_log's, Evolution::create's.
[[nodiscard]] Result<ReplayedState> replay_on_device(const Device& device, const ReplayStart& start,
                                                     const evolve::RunLogReader& log, std::uint32_t generations,
                                                     const evolve::OnReplayed& on_replayed = {});
/// By the exact twin, from generation 0. Errors: fast determinism, replay_log's.
[[nodiscard]] Result<ReplayedState> replay_on_host(const ReplayStart& start, const evolve::RunLogReader& log,
                                                   std::uint32_t generations,
                                                   const evolve::OnReplayed& on_replayed = {});

}  // namespace yolk::train
