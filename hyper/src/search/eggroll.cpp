// SPDX-License-Identifier: Apache-2.0
// EGGROLL over a system: the population is evaluated through the objective, everything after the scores is evolve's, on
// the device. So is the centre: it is made there, perturbed there, and kept there where it is the best so far.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "eggroll_steps.hpp"
#include "yolk/evolve/evolution.hpp"
#include "yolk/evolve/schedule.hpp"
#include "yolk/hyper/optimize.hpp"

namespace yolk::hyper {

StepReport report_of(std::uint32_t step, std::span<const double> rewards, const evolve::Schedule& schedule) {
    StepReport report{.step = step,
                      .mean = 0.0,
                      .best = -std::numeric_limits<double>::infinity(),
                      .centre = rewards.front(),
                      .sigma = static_cast<double>(schedule.sigma),
                      .learning_rate = static_cast<double>(schedule.learning_rate)};
    std::size_t finite = 0;
    for (const double reward : rewards.subspan(1)) {
        if (!std::isfinite(reward)) continue;
        report.mean += reward;
        report.best = std::max(report.best, reward);
        ++finite;
    }
    report.mean = finite == 0 ? std::numeric_limits<double>::quiet_NaN() : report.mean / static_cast<double>(finite);
    return report;
}

namespace {

class Eggroll final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "eggroll"; }
    /// The centre is evaluated with every population.
    [[nodiscard]] std::uint64_t candidates_per_step(const OptimizeOptions& options) const override {
        return std::uint64_t{options.evolution.population} + 1;
    }
    [[nodiscard]] Result<void> run(Objective& objective) override;
};

/// Where the rows of a table that the host reads are among its elements.
std::vector<evolve::ElementRange> elements_of(const ParameterTable& table, std::span<const ParameterId> rows) {
    std::vector<evolve::ElementRange> ranges;
    for (const ParameterId row : rows) {
        const ParameterDesc& desc = table.parameters()[row.value];
        ranges.push_back({.first = table.offset(row), .count = desc.rows * desc.columns});
    }
    return ranges;
}

/// What the host knows of a centre that lives on the device: the rows that it reads, and their bounds.
class HostView {
   public:
    HostView(const Objective& objective, evolve::Evolution& evolution)
        : objective_(&objective),
          evolution_(&evolution),
          ranges_(elements_of(evolution.table(), objective.host_rows())),
          centre_(evolution.parameters().begin(), evolution.parameters().end()) {}

    [[nodiscard]] std::span<const float> centre() const noexcept { return centre_; }
    /// After a step. What has left its bounds is moved back, here at once and on the device with the next step.
    [[nodiscard]] Result<void> follow() {
        if (ranges_.empty()) return {};
        const std::span<const float> now = evolution_->parameters();
        const auto part = [](auto values, const evolve::ElementRange& range) {
            return values.subspan(range.first, range.count);
        };
        for (const evolve::ElementRange& range : ranges_)
            std::ranges::copy(part(now, range), part(std::span(centre_), range).begin());
        if (!objective_->clamp(centre_)) return {};
        for (const evolve::ElementRange& range : ranges_) {
            const std::span<const float> inside = part(std::span<const float>(centre_), range);
            if (std::ranges::equal(inside, part(now, range))) continue;
            YOLK_TRY_VOID(evolution_->set_elements(range.first, inside));
        }
        return {};
    }

   private:
    const Objective* objective_;
    evolve::Evolution* evolution_;
    std::vector<evolve::ElementRange> ranges_;
    std::vector<float> centre_;
};

Result<void> search_steps(Objective& objective, evolve::Evolution& evolution, std::span<float> returns,
                          const evolve::EvolutionOptions& options) {
    evolve::Schedule schedule(options);
    HostView host(objective, evolution);
    Perturbations candidates{.table = evolution.table(),
                             .centre = host.centre(),
                             .device_centre = evolution.device_parameters(),
                             .rank = options.rank,
                             .first_member = -1,
                             .members = options.population + 1,
                             .antithetic = options.antithetic};
    for (std::uint32_t step = 0; step < objective.options().steps; ++step) {
        candidates.when = schedule.noise_time();
        YOLK_TRY(const std::vector<double> rewards, objective.evaluate(candidates));
        if (rewards.empty()) return {};  // the budget; the best centre so far is kept
        std::ranges::transform(std::span(rewards).subspan(1), returns.begin(),
                               [](double reward) { return static_cast<float>(reward); });
        if (!objective.report(report_of(step, rewards, schedule), candidates)) return {};
        YOLK_TRY_VOID(evolution.step());
        YOLK_TRY_VOID(host.follow());
        schedule.advance();
    }
    // What the last step made competes as well.
    candidates.members = 1;
    YOLK_TRY_VOID(objective.evaluate(candidates));
    return {};
}

Result<void> Eggroll::run(Objective& objective) {
    evolve::EvolutionOptions options = objective.options().evolution;
    options.rank = objective.noise_rank();
    if (objective.devices() != nullptr) return search_over_devices(objective, options);
    const Device& device = objective.dispatcher().device();
    const ParameterTable& table = objective.space().table;
    evolve::EvolutionParts parts{.parameters = table,
                                 .initial = objective.space().centre,
                                 .host_elements = elements_of(table, objective.host_rows())};
    YOLK_TRY(std::unique_ptr<evolve::HostScoresEvaluator> scores,
             evolve::host_scores_evaluator(device, options.population));
    const std::span<float> returns = scores->returns();
    parts.evaluator = std::move(scores);
    YOLK_TRY(evolve::Evolution evolution,
             evolve::Evolution::create(device, objective.dispatcher(), std::move(parts), options));
    const Result<void> done = search_steps(objective, evolution, returns, options);
    const Result<void> settled = objective.settle();  // whatever came of it: the evolution's buffers go now
    return done ? settled : done;
}

}  // namespace

std::unique_ptr<Search> eggroll() { return std::make_unique<Eggroll>(); }

}  // namespace yolk::hyper
