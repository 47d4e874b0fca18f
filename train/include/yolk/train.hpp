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

#include "yolk/context.hpp"
#include "yolk/device.hpp"
#include "yolk/devices.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/environment.hpp"
#include "yolk/host_environment.hpp"
#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/ranks.hpp"
#include "yolk/internal/train/policy_file.hpp"
#include "yolk/internal/train/processes.hpp"
#include "yolk/internal/train/replay.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk::train {

struct TrainOptions {
    std::string task = "cartpole";  ///< the name of a built-in environment
    /// An environment of one's own (load_environment); where set, `task` is not looked at.
    std::shared_ptr<const LoadedEnvironment> own_environment{};
    /// Environments that the host steps, at least one for each device; where there are any, neither `task` nor
    /// `own_environment` is looked at. Two for a device let it compute for one while the other is stepped.
    HostEnvironments host_environments{};
    evolve::EvolutionOptions evolution{};
    PolicyNetwork network{};          ///< widths; the ends must fit the environment
    std::uint32_t generations = 100;  ///< at most
    bool stop_when_solved = true;     ///< ends after the generation whose unperturbed policy solves the task
    std::uint32_t max_steps = 0;      ///< of an episode; 0: the environment's
    /// Folder: policy.safetensors, metrics.jsonl, checkpoint.yolk, log.yolk; made if missing; empty: nothing is
    /// written. A run that is there already is set aside whole, into a folder "previous-1" (or the next free number) in
    /// it, before the first generation of a new one is written; Yolk removes none of them.
    std::filesystem::path out = "yolk-out";
    /// Every generation is appended to log.yolk (yolk/run_log.hpp), from which any of them can be rebuilt
    /// (yolk/internal/train/replay.hpp) and a killed run goes on. False: no log is written or read.
    bool log = true;
    /// Generations between two checkpoints; 0: only where training ends, interrupted or not.
    std::uint32_t checkpoint_every = 0;
    /// Generations between two state hashes; 0: only with checkpoints and where training ends. The state comes to the
    /// host for them. A run that fails saves its last good state by its log; without one, or on a lost device, the last
    /// that was hashed. The widest network's state has 3 MiB, so that every generation affords it; a digest made on the
    /// device is in every report in any case.
    std::uint32_t hash_every = 1;
    /// Goes on from the checkpoint in `out`, or from the log where that goes further, in exact mode to the bits of a
    /// run that was never interrupted. All settings that those depend on must be theirs.
    bool resume = false;
    std::uint32_t evaluation_episodes = 100;
    std::optional<RolloutConfig>
        rollout_config{};  ///< tile configurations; what is tuned, else the defaults, where unset
    std::optional<std::uint32_t> pairs_per_slice{};  ///< es_update's
    /// Of the dispatchers: training ends with an error when nothing on the device has moved for so long; of several
    /// devices the one is dropped. The default is the devices' own
    /// (yolk/internal/runtime/hang_limit.hpp).
    std::chrono::nanoseconds hang_limit = DispatcherOptions{}.hang_limit;
    /// Share of the members, 0 ... 1, that are evaluated again on another device, in exact mode. A device that computes
    /// wrongly is dropped, and training goes back to before its last verified members.
    double audit = 0.0;
    /// Audits with one device are legal: the exact twin makes them. An environment of one's own has none for members.
    bool audits_alone = false;
};

/// Of the task that the options name; its name lives as long as they do. Errors: an unknown name, environments on the
/// host that do not fit each other.
[[nodiscard]] Result<EnvironmentInfo> environment_of(const TrainOptions& options);

/// One generation, as metrics.jsonl and the progress bar show it.
struct GenerationReport {
    std::uint32_t generation = 0;  ///< from 0
    float mean_return = 0.0F;      ///< of the population; NaN where no score was finite, as the next
    float best_return = 0.0F;
    float policy_return = 0.0F;           ///< of the unperturbed policy, after the update
    std::uint64_t evaluations = 0;        ///< of this generation
    double evaluations_per_second = 0.0;  ///< of this generation
    double seconds = 0.0;                 ///< since the start of training
    std::uint32_t not_finite = 0;         ///< members whose score was not finite
    std::uint32_t skipped_elements = 0;   ///< parameters left as they were, as they would not have been finite
    float sigma = 0.0F;
    float learning_rate = 0.0F;
    std::string state_hash{};    ///< after the update; empty where none was due (TrainOptions::hash_every)
    bool solves = false;         ///< the unperturbed policy's return is one of a policy that solves the task
    std::string state_digest{};  ///< after the update (yolk/internal/evolve/state_digest.hpp)
    std::vector<evolve::RankShare> ranks{};      ///< where there are others: what each evaluated
    evolve::Traffic traffic{};                   ///< of this rank since the last report, or since training began
    std::vector<evolve::WorkerShare> devices{};  ///< what each did in this generation; empty with a single device
};
[[nodiscard]] Json to_json(const GenerationReport& report);
[[nodiscard]] Json to_json(const evolve::WorkerShare& share);

struct TrainOutcome {
    std::uint32_t generations = 0;        ///< done, those before a resumption included
    std::uint32_t resumed_from = 0;       ///< generations of them that the checkpoint or the log brought
    bool solved = false;                  ///< eval_mean_return is at least the environment's solved_return
    bool interrupted = false;             ///< OnGeneration ended it, on this rank or on another one
    double evaluations_per_second = 0.0;  ///< over the generations of this process
    /// Of this process: members whose score was not finite, generations in which none was, and parameters that a step
    /// left as they were, since they would not have been finite.
    std::uint64_t not_finite = 0, generations_without_finite = 0, skipped_elements = 0;
    double eval_mean_return = 0.0;  ///< over evaluation_episodes fresh episodes of the unperturbed policy
    std::string state_hash{};
    double seconds = 0.0;                   ///< of training and evaluation
    double first_generation_seconds = 0.0;  ///< from process start to the end of its first generation; 0 without one
    std::filesystem::path policy{};         ///< the saved file; empty where nothing was written
    std::filesystem::path previous{};       ///< where the run that was in the folder is now; empty where none was
    OperationCounts counts{};               ///< of all devices
    /// What each of several devices did in all, and why those that were dropped were, as sentences.
    std::vector<evolve::WorkerShare> devices{};
    std::string losses{};
    std::vector<evolve::RankShare> ranks{};  ///< where there are others: what each evaluated, over all generations
    evolve::Traffic traffic{};               ///< of this rank in its generations
};

/// Called after each generation, its metrics and its checkpoint where one is due; returning false ends training there
/// (what has been learned is evaluated and saved, and can be resumed). Where an audit found a device that computed
/// wrongly, generations that it may have spoiled are reported again.
using OnGeneration = std::function<bool(const GenerationReport&)>;

/// Errors: settings outside their limits, a folder that cannot be written (told before training starts), a device that
/// fails the arithmetic probe in exact mode (with the reason), an own environment whose arithmetic is not exact there
/// (with file and line), no finite score in the first generation or in ten in a row, driver errors; to resume: a
/// checkpoint or a log that is damaged, foreign, of a later version or of other settings, where the other does not do;
/// a log whose generations lead to other states than it says.
///
/// On several devices of any vendor it is in exact mode the same to the bit as on any one of them; one that fails is
/// dropped with a notice, and the others go on. How they work together is in the options, whatever pool they are of.
/// Where they are those of one rank (evolve::Devices::with), all ranks train with the same settings: members are shared
/// out, every rank makes the update, and states are compared. Rank 0 writes the files.
[[nodiscard]] Result<TrainOutcome> train(const evolve::Devices& devices, const TrainOptions& options,
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
    /// The environment that the policy runs in, copies of one, on the host: its own, or any other that it fits.
    HostEnvironments host_environments{};
    std::uint32_t max_steps = 0;  ///< of an episode in one of those; 0: the environment's
};
struct EvalOutcome {
    std::string task{};
    std::uint32_t episodes = 0;
    double mean_return = 0.0;
    double deviation = 0.0;     ///< standard deviation over the episodes
    double worst_return = 0.0;  ///< of those that are finite, as the next; NaN where none is
    double best_return = 0.0;
    std::uint32_t not_finite = 0;  ///< episodes whose return is not
    /// Several devices, of which some fail the arithmetic probe: the last bits of a return are those of the device that
    /// happened to run the episode.
    bool depends_on_placement = false;
};
/// Runs a saved policy. Errors: a file that is truncated, foreign, or does not fit its task; an own environment that is
/// missing, not wanted, or of another text than the policy was trained on; driver errors.
/// Over several devices episodes are dealt out; one that fails is dropped with a notice. None has to pass the
/// arithmetic probe.
[[nodiscard]] Result<EvalOutcome> evaluate_policy(const evolve::Devices& devices, const std::filesystem::path& policy,
                                                  const EvalOptions& options = {});

}  // namespace yolk::train
