// SPDX-License-Identifier: Apache-2.0
// What System::optimize gives to a search: the system's examples and metric as a function of search coordinates.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "counts_in_force.hpp"
#include "generation_scores.hpp"
#include "kept_mean.hpp"
#include "minibatch.hpp"
#include "search_checkpoint.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/core/writer_lock.hpp"
#include "yolk/internal/evolve/member_range.hpp"
#include "yolk/optimize.hpp"
#include "yolk/run_log.hpp"

namespace yolk::hyper {

/// `set` with the groups of options.freeze not optimized, nor vectors of weights with freeze_vectors. Errors: an
/// unknown name (lists the known ones), nothing left to optimize.
[[nodiscard]] Result<ParameterSet> working_set(const ParameterSet& set, const evolve::EvolutionOptions& options);

/// By name.
[[nodiscard]] std::vector<std::string> optimized_groups(const ParameterSet& set);

/// Of the search coordinates of a set's optimized groups, those of fields.
[[nodiscard]] std::vector<evolve::ElementBounds> bounds_of(const ParameterSet& set, const ParameterTable& table);

/// Of everything that a search is told of its examples.
[[nodiscard]] std::string hash_of(std::span<const Example> examples);

/// What evaluations have cost, as ranks tell each other.
struct RankCosts {
    std::uint64_t metric_calls = 0, host_calls = 0, dispatches = 0, failed = 0;
};

/// One thread at a time. System, metric, and what the options point to must outlive it.
class SystemObjective {
   public:
    /// Traces the examples and plans their evaluation.
    [[nodiscard]] static Result<std::unique_ptr<SystemObjective>> create(System& system,
                                                                         std::span<const Example> examples,
                                                                         const Metric& metric,
                                                                         const OptimizeOptions& options);

    // What `Objective` gives to a search, which says more of it.
    [[nodiscard]] const SearchSpace& space() const noexcept { return space_; }
    [[nodiscard]] const OptimizeOptions& options() const noexcept { return options_; }
    [[nodiscard]] Dispatcher& dispatcher() noexcept;
    [[nodiscard]] evolve::DevicePool* devices() noexcept;
    [[nodiscard]] std::span<const ParameterId> host_rows() const noexcept { return host_rows_; }
    [[nodiscard]] std::span<const evolve::ElementBounds> bounds() const noexcept { return bounds_; }
    [[nodiscard]] Result<std::vector<double>> evaluate(std::span<const float> points, std::uint32_t count);
    /// A mean on the device may still be read when this returns, and its buffer stays until settle().
    [[nodiscard]] Result<std::vector<double>> evaluate(const Perturbations& candidates);
    [[nodiscard]] bool report(const GenerationReport& report, std::span<const float> mean);
    [[nodiscard]] bool report(const GenerationReport& report, const Perturbations& around);
    [[nodiscard]] Result<std::unique_ptr<Gradients>> gradients(std::span<const std::string> groups);

    // For the searches of the house.
    /// Perturbations::rank, and EvolutionOptions::rank of an update: of matrices that declare none. space().table has
    /// the ranks of the others.
    [[nodiscard]] std::uint32_t noise_rank() const noexcept { return options_.evolution.rank; }
    /// Whether the budget covers this many more candidates. Where it does not, the search is to end.
    [[nodiscard]] bool affords(std::uint64_t candidates);
    /// Waits until nothing reads a mean on the device that evaluate() was given.
    [[nodiscard]] Result<void> settle() { return has_device() ? kept_.settle(*dispatcher_) : Result<void>(); }
    /// What an interrupted search left, to begin with; the start of space() otherwise.
    [[nodiscard]] evolve::EvolutionState first_state() const;
    /// Whether the state after this many generations is to be kept now.
    [[nodiscard]] bool checkpoint_due(std::uint32_t generations) const;
    /// Keeps it, with what competed so far; on rank 0, and where there is a place for it. Errors: Io.
    [[nodiscard]] Result<void> save_checkpoint(const evolve::EvolutionState& state);
    /// The mean of these perturbations competes for the result with a reward that came with its derivatives.
    [[nodiscard]] Result<void> offer(const Perturbations& around, double reward);
    /// Generations that changed nothing because no reward of theirs was finite, and parameters that a generation left
    /// as they were.
    void skipped(std::uint32_t generations, std::uint64_t elements);
    /// Scores the mean of these perturbations on the held-out examples, if that is due, for the report that is next:
    /// before an update moves it.
    [[nodiscard]] Result<void> look_at_held_out(const Perturbations& around);
    /// Whether log_generation() is to be called after each generation of a run, which then keeps its weights and makes
    /// digests.
    [[nodiscard]] bool keeps_log() const noexcept { return !options_.run_log.empty(); }
    [[nodiscard]] Result<void> log_generation(const evolve::Evolution& run);
    /// evaluate() of the mean (member -1) and a generation behind it, whose rewards go to `scores`: they stay on the
    /// device where kernels make them. The value is the mean's reward; nothing: the budget does not cover them, stop.
    [[nodiscard]] Result<std::optional<double>> score(const Perturbations& candidates, GenerationScores& scores);
    /// Members that failed where their rewards stayed on the device.
    void count_failed(std::uint32_t members) noexcept;

    // As an evaluator of evolve: of a run over several devices, over ranks, or without a device
    // (objective_members.cpp).
    [[nodiscard]] bool is_dealt_out() const noexcept;
    /// The system's; none where no device could be opened.
    [[nodiscard]] evolve::Devices all_devices() const {
        return has_device() ? system_->devices() : evolve::Devices::none();
    }
    /// Of a run on all_devices(). The objective must outlive it.
    [[nodiscard]] evolve::PoolParts run_parts();
    /// On a worker's thread, or by the judge (PopulationEvaluator::kTwin): rewards of members, and where `mean` has
    /// room for them, that of the mean and that on the held-out examples; those that are not asked for are NaN.
    [[nodiscard]] Result<std::uint64_t> score(std::size_t worker, const evolve::MemberRange& members,
                                              std::span<float> returns, std::span<double> mean);
    [[nodiscard]] std::uint32_t members_at_once() const noexcept {
        return has_device() ? std::max(2U, members_at_once_) : UINT32_MAX;
    }
    /// The run scores the mean alone next.
    void expect_mean_alone(bool alone) noexcept { is_mean_alone_ = alone; }
    /// A generation was scored, or the mean after the last: it competes, and what failed is counted.
    [[nodiscard]] Result<void> take(std::uint32_t generation, std::uint32_t failed, const evolve::Evolution& run);
    void add_shares(std::span<const evolve::WorkerShare> shares);
    /// The run has gone back to before this generation: forgets what came since. What it cost stays counted.
    [[nodiscard]] Result<void> go_back(std::uint32_t generation);
    /// A run that went back may have begun with a device that computed wrongly.
    [[nodiscard]] Result<void> end_run();

    /// What the search would cost.
    [[nodiscard]] Result<OptimizeOutcome> expected(const Search& search) const;
    /// Scores the start, runs, and says what came of it. Errors: the search's, a budget below the start, a log that
    /// cannot be written, no mean with a finite reward.
    [[nodiscard]] Result<OptimizeOutcome> run(Search& search);
    /// The best coordinates found, after run(); nothing where that is the start.
    [[nodiscard]] const std::optional<std::vector<float>>& best() const noexcept { return best_; }
    [[nodiscard]] const ParameterSet& set() const noexcept { return set_; }
    /// Otherwise nothing of the search runs on one.
    [[nodiscard]] bool has_device() const noexcept { return dispatcher_ != nullptr; }

   private:
    /// One set of examples, prepared. The evaluator refers to the others.
    struct Prepared {
        std::vector<TracedExample> traced;
        std::vector<Value> expected;
        std::unique_ptr<PopulationEvaluator> evaluator;
    };
    SystemObjective(System& system, const Metric& metric, const OptimizeOptions& options)
        : system_(&system), metric_(&metric), options_(options) {}
    /// Once tracing has registered every hyperfunction.
    [[nodiscard]] Result<std::vector<std::string>> searched_groups() const;
    [[nodiscard]] Result<void> prepare(std::span<const Example> examples, Prepared& prepared);
    [[nodiscard]] Result<void> plan(Prepared& prepared);
    [[nodiscard]] Result<std::vector<Candidate>> candidates_at(std::span<const float> points,
                                                               std::uint32_t count) const;
    /// Rewards over all samples; `evaluate` makes the outputs of one.
    [[nodiscard]] Result<std::vector<double>> rewards_of(std::uint32_t count,
                                                         const std::function<Result<PopulationOutputs>()>& evaluate);
    /// Whether the mean that a generation begins with is scored on the held-out examples; after the last generation it
    /// is.
    [[nodiscard]] bool held_out_due(std::uint32_t generation) const noexcept;
    [[nodiscard]] Result<std::optional<double>> held_out_reward(std::span<const float> coordinates);
    [[nodiscard]] Result<std::optional<double>> held_out_reward(const Perturbations& around);
    /// OptimizeOptions::look, for the report that is next.
    [[nodiscard]] Result<void> look_at(std::span<const float> mean);
    [[nodiscard]] Result<void> look_at(const Perturbations& around);
    template <class HeldOut>
    [[nodiscard]] bool tell(const GenerationReport& report, HeldOut held_out);
    void find_host_rows();
    // Of generations that are evaluated on some of the examples (minibatch.cpp).
    [[nodiscard]] Result<void> trace_training(std::span<const Example> examples);
    /// Of the generation, with the metric's equations behind the system's.
    [[nodiscard]] Result<std::vector<TracedExample>> scored_training() const;
    /// The examples of a generation.
    [[nodiscard]] Result<void> draw_generation(std::uint32_t generation);
    [[nodiscard]] bool draws() const noexcept { return drawn_.has_value(); }
    /// Whether a mean of this generation becomes the one to keep.
    [[nodiscard]] Result<bool> is_to_keep(const std::function<Result<std::optional<double>>()>& held_out,
                                          double reward);
    [[nodiscard]] Result<void> compete_drawn(std::span<const float> points, std::span<const double> rewards);
    void compete(std::span<const float> coordinates, double reward);
    [[nodiscard]] Result<void> compete(const Perturbations& around, double reward);
    [[nodiscard]] Result<void> fetch_best();
    void count_failures(const PopulationEvaluation& evaluation);
    void count_shares(const PooledEvaluation& pooled);
    [[nodiscard]] Result<void> begin_generation(std::span<const float> parameters, const NoiseContext& when);
    void name_failure(const PopulationEvaluation& evaluation);
    void name_failure(const std::string& why);
    void count_parts(const PopulationCounts& counts);
    [[nodiscard]] Result<void> share_costs();
    [[nodiscard]] Result<void> check_devices() const;
    /// Errors: no device, where the search itself needs one.
    [[nodiscard]] Result<void> find_device();
    [[nodiscard]] Result<void> score_start();
    /// Which is left as it is elsewhere.
    [[nodiscard]] Result<void> score_start_again();
    [[nodiscard]] Result<std::vector<double>> rewards_at(const Perturbations& candidates);
    void count_costs(const RankCosts& costs);
    [[nodiscard]] Result<void> search_by(Search& search);
    [[nodiscard]] Result<void> finish(const Search& search);
    /// Before anything is evaluated: on the ranks' settings, and from a checkpoint.
    [[nodiscard]] Result<void> begin(const Search& search);
    [[nodiscard]] Result<void> check_place() const;
    /// What must be the same where a search goes on, and on all ranks.
    [[nodiscard]] Result<evolve::NamedValues> settings(const Search& search) const;
    [[nodiscard]] Result<std::optional<SearchCheckpoint>> read_checkpoint() const;
    [[nodiscard]] Result<void> go_on(const std::optional<SearchCheckpoint>& from);
    /// Of the log of the search that this one goes on with; 0: it begins anew.
    [[nodiscard]] std::uint64_t kept_log_bytes() const;
    // Of several ranks; where there are no others they do nothing.
    [[nodiscard]] bool is_first_rank() const noexcept;
    [[nodiscard]] Result<void> compare_ranks() const;
    [[nodiscard]] Result<std::optional<SearchCheckpoint>> shared_checkpoint() const;
    [[nodiscard]] Result<void> agree(const Result<void>& mine) const;
    [[nodiscard]] Result<bool> agree_on_any(bool mine) const;
    /// Rewards of `count` candidates, of which each rank evaluates a part.
    using EvaluateRange = std::function<Result<std::vector<double>>(const evolve::MemberRange& part)>;
    [[nodiscard]] Result<std::vector<double>> from_all_ranks(std::uint32_t count, const EvaluateRange& evaluate);
    [[nodiscard]] Result<void> share_result();
    void count_ranks(const GenerationReport& report);
    [[nodiscard]] Result<void> check_spoilt(const Search& search) const;
    void note_devices();
    /// Adds what the models in force were asked since the last time.
    void count_models();
    [[nodiscard]] Result<void> open_run_log();
    [[nodiscard]] Result<void> log_begin(const Search& search);
    [[nodiscard]] Result<void> log_line(const Json& line);
    [[nodiscard]] Result<void> log_end();

    System* system_;
    const Metric* metric_;
    ModelCounts models_seen_ = counts_in_force();
    OptimizeOptions options_;
    Dispatcher* dispatcher_ = nullptr;
    std::optional<Error> no_device_{};  ///< why there is no dispatcher
    ParameterSet set_;
    SearchSpace space_;
    Prepared training_;
    std::optional<Prepared> held_out_;
    std::optional<DrawnExamples> drawn_;
    std::optional<std::uint32_t> drawn_generation_;  ///< whose examples training_ has
    std::optional<double> best_held_out_;            ///< of the mean that is kept, where generations draw examples
    std::optional<std::optional<double>>
        scored_;  ///< held-out reward of this generation's mean, where it is known already
    std::map<std::string, double> looked_;
    std::optional<LineLog> log_;
    std::optional<evolve::RunLogWriter> run_log_;
    std::optional<Error> report_error_;  ///< report() has no way to tell; run() does
    std::optional<std::vector<float>> best_;
    KeptMean kept_;
    std::vector<ParameterId> host_rows_;
    std::vector<evolve::ElementBounds> bounds_;
    OptimizeOutcome outcome_;
    bool failure_named_ = false;
    bool out_of_budget_ = false;
    bool stopped_by_caller_ = false;
    std::uint32_t failed_in_generation_ = 0;
    std::uint64_t skipped_in_generation_ = 0;
    RankCosts unshared_;         ///< spent here since share_costs()
    std::string examples_hash_;  ///< where there are other ranks, or a checkpoint
    evolve::NamedValues settings_;
    std::optional<evolve::EvolutionState> first_;  ///< of a checkpoint
    // Of several devices.
    bool is_spoilt_ = false;  ///< an audit found a wrong device outside of a run, which could go back
    // Of a run whose members are dealt out.
    std::mutex counting_;  ///< of what workers count
    std::uint32_t members_at_once_ = 0;
    bool is_mean_alone_ = false;
    bool scores_held_out_ = false;  ///< with the generation that has begun
    bool went_back_ = false;
    std::uint64_t best_changes_ = 0;
    /// The best mean from this generation on. An audit may go back to before a generation, so earlier ones are kept.
    struct KeptSince {
        std::uint32_t generation = 0;
        std::uint64_t changes = 0;
        double reward = 0.0;
        std::optional<double> held_out{};
        std::optional<std::vector<float>> best{};
    };
    [[nodiscard]] KeptSince kept_since(std::uint32_t generation) const;
    std::vector<KeptSince> trail_;
    std::vector<evolve::WorkerShare> generation_shares_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace yolk::hyper
