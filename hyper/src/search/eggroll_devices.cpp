// SPDX-License-Identifier: Apache-2.0
// EGGROLL over several devices, and over the ranks that each have some.
#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "eggroll_steps.hpp"
#include "followed_centre.hpp"
#include "search_steps.hpp"
#include "search_team.hpp"
#include "search_trail.hpp"
#include "yolk/evolve/shaping.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint32_t kNoGeneration = UINT32_MAX;

FitnessDesc search_fitness(const evolve::EvolutionOptions& options) {
    return {.population = options.population,
            .episodes = 1,
            .rule = options.fitness,
            .robust = options.robust,
            .group_size = options.group_size,
            .antithetic = options.antithetic,
            .config = {}};
}

/// What a step knows once all of its candidates are evaluated. `mine` are this rank's; without others, all.
struct EvaluatedStep {
    bool is_affordable = true;
    evolve::MemberRange mine{};
    std::vector<float> returns{};
    StepReport report{};
    std::uint32_t suspect_since = kNoGeneration;  ///< generation
};

class DevicesSearch final : public SearchSteps {
   public:
    DevicesSearch(Objective& objective, evolve::DevicePool& devices, const evolve::EvolutionOptions& options)
        : objective_(&objective),
          devices_(&devices),
          options_(options),
          audited_(devices.options().audit > 0.0),
          centre_(objective, devices, options) {}

    [[nodiscard]] Result<void> join(evolve::Exchange& exchange) {
        YOLK_TRY(team_, SearchTeam::create(exchange, options_));
        return {};
    }
    [[nodiscard]] Perturbations candidates() const override;
    [[nodiscard]] Result<std::optional<StepReport>> evaluate(const Perturbations& all) override;
    [[nodiscard]] Result<bool> stands(bool was_reported) override;
    [[nodiscard]] Result<bool> update() override;
    [[nodiscard]] std::uint32_t done() const override { return centre_.state().generation; }
    [[nodiscard]] Result<CentreState> state() const override { return centre_.state(); }

   private:
    [[nodiscard]] bool is_over() const { return done() >= objective_->options().steps; }
    [[nodiscard]] std::uint32_t suspect_since() const;
    [[nodiscard]] std::uint32_t verified_until() const;
    [[nodiscard]] Result<EvaluatedStep> evaluate_here(const Perturbations& all);
    [[nodiscard]] Result<EvaluatedStep> evaluate_together(const Perturbations& all);
    [[nodiscard]] Result<std::uint32_t> update_centre();
    /// Whether there was no need to.
    [[nodiscard]] Result<bool> go_back(std::uint32_t suspect);

    Objective* objective_;
    evolve::DevicePool* devices_;
    evolve::EvolutionOptions options_;
    bool audited_;
    std::optional<SearchTeam> team_{};
    FollowedCentre centre_;
    SearchTrail trail_;
    EvaluatedStep step_;
    std::uint32_t verified_ = 0;  // of all ranks
};

/// Of this step; the centre is member -1. What the last step made competes alone.
Perturbations DevicesSearch::candidates() const {
    return {.table = objective_->space().table,
            .centre = centre_.state().parameters,
            .when = evolve::Schedule(options_, centre_.state().generation).noise_time(),
            .rank = options_.rank,
            .first_member = -1,
            .members = is_over() ? 1 : options_.population + 1,
            .antithetic = options_.antithetic};
}

/// A lead whose scores are wrong has made updates, too; ranks have compared theirs.
std::uint32_t DevicesSearch::suspect_since() const {
    const std::optional<std::uint32_t> spoilt = objective_->spoilt_since();
    if (!spoilt) return kNoGeneration;
    const std::uint32_t generation = trail_.generation_of(*spoilt);
    return !team_ && centre_.has_lost_lead() ? std::min(generation, centre_.unproven_since()) : generation;
}

std::uint32_t DevicesSearch::verified_until() const {
    return audited_ ? trail_.generation_of(devices_->verified()) : kNoGeneration;
}

Result<EvaluatedStep> DevicesSearch::evaluate_here(const Perturbations& all) {
    EvaluatedStep step{.mine = {.first = 0, .count = options_.population}};
    YOLK_TRY(const std::vector<double> rewards, objective_->evaluate(all));
    step.is_affordable = !rewards.empty();
    step.suspect_since = suspect_since();
    verified_ = verified_until();
    if (!step.is_affordable) return step;
    const std::span<const double> members = std::span(rewards).subspan(1);
    step.returns.assign(members.begin(), members.end());
    step.report = report_of(centre_.state().generation, rewards.front(), sum_rewards(members),
                            evolve::Schedule(options_, centre_.state().generation));
    return step;
}

Result<EvaluatedStep> DevicesSearch::evaluate_together(const Perturbations& all) {
    EvaluatedStep step{.mine = team_->mine()};
    step.is_affordable = objective_->affords(all.members);  // the same on all ranks, which know all costs
    if (!step.is_affordable) return step;
    const Perturbations part = team_->part_of(all);
    const auto begin = std::chrono::steady_clock::now();
    Result<std::vector<double>> rewards = part.members == 0 ? std::vector<double>() : objective_->evaluate_part(part);
    const auto scored = [&]() -> Result<SearchTeam::Scored> {
        if (!rewards) return rewards.error();
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        return SearchTeam::Scored{.evaluations = part.members,
                                  .verified = verified_until(),
                                  .suspect_since = suspect_since(),
                                  .seconds = passed.count()};
    };
    YOLK_TRY(const SearchTeam::Scored of_all, team_->after_scores(scored(), !is_over()));
    step.suspect_since = of_all.suspect_since;
    verified_ = of_all.verified;
    YOLK_TRY_VOID(objective_->share_costs());
    std::span<const double> members = *rewards;
    SearchTeam::Rewards mine;
    if (part.first_member == -1 && !members.empty()) {
        mine.centre = members.front();
        members = members.subspan(1);
    }
    mine.members = sum_rewards(members);
    step.returns.assign(members.begin(), members.end());
    YOLK_TRY(const SearchTeam::Rewards together, team_->together(mine));
    step.report = report_of(centre_.state().generation, together.centre, together.members,
                            evolve::Schedule(options_, centre_.state().generation));
    team_->describe(step.report);
    return step;
}

Result<std::optional<StepReport>> DevicesSearch::evaluate(const Perturbations& all) {
    // The first state as well where the start was spoilt: it depends on no evaluation.
    if (audited_) {
        const std::uint32_t proven = team_ ? verified_ : std::min(verified_, centre_.unproven_since());
        trail_.add({.mark = objective_->mark(), .state = centre_.state()}, proven);
    }
    YOLK_TRY(step_, team_ ? evaluate_together(all) : evaluate_here(all));
    const bool reports = step_.is_affordable && !is_over() && step_.suspect_since == kNoGeneration;
    return reports ? std::optional(step_.report) : std::nullopt;
}

/// Held-out examples, which a report is made of, may find a device that computes wrongly, too.
Result<bool> DevicesSearch::stands(bool was_reported) {
    if (was_reported) step_.suspect_since = suspect_since();
    if (was_reported && team_) {
        YOLK_TRY(step_.suspect_since, team_->least(step_.suspect_since));
    }
    return go_back(step_.suspect_since);
}

/// The generation that the update makes suspect. Ranks compare their states after each update, so that no earlier
/// one of a device is in doubt there.
Result<std::uint32_t> DevicesSearch::update_centre() {
    const FitnessDesc desc = search_fitness(options_);
    const auto make = [&](const Result<evolve::ShapedGeneration>& shaped) -> Result<std::uint32_t> {
        if (!shaped) return shaped.error();
        YOLK_TRY(const std::optional<std::size_t> wrong, centre_.step(*shaped));
        if (!wrong) return kNoGeneration;
        objective_->distrust(devices_->verified(*wrong));
        const std::uint32_t updates = team_ ? centre_.state().generation : centre_.unproven_since();
        return std::min(suspect_since(), updates);
    };
    if (!team_) return make(evolve::shape_scores(desc, step_.returns));
    YOLK_TRY(const evolve::ShapedGeneration shaped, team_->shape(desc, step_.mine, step_.returns));
    const Result<std::uint32_t> suspect = make(shaped);
    if (audited_) {
        YOLK_TRY(const std::uint32_t of_all, team_->least(suspect));
        if (of_all != kNoGeneration) return of_all;
    }
    using State = Result<CentreState>;
    YOLK_TRY(std::optional<CentreState> others,
             team_->settle_state(suspect ? State(centre_.state()) : State(suspect.error()), centre_.lead_name()));
    if (others) YOLK_TRY_VOID(centre_.go_back(std::move(*others)));
    return kNoGeneration;
}

Result<bool> DevicesSearch::update() {
    YOLK_TRY(const std::uint32_t suspect, update_centre());
    return go_back(suspect);
}

Result<bool> DevicesSearch::go_back(std::uint32_t suspect) {
    if (suspect == kNoGeneration) return true;
    const SearchTrail::Place& place = trail_.back_to(suspect);
    YOLK_TRY_VOID(objective_->go_back(place.mark));
    const Result<void> done = centre_.go_back(place.state);
    YOLK_TRY_VOID(team_ ? team_->agree(done) : done);
    return false;
}

}  // namespace

Result<void> search_over_devices(Objective& objective) {
    evolve::EvolutionOptions options = objective.options().evolution;
    options.rank = objective.noise_rank();
    evolve::DevicePool* devices = objective.devices();
    std::optional<evolve::DevicePool> one;
    if (devices == nullptr) {
        YOLK_TRY(one, evolve::DevicePool::create(std::span(&objective.dispatcher().device(), 1),
                                                 {.determinism = options.determinism, .seed = options.seed}));
        devices = &*one;
    }
    DevicesSearch search(objective, *devices, options);
    if (has_other_ranks(objective.options())) YOLK_TRY_VOID(search.join(*objective.options().exchange));
    return run_steps(objective, search);
}

}  // namespace yolk::hyper
