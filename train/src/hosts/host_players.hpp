// SPDX-License-Identifier: Apache-2.0
// Episodes of a population's policies, or of the unperturbed one, in environments on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/host_environment.hpp"
#include "yolk/internal/evolve/member_evaluator.hpp"
#include "yolk/internal/evolve/member_policies.hpp"
#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk::train {

/// What the players of a run have in common.
struct HostTask {
    evolve::MemberPoliciesDesc policies{};  ///< `members` is not looked at
    ParameterTable parameters{};            ///< as trained
    std::uint32_t max_steps = 0;            ///< from 1
    std::uint32_t episodes = 1;             ///< per member and generation
    bool squashed = false;                  ///< host_action's
};

/// What the copies have in common; the name is theirs. Errors: check_host_environment's, an empty pointer, copies that
/// differ.
[[nodiscard]] Result<EnvironmentInfo> common_info(const HostEnvironments& environments);

/// `max_steps`: 0 is the environment's. Errors: neither has a limit.
[[nodiscard]] Result<HostTask> host_task(const PolicyNetwork& network, const ParameterTable& parameters,
                                         const EnvironmentInfo& environment, std::uint32_t max_steps);

/// Members first_member, first_member + 1, ..., one per lane, from one seed each.
struct HostBatch {
    std::uint32_t first_member = 0;
    std::vector<std::uint32_t> seeds{};  ///< as many as there are members, at most the lanes
    float* returns = nullptr;            ///< out, as many
};

class HostPlayer;

/// Plays on one device, with its environments in turns, each on a thread. One thread at a time.
class HostPlayers {
   public:
    /// Errors: no environments, MemberPolicies'. `device` and `dispatcher` must outlive it.
    [[nodiscard]] static Result<std::unique_ptr<HostPlayers>> create(const Device& device, Dispatcher& dispatcher,
                                                                     HostEnvironments environments,
                                                                     const HostTask& task);
    ~HostPlayers();
    HostPlayers(const HostPlayers&) = delete;
    HostPlayers& operator=(const HostPlayers&) = delete;

    [[nodiscard]] std::uint32_t lanes() const noexcept;
    /// From now on with these; blocks.
    [[nodiscard]] Result<void> set_parameters(std::span<const float> parameters);
    /// Plays all batches; gives the number of forward passes of live members. Errors: the device's; what an environment
    /// gave that it must not, with its member and step; its own errors, which are never of the device's kinds.
    [[nodiscard]] Result<std::uint64_t> play(const NoiseContext& when, std::span<const HostBatch> batches);
    /// Returns of the unperturbed policy, in episodes [first, first + returns.size()) of (when.seed, when.generation).
    [[nodiscard]] Result<void> play_mean(NoiseContext when, std::uint32_t first, std::span<float> returns);

   private:
    HostPlayers(Dispatcher& dispatcher, Buffer parameters);
    Dispatcher* dispatcher_;
    Buffer parameters_;
    std::vector<std::unique_ptr<HostPlayer>> players_;
};

/// Members in environments on the host, for a pool. Episode e of generation g begins as (g, first_episode + e) says.
[[nodiscard]] std::unique_ptr<evolve::MemberEvaluator> host_players_members(std::unique_ptr<HostPlayers> players,
                                                                            std::uint32_t episodes,
                                                                            std::uint32_t most_members,
                                                                            std::uint32_t first_episode);

}  // namespace yolk::train
