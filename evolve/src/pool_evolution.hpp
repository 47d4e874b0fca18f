// SPDX-License-Identifier: Apache-2.0
// A run over a pool: members are dealt to all devices, scores come to the host, and the lead device makes the update.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_evolution.hpp"
#include "evolution_engine.hpp"
#include "rank_team.hpp"
#include "update_trial.hpp"
#include "yolk/evolve/pool_parts.hpp"
#include "yolk/evolve/schedule.hpp"
#include "yolk/evolve/shared_update.hpp"

namespace yolk::evolve {

struct PoolEvolution final : EvolutionEngine {
    [[nodiscard]] static Result<std::unique_ptr<PoolEvolution>> create(DevicePool& pool, PoolParts parts,
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
    [[nodiscard]] std::span<const WorkerShare> shares() const noexcept override { return last.shares; }
    [[nodiscard]] std::span<const RankShare> rank_shares() const noexcept override {
        return team ? team->last() : std::span<const RankShare>();
    }

    /// What the next generation depends on, on the host: a lead that is lost takes nothing with it.
    struct State {
        std::vector<float> parameters, optimizer;
        std::uint32_t generation = 0;
    };
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

    DevicePool* pool = nullptr;
    std::optional<RankTeam> team;  // where there are other ranks
    PoolParts parts;
    EvolutionOptions options;
    std::vector<std::unique_ptr<MemberEvaluator>> evaluators;  // by worker; null: dropped
    std::vector<std::uint32_t> begun;                          // by worker: 1 + the last generation it was told of
    std::vector<std::uint64_t> evaluations;                    // by worker, of this generation
    std::vector<float> returns;                                // [episodes, population]
    std::unique_ptr<DeviceEvolution> lead;
    std::optional<Sharing> sharing{};
    UpdateTrial trial{UpdateBy::Measured};
    std::size_t lead_index = 0;
    std::uint32_t lead_verified = 0;  // no update of the lead before this generation can be wrong
    bool has_told_unaudited = false;
    State state;
    std::optional<History> history;  // where audits are on
    ShapedGeneration last_shaped;
    PooledResult last;
    std::uint32_t verified = 0;  // no generation before it can become suspect on any rank

    Result<void> make_evaluators();
    Result<void> make_lead();
    [[nodiscard]] bool is_led_too_slowly() const;
    [[nodiscard]] NoiseContext now() const { return Schedule(options, state.generation).noise_time(); }
    Result<std::vector<std::byte>> evaluate(MemberEvaluator& evaluator, const MemberRange& members,
                                            std::uint64_t& count) const;
    void keep(const MemberRange& members, std::span<const std::byte> result);
    [[nodiscard]] std::vector<std::byte> kept(const MemberRange& members) const;
    [[nodiscard]] MemberRange mine() const;
    Result<void> score();
    /// What became of it on all ranks; without others, on this one.
    Result<RankTeam::Scored> score_together();
    Result<void> compare_states(const Result<GenerationSummary>& updated);
    Result<ShapedGeneration> shape(const MemberRange& members);
    Result<GenerationSummary> update(const ShapedGeneration& given, std::span<const float> gradient);
    Result<GenerationSummary> update_on_lead(const ShapedGeneration& given, std::span<const float> gradient);
    Result<GenerationSummary> update_in_team(const ShapedGeneration& made);
    [[nodiscard]] bool can_share() const;
    Result<void> make_sharing();
    void follow_times();
    Result<GenerationSummary> update_together(const ShapedGeneration& given);
    Result<GenerationSummary> timed_update(const ShapedGeneration& given, std::span<const float> gradient);
    void remember(const ShapedGeneration& given);
    void forget_history();
    Result<void> go_back(std::uint32_t generation);
    /// Of a generation that was just made from `before`: whether the lead's update is right, as far as an audit was
    /// drawn. Whoever is wrong is dropped.
    Result<bool> update_passes(const State& before, const ShapedGeneration& given);
    Result<bool> judge_update(const State& before, const ShapedGeneration& given, const State& second,
                              std::size_t other);
    [[nodiscard]] std::optional<std::size_t> second_device() const;
};

}  // namespace yolk::evolve
