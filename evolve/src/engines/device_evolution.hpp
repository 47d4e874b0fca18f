// SPDX-License-Identifier: Apache-2.0
// A run on one device: every buffer of it, and its generations as recordings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device_digest.hpp"
#include "evolution_engine.hpp"
#include "yolk/internal/evolve/schedule.hpp"

namespace yolk::evolve {

struct DeviceEvolution final : EvolutionEngine {
    /// Everything that Evolution::create checks has been checked.
    [[nodiscard]] static Result<std::unique_ptr<DeviceEvolution>> create(const Device& device, Dispatcher& dispatcher,
                                                                         EvolutionParts parts,
                                                                         const EvolutionOptions& options);

    [[nodiscard]] Result<GenerationSummary> step() override;
    [[nodiscard]] Result<GenerationSummary> apply(const ShapedGeneration& shaped,
                                                  std::span<const float> gradient) override;
    /// The gradient of these weights, and nothing else of a generation.
    [[nodiscard]] Result<std::vector<float>> estimate(const ShapedGeneration& shaped);
    /// A generation whose optimizer was somebody else: the state after it.
    [[nodiscard]] Result<GenerationSummary> adopt(const ShapedGeneration& shaped, std::span<const float> parameters,
                                                  std::span<const float> optimizer_state);
    /// Another state in place of this one, after as many generations.
    [[nodiscard]] Result<void> put_state(std::span<const float> parameters, std::span<const float> optimizer_state);
    [[nodiscard]] Result<ShapedGeneration> shaped() const override;
    [[nodiscard]] std::uint32_t generations() const noexcept override { return schedule.generation; }
    [[nodiscard]] const ParameterTable& table() const noexcept override { return parts.parameters; }
    [[nodiscard]] std::span<const float> parameters() const noexcept override;
    [[nodiscard]] std::span<const float> optimizer_state() const noexcept override;
    [[nodiscard]] Result<std::vector<float>> scores() const override;
    [[nodiscard]] Result<void> set_parameters(std::span<const float> to) override;
    [[nodiscard]] Result<void> set_elements(std::uint32_t first, std::span<const float> to) override;
    [[nodiscard]] Result<void> refresh() override;
    [[nodiscard]] BufferView device_parameters() const noexcept override { return values; }
    [[nodiscard]] Result<std::string> state_digest() const override;

    const Device* device = nullptr;
    Dispatcher* dispatcher = nullptr;
    EvolutionParts parts;
    EvolutionOptions options;
    // Buffers first: what is bound to them goes before they do.
    Buffer values, state, returns, evaluations, raw_scores, weights, summary, skipped, gradient, scratch,
        policy_returns, policy_evaluations, readback, edits, given;
    std::vector<ElementRange> edited;  // what the next step copies from `edits`
    /// Where in `given` apply() puts what it was given.
    struct Given {
        BufferView summary, weights, gradient;
    };
    Given from_host;
    /// Where in the readback buffer each copy lands.
    struct Mirror {
        BufferView summary, skipped, evaluations, parameters, state, policy_returns, digest, weights;
    };
    Mirror mirror;
    FitnessPlan fitness_plan;
    EsUpdatePlan es_update_plan;
    OptimizerPlan optimizer_plan;
    BoundFitness fitness;
    BoundEsUpdate es_update;
    BoundOptimizer optimizer;
    DeviceDigest digest;
    bool has_stepped = false;
    std::optional<Recorder> recorder;
    Schedule schedule;
    bool not_finite_named = false;
    std::uint32_t skipped_before = 0;  // elements, before this generation

    Result<void> plan();
    Result<void> create_buffers();
    Result<void> create_scratch();
    Result<void> create_readback();
    Result<void> bind();
    Result<void> upload_initial();
    Result<void> upload_state(std::span<const float> parameters, std::span<const float> optimizer_state);
    Result<void> mirror_state();
    void record_edits() noexcept;
    Result<void> enter_bounds();
    Result<void> create_given();
    Result<void> give(const ShapedGeneration& shaped, std::span<const float> with_gradient);
    /// Each ends with the weights, the summary and the gradient in their buffers.
    void record_scored(const NoiseContext& when) noexcept;
    void record_given(const NoiseContext& when, bool with_gradient) noexcept;
    void record_begin() noexcept;
    void record_end(const NoiseContext& when) noexcept;
    Result<GenerationSummary> run_generation();
    void record_mirror() noexcept;
    GenerationSummary summarise_generation();

    [[nodiscard]] FitnessDesc fitness_desc() const {
        return {.population = options.population,
                .episodes = options.episodes,
                .rule = options.fitness,
                .robust = options.robust,
                .group_size = options.group_size,
                .antithetic = options.antithetic,
                .config = parts.config.fitness};
    }
    [[nodiscard]] std::uint64_t state_bytes() const {
        return optimizer_state_arrays(options.optimizer) * parts.parameters.size_bytes();
    }
    [[nodiscard]] static BufferView elements_of(const BufferView& all, const ElementRange& range) {
        return all.part(std::uint64_t{4} * range.first, std::uint64_t{4} * range.count);
    }
    [[nodiscard]] BufferView state_view() const { return state_bytes() == 0 ? BufferView{} : BufferView{state}; }
    [[nodiscard]] BufferView scratch_view(const MemoryNeeds& needs) const {
        return needs.size_bytes == 0 ? BufferView{}
                                     : BufferView{scratch, 0, std::min(needs.size_bytes, scratch.size_bytes())};
    }
    [[nodiscard]] bool has_integers() const { return is_integer_rule(options.fitness); }
};

}  // namespace yolk::evolve
