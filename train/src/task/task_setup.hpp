// SPDX-License-Identifier: Apache-2.0
// From the options of a run to what the device's loop and the twin's both start from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "host_players.hpp"
#include "yolk/internal/evolve/generation.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"
#include "yolk/train.hpp"

namespace yolk::train {

// Episodes are told apart by number, and a reset depends on (seed, generation, episode): these ranges never meet, so no
// policy is ever measured on a start that it was trained on or stopped by, even under the same seed.
inline constexpr std::uint32_t kTrainingEpisodes = 0;
inline constexpr std::uint32_t kCheckEpisodes = 1U << 30U;       ///< of the unperturbed policy, after each generation
inline constexpr std::uint32_t kFinalEpisodes = 2U << 30U;       ///< of the finished policy, at the end of training
inline constexpr std::uint32_t kEvaluationEpisodes = 3U << 30U;  ///< of evaluate_policy
/// No range is used beyond its first 2^20 episodes.
inline constexpr std::uint32_t kMaxEvaluationEpisodes = 1U << 20U;
inline constexpr std::uint32_t kCheckEpisodeCount = 100;
inline constexpr std::uint32_t kHostCheckEpisodeCount = 16;  ///< where the host steps the environment, at first

struct TaskSetup {
    EnvironmentInfo environment;  ///< an own one's lives in the descriptions below
    ParameterTable parameters;    ///< as trained: with frozen ones
    std::vector<float> initial;
    RolloutDesc population;  ///< perturbed members
    RolloutDesc checks;      ///< the unperturbed policy, kCheckEpisodeCount episodes
    RolloutDesc final;       ///< the same, evaluation_episodes
    /// Mean return of the checks from which the task counts as solved: halfway between the environment's solved_return
    /// and best_return, so that 100 fresh episodes stay above solved_return although the checks were the reason to
    /// stop.
    float solved_at = 0.0F;
    /// Of environments that the host steps; none are in the descriptions above, which no roll-out is then made of.
    std::optional<HostTask> host{};
};

/// Checks all options that need no device.
[[nodiscard]] Result<TaskSetup> set_up_task(const TrainOptions& options);

/// The unperturbed policy of a network over `episodes` episodes, in the default environment.
[[nodiscard]] RolloutDesc policy_rollout(const PolicyNetwork& network, const ParameterTable& parameters,
                                         std::uint32_t episodes, std::uint32_t max_steps);
[[nodiscard]] Result<void> check_evaluation_episodes(std::uint32_t episodes);

/// All but the times.
[[nodiscard]] GenerationReport report_of(const evolve::GenerationSummary& summary, std::string state_hash,
                                         std::string state_digest);

/// By the unperturbed policy's return; never where it is not finite.
[[nodiscard]] bool is_solved(const TaskSetup& setup, float policy_return);

/// The first line of metrics.jsonl.
[[nodiscard]] Json settings_json(const TrainOptions& options, const TaskSetup& setup, std::span<const Device> devices);

/// What tells environments of one name apart: the hash of an own one's text, or "built-in".
[[nodiscard]] std::string environment_source(const TrainOptions& options);

}  // namespace yolk::train
