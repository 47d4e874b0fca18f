// SPDX-License-Identifier: Apache-2.0
// The main job: train a policy for a task on a device, watch it, save it, and evaluate it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "yolk/autotune/context.hpp"
#include "yolk/core/json_fwd.hpp"
#include "yolk/core/result.hpp"
#include "yolk/evolve/options.hpp"
#include "yolk/primitives/environment_file.hpp"
#include "yolk/primitives/rollout.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/dispatcher.hpp"

namespace yolk::train {

struct TrainOptions {
    std::string task = "cartpole";  ///< the name of a built-in environment
    /// An environment of one's own (load_environment); where set, `task` is not looked at.
    std::shared_ptr<const LoadedEnvironment> own_environment{};
    evolve::EvolutionOptions evolution{};
    PolicyNetwork network{};                 ///< widths; the ends must fit the environment
    std::uint32_t generations = 100;         ///< at most
    bool stop_when_solved = true;            ///< ends after the generation whose unperturbed policy solves the task
    std::uint32_t max_steps = 0;             ///< of an episode; 0: the environment's
    std::filesystem::path out = "yolk-out";  ///< folder: policy.safetensors, metrics.jsonl, checkpoint.yolk; made if
                                             ///< missing; empty: nothing is written
    /// Generations between two checkpoints; 0: only where training ends, interrupted or not.
    std::uint32_t checkpoint_every = 0;
    /// Generations between two state hashes; 0: only with checkpoints and where training ends. The state comes to the
    /// host for them, so that a run that fails keeps the last state that was hashed. The widest network's state has 3
    /// MiB, so that every generation affords it; a digest made on the device is in every report in any case.
    std::uint32_t hash_every = 1;
    /// Goes on from the checkpoint in `out`, in exact mode to the bits of a run that was never interrupted. All
    /// settings that those depend on must be the checkpoint's.
    bool resume = false;
    std::uint32_t evaluation_episodes = 100;
    std::optional<RolloutConfig>
        rollout_config{};  ///< tile configurations; what is tuned, else the defaults, where unset
    std::optional<std::uint32_t> pairs_per_slice{};  ///< es_update's
    /// Of the dispatcher: training ends with an error when nothing on the device has moved for so long.
    std::chrono::nanoseconds hang_limit = DispatcherOptions{}.hang_limit;
};

/// One generation, as metrics.jsonl and the progress bar show it.
struct GenerationReport {
    std::uint32_t generation = 0;  ///< from 0
    float mean_return = 0.0F;      ///< of the population
    float best_return = 0.0F;
    float policy_return = 0.0F;           ///< of the unperturbed policy, after the update
    std::uint64_t evaluations = 0;        ///< of this generation
    double evaluations_per_second = 0.0;  ///< of this generation
    double seconds = 0.0;                 ///< since the start of training
    std::uint32_t not_finite = 0;         ///< members whose score was not finite
    float sigma = 0.0F;
    float learning_rate = 0.0F;
    std::string state_hash{};    ///< after the update; empty where none was due (TrainOptions::hash_every)
    std::string state_digest{};  ///< after the update (yolk/evolve/state_digest.hpp)
};
[[nodiscard]] Json to_json(const GenerationReport& report);

struct TrainOutcome {
    std::uint32_t generations = 0;        ///< done, those before a resumption included
    std::uint32_t resumed_from = 0;       ///< generations of them that the checkpoint brought
    bool solved = false;                  ///< eval_mean_return is at least the environment's solved_return
    double evaluations_per_second = 0.0;  ///< over the generations of this process
    double eval_mean_return = 0.0;        ///< over evaluation_episodes fresh episodes of the unperturbed policy
    std::string state_hash{};
    double seconds = 0.0;                   ///< of training and evaluation
    double first_generation_seconds = 0.0;  ///< from process start to the end of its first generation; 0 without one
    std::filesystem::path policy{};         ///< the saved file; empty where nothing was written
    OperationCounts counts{};
};

/// Called after each generation, its metrics and its checkpoint where one is due; returning false ends training there
/// (what has been learned is evaluated and saved, and can be resumed).
using OnGeneration = std::function<bool(const GenerationReport&)>;

/// Errors: settings outside their limits, a folder that cannot be written (told before training starts), a device that
/// fails the arithmetic probe in exact mode (with the reason), an own environment whose arithmetic is not exact there
/// (with file and line), a generation without a finite score, driver errors; to
/// resume: a checkpoint that is missing, damaged, foreign, of a later version or of other settings.
[[nodiscard]] Result<TrainOutcome> train(const Context& context, const TrainOptions& options,
                                         const OnGeneration& on_generation = {});
/// On a device that the caller has opened; its plans are tuned where it has a tuning table.
[[nodiscard]] Result<TrainOutcome> train(const Device& device, const TrainOptions& options,
                                         const OnGeneration& on_generation = {});

/// The state hash after each generation, computed by the exact twin on the host (no device): what a device's metrics
/// must show in exact mode. Ends as train does, stop_when_solved included. `on_generation` as above. Writes nothing.
/// Errors: fast determinism, an own environment (the twin is C++, compiled with the built-in ones), and train's that
/// need no device.
[[nodiscard]] Result<std::vector<std::string>> train_twin(const TrainOptions& options,
                                                          const OnGeneration& on_generation = {});

struct EvalOptions {
    std::uint32_t episodes = 100;
    std::uint64_t seed = 1;
    /// What the policy was trained on, where that was an environment of one's own.
    std::shared_ptr<const LoadedEnvironment> own_environment{};
};
struct EvalOutcome {
    std::string task{};
    std::uint32_t episodes = 0;
    double mean_return = 0.0;
    double deviation = 0.0;  ///< standard deviation over the episodes
    double worst_return = 0.0;
    double best_return = 0.0;
};
/// Runs a saved policy. Errors: a file that is truncated, foreign, or does not fit its task; an own environment that is
/// missing, not wanted, or of another text than the policy was trained on; driver errors.
[[nodiscard]] Result<EvalOutcome> evaluate_policy(const Context& context, const std::filesystem::path& policy,
                                                  const EvalOptions& options = {});
[[nodiscard]] Result<EvalOutcome> evaluate_policy(const Device& device, const std::filesystem::path& policy,
                                                  const EvalOptions& options = {});

}  // namespace yolk::train
