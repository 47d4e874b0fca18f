// SPDX-License-Identifier: Apache-2.0
// EGGROLL on one device: each generation evaluates a population of low-rank perturbations, shapes its scores, and moves
// the parameters along the estimated gradient, all in one recording.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/core/owned.hpp"
#include "yolk/core/result.hpp"
#include "yolk/evolve/bounds.hpp"
#include "yolk/evolve/devices.hpp"
#include "yolk/evolve/evaluator.hpp"
#include "yolk/evolve/generation.hpp"
#include "yolk/evolve/options.hpp"
#include "yolk/evolve/shaped_generation.hpp"
#include "yolk/primitives/es_update.hpp"
#include "yolk/primitives/fitness.hpp"
#include "yolk/primitives/optimizer.hpp"
#include "yolk/runtime/dispatcher.hpp"

namespace yolk::evolve {

/// Tile configurations, as the primitives' descriptions have them; in exact mode they change nothing but the time.
struct EvolutionConfig {
    std::optional<FitnessConfig> fitness{};
    std::optional<EsUpdateConfig> es_update{};
    std::optional<OptimizerConfig> optimizer{};
};

/// Elements [first, first + count) of the parameters.
struct ElementRange {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

struct EvolutionParts {
    ParameterTable parameters{};   ///< as trained_parameters() gives them
    std::vector<float> initial{};  ///< first values, [element_count]
    /// Of options.population members and options.episodes episodes. Empty: the run has apply() and no step().
    std::unique_ptr<Evaluator> evaluator{};
    /// Scores the unperturbed policy (one member) after the update, in the same submission; may be empty.
    std::unique_ptr<Evaluator> policy_evaluator{};
    EvolutionConfig config{};
    /// What each step brings to the host. Unset: all parameters, and the optimizer's state. Else these elements of the
    /// parameters alone; the rest of parameters(), and optimizer_state(), are as they were before the first step, until
    /// refresh().
    std::optional<std::vector<ElementRange>> host_elements{};
    std::vector<ElementBounds> bounds{};  ///< of elements that come to the host
    bool digest = false;                  ///< makes state_digest() in each step, on the device
    bool keep_weights = false;            ///< brings the weights of each step to the host, for shaped()
    // To go on with an earlier run, to the bits of one that was never interrupted: its parameters() as `initial`, and
    std::vector<float> optimizer_state{};  ///< its optimizer_state(); empty: zeros, as a run begins
    std::uint32_t generation = 0;          ///< its generations(); sigma and the learning rate follow from it
    bool changing_examples = false;        ///< NotFiniteWatch's
};

class EvolutionEngine;
struct PoolParts;  // yolk/evolve/pool_parts.hpp
struct RankShare;  // yolk/evolve/ranks.hpp

/// The unperturbed parameters that were scored last, inside their bounds, and the scores (PoolParts::mean_scores).
struct MeanScores {
    std::span<const float> parameters{};
    std::span<const double> scores{};
};

/// Owns every buffer of a run; the primitives own none. One thread at a time; different ones may
/// share a device and a dispatcher on different threads. Movable. After an error the run is over: make
/// a new one.
class Evolution {
   public:
    /// Probes the device. Errors: options outside their limits, parts that do not fit them, a device that fails the
    /// arithmetic probe in exact mode (Unsupported, with the reason), those of the primitives' plans. `device` and
    /// `dispatcher` must outlive it.
    [[nodiscard]] static Result<Evolution> create(const Device& device, Dispatcher& dispatcher, EvolutionParts parts,
                                                  const EvolutionOptions& options);

    /// The same over `devices`, which it keeps: members are dealt out to all of them, the fastest makes the update and
    /// is followed by another one where it fails. In exact mode the bits do not depend on
    /// the pool. Where an audit finds a device that computed wrongly, a step goes back to the generation that it may
    /// have spoiled first, so that generations() may fall. With one device, without audits, and where the parts allow
    /// it, this is the run above. With other ranks, which call step() as often: each evaluates its share of the
    /// members, and all make the update from everyone's weights. The state is compared after each generation; where the
    /// rule ends in floats, all take rank 0's, if theirs is another one. Errors: besides those above, another
    /// determinism than the pool's, no device is left. On Devices::none() members are scored by one evaluator of the
    /// host (PoolParts::members, asked with nulls; empty: the run has apply() and no step()), and the update is made by
    /// its exact twin, with the bits of a device. Errors: as above; fast determinism, other ranks, own stages.
    [[nodiscard]] static Result<Evolution> create(const Devices& devices, PoolParts parts,
                                                  const EvolutionOptions& options);

    /// One generation, and waits for it. The host looks at the summary and at nothing that grows with the population or
    /// the parameters. Errors: NotFiniteWatch's (Failed), device lost,
    /// driver.
    [[nodiscard]] Result<GenerationSummary> step();
    /// One generation whose scores were made and shaped elsewhere, or long ago: the update, the optimizer, and the
    /// policy evaluator where there is one. The same bits as the step() that shaped() came from. `gradient`
    /// [element_count]: in place of the one that the weights give; it may be left out. The summary counts no
    /// evaluations. Errors: a number of weights or elements that is not this run's, a gradient that is not finite, and
    /// those of step().
    [[nodiscard]] Result<GenerationSummary> apply(const ShapedGeneration& shaped, std::span<const float> gradient = {});
    /// What the last step's scores came to: all that apply() needs to repeat it on any device. Errors: without
    /// EvolutionParts::keep_weights, before the first step.
    [[nodiscard]] Result<ShapedGeneration> shaped() const;

    /// Scores the unperturbed parameters as the next step() finds them, and makes no generation of it. False: an audit
    /// found a device that computed wrongly, and the run went back, to generations(). Errors: without
    /// PoolParts::mean_scores, step()'s.
    [[nodiscard]] Result<bool> score_mean();
    /// Of the last step() or score_mean(), valid until the next; empty without PoolParts::mean_scores.
    [[nodiscard]] MeanScores mean() const noexcept;
    /// No generation before this one will be made again.
    [[nodiscard]] std::uint32_t settled() const noexcept;

    [[nodiscard]] std::uint32_t generations() const noexcept;  ///< done so far
    [[nodiscard]] const ParameterTable& table() const noexcept;
    /// The state after the last step (EvolutionParts::host_elements), in the order of the table; valid until the next
    /// step.
    [[nodiscard]] std::span<const float> parameters() const noexcept;
    [[nodiscard]] std::span<const float> optimizer_state()
        const noexcept;  ///< first moments, then second; empty for SGD
    /// Scores of the last population as they came, [population]. Blocks; for tests and tools. Error: there are other
    /// ranks, which have those of their own members.
    [[nodiscard]] Result<std::vector<float>> scores() const;
    /// Puts these in place of the parameters (moved into bounds, say): what the next step perturbs and updates. The
    /// optimizer's state stays. Blocks. Errors: another number of values, one that is not finite, the driver's.
    [[nodiscard]] Result<void> set_parameters(std::span<const float> values);
    /// Puts these in place of elements [first, first + values.size()): copied to the device at the beginning of the
    /// next step, in its submission; parameters() shows them after it. Errors: beyond the last element, one that is not
    /// finite, no memory.
    [[nodiscard]] Result<void> set_elements(std::uint32_t first, std::span<const float> values);
    /// Brings all parameters and the optimizer's state to the host. Blocks. Errors: the driver's.
    [[nodiscard]] Result<void> refresh();
    /// What each worker of the pool did in the last step; empty without a pool.
    [[nodiscard]] std::span<const WorkerShare> shares() const noexcept;
    /// Of the last step: what each rank evaluated, by rank; empty where there is one.
    [[nodiscard]] std::span<const RankShare> rank_shares() const noexcept;
    /// The parameters on the device, for more work on them between steps.
    [[nodiscard]] BufferView device_parameters() const noexcept;
    /// As evolve::state_hash, of what the host has: refresh() first where that is not everything.
    [[nodiscard]] Result<std::string> state_hash() const;
    /// As evolve::state_digest, of the state on the device after the last step or refresh(); nothing but it comes to
    /// the host. Errors: without EvolutionParts::digest, a value that is not finite.
    [[nodiscard]] Result<std::string> state_digest() const;

   private:
    explicit Evolution(Owned<EvolutionEngine> engine, NotFiniteWatch watch = NotFiniteWatch()) noexcept
        : engine_(std::move(engine)), watch_(watch) {}
    std::optional<DevicePool> pool_{};  // of a run on one device, which borrows it
    Owned<EvolutionEngine> engine_;
    NotFiniteWatch watch_;
};

}  // namespace yolk::evolve
