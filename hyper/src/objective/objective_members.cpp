// SPDX-License-Identifier: Apache-2.0
// An objective as an evaluator of evolve: its members are dealt out to devices and ranks, or scored on the host.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "objective.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

/// The mean's reward, and that on the held-out examples.
constexpr std::uint32_t kMeanScores = 2;

class SystemMembers final : public evolve::MemberEvaluator {
   public:
    SystemMembers(SystemObjective& objective, std::size_t worker) : objective_(&objective), worker_(worker) {}
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return 1; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return objective_->members_at_once(); }
    /// All share what the objective has begun.
    [[nodiscard]] Result<void> begin(std::span<const float> /*parameters*/, const NoiseContext& /*when*/) override {
        return {};
    }
    [[nodiscard]] Result<std::uint64_t> evaluate(const evolve::MemberRange& members,
                                                 std::span<float> returns) override {
        return objective_->score(worker_, members, returns, {});
    }
    [[nodiscard]] Result<std::uint64_t> evaluate_with_mean(const evolve::MemberRange& members, std::span<float> returns,
                                                           std::span<double> mean) override {
        return objective_->score(worker_, members, returns, mean);
    }

   private:
    SystemObjective* objective_;
    std::size_t worker_;
};

/// Workers without a device have the twin.
std::size_t worker_of(const evolve::DevicePool* pool, const Device* device) {
    for (std::size_t i = 0; pool != nullptr && device != nullptr && i < pool->device_count(); ++i) {
        if (&pool->device(i) == device) return i;
    }
    return pool == nullptr ? 0 : PopulationEvaluator::kTwin;
}

}  // namespace

bool SystemObjective::is_dealt_out() const noexcept {
    const evolve::DevicePool* const several = system_->devices().pool();
    const bool has_pool = several != nullptr && (several->in_use() > 1 || several->options().audit > 0.0);
    return has_pool || system_->devices().has_other_ranks() || !has_device();
}

evolve::PoolParts SystemObjective::run_parts() {
    evolve::EvolutionState first = first_state();
    evolve::PoolParts parts{
        .parameters = space_.table,
        .initial = std::move(first.parameters),
        .members =
            [this](const Device* device, Dispatcher* /*dispatcher*/) {
                return Result<std::unique_ptr<evolve::MemberEvaluator>>(
                    std::make_unique<SystemMembers>(*this, worker_of(system_->devices().pool(), device)));
            },
        .begin = [this](std::span<const float> parameters,
                        const NoiseContext& when) { return begin_generation(parameters, when); },
        .mean_scores = kMeanScores,
        .few_sizes = true,
        .bounds = bounds_,
        .changing_examples = draws(),
        .exact_members = true,  // as long as the pool is: plan() follows it
        .judge = std::make_unique<SystemMembers>(*this, PopulationEvaluator::kTwin),
        .digest = keeps_log(),
        .keep_weights = keeps_log(),
        .optimizer_state = std::move(first.optimizer),
        .generation = first.generation};
    const evolve::DevicePool* const pool = system_->devices().pool();
    if (pool != nullptr && pool->options().audit > 0.0) trail_.push_back(kept_since(parts.generation));
    return parts;
}

Result<void> SystemObjective::begin_generation(std::span<const float> parameters, const NoiseContext& when) {
    YOLK_TRY_VOID(draw_generation(when.generation));
    Perturbations all{.table = space_.table,
                      .mean = parameters,
                      .when = when,
                      .rank = noise_rank(),
                      .first_member = -1,
                      .members = options_.evolution.population + 1,
                      .antithetic = options_.evolution.antithetic};
    YOLK_TRY(members_at_once_, training_.evaluator->begin(all, options_.samples_per_example));
    const std::uint64_t candidates = is_mean_alone_ ? 1 : all.members;
    outcome_.cost.metric_calls += candidates * options_.samples_per_example;  // of all ranks
    scores_held_out_ = held_out_ && held_out_due(when.generation) && (draws() || !is_mean_alone_);
    if (!scores_held_out_) return {};
    all.members = 1;
    YOLK_TRY_VOID(held_out_->evaluator->begin(all));
    return {};
}

void SystemObjective::count_parts(const PopulationCounts& counts) {
    const std::lock_guard lock(counting_);
    const RankCosts costs{.host_calls = counts.host_calls, .dispatches = counts.dispatches};
    count_costs(costs);
}

Result<std::uint64_t> SystemObjective::score(std::size_t worker, const evolve::MemberRange& members,
                                             std::span<float> returns, std::span<double> mean) {
    const bool has_mean = !mean.empty();
    const evolve::MemberRange part{.first = has_mean ? 0 : members.first + 1,
                                   .count = members.count + (has_mean ? 1 : 0)};
    std::vector<double> sums(part.count, 0.0);
    for (std::uint32_t sample = 0; sample < options_.samples_per_example; ++sample) {
        YOLK_TRY(PopulationOutputs outputs, training_.evaluator->evaluate_part(worker, part, sample));
        count_parts(outputs.counts);
        YOLK_TRY(const PopulationEvaluation evaluation,
                 score_population(std::move(outputs), training_.expected, *metric_));
        {
            const std::lock_guard lock(counting_);
            name_failure(evaluation);
        }
        for (std::uint32_t i = 0; i < part.count; ++i) sums[i] += evaluation.rewards[i];
    }
    for (double& sum : sums)
        sum = std::isfinite(sum) ? sum / options_.samples_per_example : std::numeric_limits<double>::quiet_NaN();
    std::ranges::transform(std::span(sums).last(members.count), returns.begin(),
                           [](double reward) { return static_cast<float>(reward); });
    const std::uint64_t evaluations =
        std::uint64_t{part.count} * training_.expected.size() * options_.samples_per_example;
    if (!has_mean) return evaluations;
    mean[0] = sums.front();
    mean[1] = std::numeric_limits<double>::quiet_NaN();
    if (!scores_held_out_) return evaluations;
    YOLK_TRY(PopulationOutputs outputs, held_out_->evaluator->evaluate_part(worker, {.first = 0, .count = 1}));
    YOLK_TRY(const PopulationEvaluation evaluation,
             score_population(std::move(outputs), held_out_->expected, *metric_));
    mean[1] = evaluation.rewards.front();
    return evaluations;
}

SystemObjective::KeptSince SystemObjective::kept_since(std::uint32_t generation) const {
    return {.generation = generation,
            .changes = best_changes_,
            .reward = outcome_.best_reward,
            .held_out = best_held_out_,
            .best = best_};
}

Result<void> SystemObjective::take(std::uint32_t generation, std::uint32_t failed, const evolve::Evolution& run) {
    const evolve::MeanScores mean = run.mean();
    failed_in_generation_ += failed + (std::isfinite(mean.scores[0]) ? 0U : 1U);
    const std::optional<double> held_out = scores_held_out_ ? std::optional(mean.scores[1]) : std::nullopt;
    if (held_out) YOLK_TRY_VOID(look_at(mean.parameters));
    bool keeps = true;
    if (draws()) {
        YOLK_TRY(keeps, is_to_keep([&] { return Result<std::optional<double>>(held_out); }, mean.scores[0]));
        if (keeps) outcome_.best_reward = -std::numeric_limits<double>::infinity();  // whatever it was on others
    } else {
        scored_.emplace(held_out);
    }
    if (keeps) compete(mean.parameters, mean.scores[0]);
    if (trail_.empty()) return {};
    if (trail_.back().changes != best_changes_) trail_.push_back(kept_since(generation + 1));
    const auto needed =
        std::ranges::find_if(trail_, [&](const KeptSince& kept) { return kept.generation > run.settled(); });
    if (needed - trail_.begin() > 1) trail_.erase(trail_.begin(), std::prev(needed));
    return {};
}

Result<void> SystemObjective::go_back(std::uint32_t generation) {
    const std::string sentence = fmt::format(
        "The search went back from generation {} to generation {}: what the dropped device evaluated since then may be "
        "wrong.",
        outcome_.generations, generation);
    outcome_.notes.push_back(sentence);
    went_back_ = true;
    YOLK_TRY_VOID(log_line(Json{{"goes_back_to_generation", generation}}));
    outcome_.generations = generation;
    while (!outcome_.history.empty() && outcome_.history.back().generation >= generation) {
        outcome_.failed_candidates -= outcome_.history.back().failed;
        outcome_.history.pop_back();
    }
    failed_in_generation_ = 0;
    scored_.reset();
    if (trail_.empty()) return {};  // of a rank without audits
    while (trail_.size() > 1 && trail_.back().generation > generation) trail_.pop_back();
    const KeptSince& kept = trail_.back();
    const bool is_start = outcome_.resumed_from == generation && !first_;
    outcome_.best_reward = is_start ? -std::numeric_limits<double>::infinity() : kept.reward;
    best_held_out_ = kept.held_out;
    best_ = kept.best;
    best_changes_ = kept.changes;
    return {};
}

Result<void> SystemObjective::end_run() {
    trail_.clear();
    YOLK_TRY_VOID(share_costs());
    return went_back_ && !first_ ? score_start_again() : Result<void>();
}

}  // namespace yolk::hyper
