// SPDX-License-Identifier: Apache-2.0
// Making a system better without gradients: the interface of optimizers, and EGGROLL over numbers, vectors and matrices
// together.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/evolve/options.hpp"
#include "yolk/hyper/system.hpp"

namespace yolk::hyper {

struct StepReport {
    std::uint32_t step = 0;  ///< from 0
    double mean = 0.0;       ///< rewards of the population
    double best = 0.0;
    double centre = 0.0;  ///< reward of the unperturbed parameters before this step's update
    std::optional<double> held_out{};
    std::uint64_t metric_calls = 0;  ///< so far
    std::uint32_t failed = 0;        ///< candidates of this step that count as the worst
    double sigma = 0.0;
    double learning_rate = 0.0;
    double seconds = 0.0;
};
[[nodiscard]] Json to_json(const StepReport& report);

class Optimizer;

struct OptimizeOptions {
    std::uint32_t steps = 50;
    std::uint32_t population = 32;  ///< even, unless antithetic is off
    float sigma = 0.05F;            ///< in search coordinates (parameters.hpp)
    float learning_rate = 0.1F;
    float sigma_decay = 1.0F;
    float learning_rate_decay = 1.0F;
    bool antithetic = true;
    std::uint32_t samples_per_example = 1;  ///< host functions and metric are run so many times, rewards averaged
    /// Where antithetic is off and this is left as it is, z-scores, which it equals up to rounding.
    FitnessRule fitness = FitnessRule::PairDifference;
    bool robust = false;
    std::uint32_t group_size = 0;  ///< of GroupZScore
    OptimizerRule rule = OptimizerRule::Sgd;
    std::uint64_t seed = 1;
    std::vector<std::string> freeze{};  ///< groups to leave as they are; an unknown one is an error
    PopulationOptions population_options{};
    std::uint64_t metric_budget =
        0;                 ///< metric calls (one per candidate and sample; those of held_out aside); 0: no limit
    bool dry_run = false;  ///< only says what it would cost
    std::span<const Example> held_out{};
    std::filesystem::path log{};  ///< JSON lines: steps, and at the end calls and latencies per hyperfunction
    std::function<bool(const StepReport&)> on_step{};  ///< false: stop there, the best so far kept
    Optimizer* optimizer = nullptr;                    ///< nullptr: EGGROLL
};

/// What an optimization would take at most, the start and the final centre included; known before it starts.
struct OptimizeCost {
    std::uint64_t metric_calls = 0;
    std::uint64_t host_calls = 0;  ///< without retries
    std::uint64_t dispatches = 0;
    std::uint64_t numbers = 0;  ///< search coordinates
};

struct OptimizeOutcome {
    double start_reward = 0.0;
    double best_reward = 0.0;  ///< of the parameters that were kept
    std::optional<double> held_out_start{};
    std::optional<double> held_out_best{};
    std::uint32_t steps = 0;  ///< done
    std::string stopped_by;   ///< "steps", "budget", "caller", "dry run"
    OptimizeCost cost{};      ///< expected for a dry run, counted otherwise
    std::uint64_t failed_candidates = 0;
    std::vector<StepReport> history{};
    std::vector<std::string> fallbacks{};
};
/// Without history and fallbacks.
[[nodiscard]] Json to_json(const OptimizeOutcome& outcome);

/// What an optimizer works on: it asks for rewards, counts what they cost, and remembers the best.
class Objective {
   public:
    virtual ~Objective() = default;
    [[nodiscard]] virtual const SearchSpace& space() const noexcept = 0;  ///< table and starting coordinates
    [[nodiscard]] virtual const OptimizeOptions& options() const noexcept = 0;
    [[nodiscard]] virtual Dispatcher& dispatcher() noexcept = 0;
    /// Of the matrices' low-rank perturbations: the largest that an optimized one asks for.
    [[nodiscard]] virtual std::uint32_t noise_rank() const noexcept = 0;
    /// Moves search coordinates [table.element_count()] into the fields' bounds; returns whether any moved.
    virtual bool clamp(std::span<float> coordinates) const = 0;
    /// Rewards of perturbations (options().samples_per_example averaged); failed ones are NaN. An empty result: the
    /// budget does not cover them, stop. Where the centre is among them (member -1), it competes for the result.
    [[nodiscard]] virtual Result<std::vector<double>> evaluate(const Perturbations& candidates) = 0;
    /// Rewards of points in search coordinates [count, table.element_count()], clamped into the bounds. All of them
    /// compete for the result.
    [[nodiscard]] virtual Result<std::vector<double>> evaluate(std::span<const float> points, std::uint32_t count) = 0;
    /// What one step came to, for the history, the log and the caller; `centre` is what the held-out examples are
    /// scored at. Costs in the report are filled in here. Returns false where the caller wants to stop.
    [[nodiscard]] virtual bool report(const StepReport& step, std::span<const float> centre) = 0;
};

/// A search. Users' own are used as EGGROLL is.
class Optimizer {
   public:
    virtual ~Optimizer() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    /// Candidates that a step evaluates, for the dry run.
    [[nodiscard]] virtual std::uint64_t candidates_per_step(const OptimizeOptions& options) const = 0;
    [[nodiscard]] virtual Result<void> run(Objective& objective) = 0;
};
[[nodiscard]] std::unique_ptr<Optimizer> eggroll();

}  // namespace yolk::hyper
