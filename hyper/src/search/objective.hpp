// SPDX-License-Identifier: Apache-2.0
// What System::optimize gives to a search: the system's examples and metric as a function of search coordinates.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "counts_in_force.hpp"
#include "kept_centre.hpp"
#include "minibatch.hpp"
#include "search_checkpoint.hpp"
#include "yolk/core/writer_lock.hpp"
#include "yolk/evolve/member_range.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

/// `set` with the groups of options.freeze not optimized, nor vectors of weights with freeze_vectors. Errors: an
/// unknown name (lists the known ones), nothing left to optimize.
[[nodiscard]] Result<ParameterSet> working_set(const ParameterSet& set, const evolve::EvolutionOptions& options);

/// By name.
[[nodiscard]] std::vector<std::string> optimized_groups(const ParameterSet& set);

/// Of everything that a search is told of its examples.
[[nodiscard]] std::string hash_of(std::span<const Example> examples);

/// What evaluations have cost, as ranks tell each other.
struct RankCosts {
    std::uint64_t metric_calls = 0, host_calls = 0, dispatches = 0, failed = 0;
};

/// One thread at a time. System, metric, and what the options point to must outlive it.
class SystemObjective final : public Objective {
   public:
    /// Traces the examples and plans their evaluation.
    [[nodiscard]] static Result<std::unique_ptr<SystemObjective>> create(System& system,
                                                                         std::span<const Example> examples,
                                                                         const Metric& metric,
                                                                         const OptimizeOptions& options);

    [[nodiscard]] const SearchSpace& space() const noexcept override { return space_; }
    [[nodiscard]] const OptimizeOptions& options() const noexcept override { return options_; }
    [[nodiscard]] Dispatcher& dispatcher() noexcept override;
    [[nodiscard]] evolve::DevicePool* devices() noexcept override;
    [[nodiscard]] std::span<const ParameterId> host_rows() const noexcept override { return host_rows_; }
    bool clamp(std::span<float> coordinates) const override;
    [[nodiscard]] Result<std::vector<double>> evaluate(const Perturbations& candidates) override;
    [[nodiscard]] Result<std::vector<double>> evaluate_part(const Perturbations& candidates) override;
    [[nodiscard]] bool affords(std::uint64_t candidates) override;
    [[nodiscard]] Result<void> share_costs() override;
    [[nodiscard]] Result<void> settle() override { return has_device() ? kept_.settle(*dispatcher_) : Result<void>(); }
    [[nodiscard]] Result<std::vector<double>> evaluate(std::span<const float> points, std::uint32_t count) override;
    [[nodiscard]] bool report(const StepReport& step, std::span<const float> centre) override;
    [[nodiscard]] bool report(const StepReport& step, const Perturbations& around) override;
    [[nodiscard]] CentreState first_state() const override;
    [[nodiscard]] bool checkpoint_due(std::uint32_t steps) const override;
    [[nodiscard]] Result<void> save_checkpoint(const CentreState& state) override;
    [[nodiscard]] Result<std::unique_ptr<Gradients>> gradients(std::span<const std::string> groups) override;
    [[nodiscard]] Result<void> offer(const Perturbations& around, double reward) override;
    void skipped(std::uint32_t steps, std::uint64_t elements) override;
    [[nodiscard]] SearchMark mark() const override;
    [[nodiscard]] std::optional<std::uint32_t> spoilt_since() const noexcept override { return spoilt_since_; }
    void distrust(std::uint32_t evaluation) override;
    [[nodiscard]] Result<void> go_back(const SearchMark& mark) override;

    /// What the search would cost.
    [[nodiscard]] Result<OptimizeOutcome> expected(const Search& search) const;
    /// Scores the start, runs, and says what came of it. Errors: the search's, a budget below the start, a log that
    /// cannot be written, no centre with a finite reward.
    [[nodiscard]] Result<OptimizeOutcome> run(Search& search);
    /// The best coordinates found, after run(); nothing where that is the start.
    [[nodiscard]] const std::optional<std::vector<float>>& best() const noexcept { return best_; }
    [[nodiscard]] const ParameterSet& set() const noexcept { return set_; }
    /// Otherwise nothing of the search runs on one, and it is host_eggroll().
    [[nodiscard]] bool has_device() const noexcept { return dispatcher_ != nullptr; }

   private:
    [[nodiscard]] const Metric& scoring() const noexcept { return output_is_reward_ ? *output_is_reward_ : *metric_; }
    /// One set of examples, prepared. The evaluator refers to the others.
    struct Prepared {
        std::vector<TracedExample> traced;
        std::vector<Value> expected;
        std::unique_ptr<PopulationEvaluator> evaluator;
    };
    SystemObjective(System& system, const Metric& metric, const OptimizeOptions& options)
        : system_(&system), metric_(&metric), options_(options) {}
    [[nodiscard]] Result<void> prepare(std::span<const Example> examples, Prepared& prepared);
    [[nodiscard]] Result<void> plan(Prepared& prepared);
    [[nodiscard]] Result<std::vector<Candidate>> candidates_at(std::span<const float> points,
                                                               std::uint32_t count) const;
    /// Rewards over all samples; `evaluate` makes the outputs of one.
    template <class Evaluate>
    [[nodiscard]] Result<std::vector<double>> rewards_of(std::uint32_t count, Evaluate evaluate);
    /// Whether the centre that a step begins with is scored on the held-out examples; after the last step it is.
    [[nodiscard]] bool held_out_due(std::uint32_t step) const noexcept;
    [[nodiscard]] Result<std::optional<double>> held_out_reward(std::span<const float> coordinates);
    [[nodiscard]] Result<std::optional<double>> held_out_reward(const Perturbations& around);
    template <class HeldOut>
    [[nodiscard]] bool tell(const StepReport& step, HeldOut held_out);
    void find_host_rows();
    // Of steps that are evaluated on some of the examples (minibatch.cpp).
    [[nodiscard]] Result<void> trace_training(std::span<const Example> examples);
    /// Of the step, with the metric's equations behind the system's.
    [[nodiscard]] Result<std::vector<TracedExample>> scored_training() const;
    /// The examples of the step that is next.
    [[nodiscard]] Result<void> draw_step();
    [[nodiscard]] bool draws() const noexcept { return drawn_.has_value(); }
    /// Whether a centre of this step becomes the one to keep.
    [[nodiscard]] Result<bool> is_to_keep(const std::function<Result<std::optional<double>>()>& held_out,
                                          double reward);
    [[nodiscard]] Result<void> compete_drawn(std::span<const float> points, std::span<const double> rewards);
    void compete(std::span<const float> coordinates, double reward);
    [[nodiscard]] Result<void> compete(const Perturbations& around, double reward);
    [[nodiscard]] Result<void> fetch_best();
    void count_failures(const PopulationEvaluation& evaluation);
    void count_shares(const PooledEvaluation& pooled);
    [[nodiscard]] Result<void> check_devices() const;
    /// Errors: no device, where the search itself needs one.
    [[nodiscard]] Result<void> find_device();
    [[nodiscard]] Result<void> score_start();
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
    void count_ranks(const StepReport& step);
    [[nodiscard]] Result<void> check_spoilt(const Search& search) const;
    void note_devices();
    /// Adds what the models in force were asked since the last time.
    void count_models();
    [[nodiscard]] Result<void> log_begin(const Search& search);
    [[nodiscard]] Result<void> log_line(const Json& line);
    [[nodiscard]] Result<void> log_end();

    System* system_;
    const Metric* metric_;
    std::optional<Metric> output_is_reward_;  ///< where the metric is scored on the device
    ModelCounts models_seen_ = counts_in_force();
    OptimizeOptions options_;
    Dispatcher* dispatcher_ = nullptr;
    std::optional<Error> no_device_{};  ///< why there is no dispatcher
    ParameterSet set_;
    SearchSpace space_;
    Prepared training_;
    std::optional<Prepared> held_out_;
    std::optional<DrawnExamples> drawn_;
    std::optional<std::uint32_t> drawn_step_;      ///< whose examples training_ has
    std::optional<double> best_held_out_;          ///< of the centre that is kept, where steps draw examples
    std::optional<std::optional<double>> scored_;  ///< held-out reward of this step's centre, where it is known already
    std::optional<LineLog> log_;
    std::optional<Error> report_error_;  ///< report() has no way to tell; run() does
    std::optional<std::vector<float>> best_;
    KeptCentre kept_;
    std::vector<ParameterId> host_rows_;
    OptimizeOutcome outcome_;
    bool failure_named_ = false;
    bool out_of_budget_ = false;
    bool stopped_by_caller_ = false;
    std::uint32_t failed_in_step_ = 0;
    std::uint64_t skipped_in_step_ = 0;
    RankCosts unshared_;         ///< spent here since share_costs()
    std::string examples_hash_;  ///< where there are other ranks, or a checkpoint
    evolve::NamedValues settings_;
    std::optional<CentreState> first_;  ///< of a checkpoint
    // Of several devices.
    std::uint32_t next_evaluation_ = 0;
    std::uint32_t start_evaluation_ = 0;  ///< the first after those that scored the start
    std::optional<std::uint32_t> spoilt_since_;
    std::vector<evolve::WorkerShare> step_shares_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace yolk::hyper
