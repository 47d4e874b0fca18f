// SPDX-License-Identifier: Apache-2.0
// A run over a pool: members are dealt to all devices, scores come to the host, and the lead device makes the update.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_evolution.hpp"
#include "evolution_engine.hpp"
#include "update_trial.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/rank_team.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/internal/evolve/shared_update.hpp"
#include "yolk/internal/evolve/update_twin.hpp"

namespace yolk::evolve {

/// In place of a generation from which on results may be wrong.
inline constexpr std::uint32_t kNothingSuspect = UINT32_MAX;

struct PoolEvolution final : EvolutionEngine {
    [[nodiscard]] static Result<std::unique_ptr<PoolEvolution>> create(DevicePool pool, Exchange* exchange,
                                                                       PoolParts parts,
                                                                       const EvolutionOptions& options);

    [[nodiscard]] Result<GenerationSummary> step() override;
    [[nodiscard]] Result<GenerationSummary> apply(const ShapedGeneration& given,
                                                  std::span<const float> gradient) override;
    [[nodiscard]] Result<ShapedGeneration> shaped() const override;
    [[nodiscard]] std::uint32_t generations() const noexcept override { return state.generation; }
    [[nodiscard]] const ParameterTable& table() const noexcept override { return parts.parameters; }
    [[nodiscard]] std::span<const float> parameters() const noexcept override { return state.parameters; }
    [[nodiscard]] std::span<const float> optimizer_state() const noexcept override { return state.optimizer; }
    [[nodiscard]] Result<std::vector<float>> scores() const override;
    [[nodiscard]] Result<void> set_parameters(std::span<const float> to) override;
    [[nodiscard]] Result<void> set_elements(std::uint32_t first, std::span<const float> to) override;
    [[nodiscard]] Result<void> refresh() override { return {}; }
    [[nodiscard]] BufferView device_parameters() const noexcept override { return lead->device_parameters(); }
    [[nodiscard]] Result<std::string> state_digest() const override { return lead->state_digest(); }
    [[nodiscard]] Result<bool> score_mean() override;
    [[nodiscard]] MeanScores mean() const noexcept override;
    [[nodiscard]] std::uint32_t settled() const noexcept override;
    [[nodiscard]] std::span<const WorkerShare> shares() const noexcept override { return last.shares; }
    [[nodiscard]] std::span<const RankShare> rank_shares() const noexcept override {
        return team ? team->last() : std::span<const RankShare>();
    }

    using State = EvolutionState;
    /// What an audit may have to go back to: a state that no device can have spoiled, and the generations since.
    struct History {
        State base;
        std::optional<State> later_base{};  // becomes the base once everything before it is verified
        std::vector<ShapedGeneration> since{};
    };

    /// All devices' part in the update, while they share it.
    struct Sharing {
        SharedUpdate update;
        std::vector<std::size_t> workers;  // by position in the update
        std::vector<double> rates;         // likewise
    };

    std::optional<DevicePool> pool;
    std::optional<RankTeam> team;  // where there are other ranks
    PoolParts parts;
    EvolutionOptions options;
    std::vector<std::unique_ptr<MemberEvaluator>> evaluators;  // by worker; null: dropped before it had one
    std::uint64_t rounds = 0;           // of evaluation, those of generations that were made again included
    std::vector<std::uint64_t> begun;   // by worker: the last round that it had a part in; 0: none
    std::vector<float> returns;         // [episodes, population]
    std::vector<std::uint32_t> counts;  // PoolParts::counts, [population, words]
    /// What a chunk took, until keep() shows that it counts: audits and what is discarded do not.
    struct Counted {
        MemberRange members;
        std::uint64_t evaluations = 0;
    };
    std::mutex counting;                                   // of `counted`, which workers add to
    std::vector<Counted> counted;                          // of this round
    std::vector<std::uint64_t> evaluations;                // of the chunk that begins with this member; else 0
    std::array<double, kMostMeanScores> scores_of_mean{};  // of mean_parameters
    std::vector<float> mean_parameters;
    std::unique_ptr<DeviceEvolution> lead;
    std::optional<Sharing> sharing{};
    UpdateTrial trial{UpdateBy::Measured};
    std::size_t lead_index = 0;
    std::uint32_t slow_in_a_row = 0;  // generations in which the lead had members and seemed much slower than another
    std::uint32_t lead_verified = 0;  // no update of the lead before this generation can be wrong
    bool has_told_unaudited = false;
    bool has_named_not_finite = false;  // by a lead before this one
    State state;
    State before;                    // the last update, where there are audits or other ranks; on all ranks the same
    std::optional<History> history;  // where audits are on
    ShapedGeneration last_shaped;
    PooledResult last;
    std::uint32_t verified = 0;        // no member's result of a generation before it can become suspect on any rank
    bool was_lead_distrusted = false;  // in the last evaluation, by an audit

    Result<void> make_evaluators();
    Result<void> make_lead();
    [[nodiscard]] bool seems_led_too_slowly() const;
    [[nodiscard]] bool is_led_too_slowly() const;
    void watch_lead();
    [[nodiscard]] NoiseContext now() const { return Schedule(options, state.generation).noise_time(); }
    Result<void> begin_round();
    Result<MemberEvaluator*> ready(std::size_t worker);
    Result<std::vector<std::byte>> evaluate(MemberEvaluator& evaluator, const MemberRange& members,
                                            std::uint64_t& count) const;
    Result<std::vector<std::byte>> evaluate_mean(MemberEvaluator& evaluator) const;
    [[nodiscard]] std::size_t mean_bytes() const noexcept { return sizeof(double) * parts.mean_scores; }
    [[nodiscard]] std::size_t counts_bytes(const MemberRange& members) const noexcept {
        return sizeof(std::uint32_t) * parts.counts.words * members.count;
    }
    [[nodiscard]] std::span<std::byte> counts_of(const MemberRange& members) noexcept {
        return std::as_writable_bytes(std::span(counts))
            .subspan(sizeof(std::uint32_t) * parts.counts.words * members.first, counts_bytes(members));
    }
    [[nodiscard]] std::span<const std::byte> counts_of(const MemberRange& members) const noexcept {
        return std::as_bytes(std::span(counts))
            .subspan(sizeof(std::uint32_t) * parts.counts.words * members.first, counts_bytes(members));
    }
    /// The mean's scores come with the first member's.
    [[nodiscard]] bool has_mean(const MemberRange& members) const noexcept {
        return parts.mean_scores > 0 && members.first == 0;
    }
    void keep(const MemberRange& members, std::span<const std::byte> result);
    [[nodiscard]] std::vector<std::byte> kept(const MemberRange& members) const;
    [[nodiscard]] MemberRange mine() const;
    Result<void> score();
    Result<void> score_mean_here();
    /// What other ranks are told of an evaluation here.
    [[nodiscard]] Result<RankTeam::Scored> told(const Result<void>& scored) const;
    Result<std::vector<std::byte>> score_on_worker(std::size_t worker, const MemberRange& members);
    PooledWork work_of_round();
    /// What became of it on all ranks; without others, on this one.
    Result<RankTeam::Scored> score_together();
    [[nodiscard]] std::uint32_t members_verified() const;
    [[nodiscard]] std::uint32_t suspect_since() const;
    Result<ShapedGeneration> shape(const MemberRange& members);
    /// ShapedGeneration::tail by what the population counted on all ranks; `members` are those of this one.
    Result<std::vector<float>> follow_counts(const MemberRange& members);
    Result<GenerationSummary> update(const ShapedGeneration& given, std::span<const float> gradient);
    Result<GenerationSummary> update_on_lead(const ShapedGeneration& given, std::span<const float> gradient);
    /// A generation's update on all ranks: where nothing is suspect, all have this state.
    struct Updated {
        GenerationSummary summary{};
        std::uint32_t suspect_since = kNothingSuspect;
    };
    Result<Updated> update_and_audit(const ShapedGeneration& made);
    Result<std::uint32_t> compare_states(const Result<Updated>& updated, const ShapedGeneration& made);
    Result<void> adopt_first_rank();
    /// Work on the lead that is done again on the next one where it fails.
    Result<void> on_lead(const std::function<Result<void>()>& work);
    [[nodiscard]] bool can_share() const;
    Result<void> make_sharing();
    void follow_times();
    Result<GenerationSummary> update_together(const ShapedGeneration& given);
    Result<GenerationSummary> timed_update(const ShapedGeneration& given, std::span<const float> gradient);
    void remember(const ShapedGeneration& given);
    void forget_history();
    [[nodiscard]] std::uint32_t updates_verified() const;
    Result<void> go_back(std::uint32_t generation);
    Result<void> go_back_together(std::uint32_t generation);
    [[nodiscard]] bool has_own_update() const { return parts.stages.update || parts.stages.optimize; }
    /// Of the update that was just made: the first generation that may be wrong because of a device that an audit found
    /// to be wrong. Such a device is dropped.
    Result<std::uint32_t> audit_update(const ShapedGeneration& given);
    Result<State> updated_on(std::size_t worker, const ShapedGeneration& given);
    Result<std::uint32_t> judge_update(const ShapedGeneration& given, const State& second, std::size_t other);
    /// The same with the exact twin in place of a second device.
    [[nodiscard]] std::uint32_t judge_lead(const ShapedGeneration& given);
    void distrust_update(std::size_t worker);
    /// The first generation in which this worker's scores may be wrong, if it is.
    [[nodiscard]] std::uint32_t doubtful_since(std::size_t worker) const;
    /// By the exact twin, of the state after an update by int8 weights.
    [[nodiscard]] Result<std::string> right_digest(const ShapedGeneration& given) const;
    [[nodiscard]] std::optional<std::size_t> second_device() const;
};

}  // namespace yolk::evolve
