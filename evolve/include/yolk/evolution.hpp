// SPDX-License-Identifier: Apache-2.0
// EGGROLL on one device: each generation evaluates a population of low-rank perturbations, shapes its scores, and moves
// the parameters along the estimated gradient, all in one recording.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yolk/devices.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/es_update.hpp"
#include "yolk/fitness.hpp"
#include "yolk/internal/core/owned.hpp"
#include "yolk/internal/evolve/bounds.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/evaluator.hpp"
#include "yolk/internal/evolve/generation.hpp"
#include "yolk/internal/evolve/member_evaluator.hpp"
#include "yolk/internal/evolve/member_parameters.hpp"
#include "yolk/internal/evolve/member_policies.hpp"
#include "yolk/internal/evolve/options.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"
#include "yolk/internal/evolve/shaped_generation.hpp"
#include "yolk/internal/evolve/shared_update.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/optimizer.hpp"
#include "yolk/result.hpp"

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
struct PoolParts;  // yolk/evolution.hpp
struct RankShare;  // yolk/internal/evolve/ranks.hpp

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

// What a run over a pool of devices is made of. Each stage of a generation can be replaced by a function on the host:
// evaluation, shaping, update and optimizer.

/// Where a function is empty the stage is EGGROLL's. They are called on the thread of step(), and must not throw. What
/// they give follows from what they get: a generation is made again where a device fails, and an audit repeats update
/// and optimizer of earlier ones. One that returns an error ends the run; the kinds that drop a device (is_of_device)
/// become Failed. docs/embedding.md has a table.
struct Stages {
    /// From returns [episodes, population], higher is better, to weights. Refused: another number or kind of weights
    /// than the fitness rule's (int8 from -127 to 127, or fp32; one per pair, without pairs one per member), one that
    /// is not finite, and a summary without a coefficient or a finite_count where there are weights that are not zero.
    /// The weights times the coefficient are the fitness; the statistics are what the step reports.
    std::function<Result<ShapedGeneration>(std::span<const float> returns, const NoiseContext& when)> shape{};
    /// From weights to an ascent direction [element_count]. Refused: another number of elements, one that is not
    /// finite.
    std::function<Result<std::vector<float>>(const ShapedGeneration& shaped, const NoiseContext& when)> update{};
    /// One step of an optimizer: in place. `state` has the size of the rule's in the options (none, one or two arrays
    /// of element_count) and is zero at first. Refused: values that are not finite after it.
    struct Step {
        std::span<const float> gradient;
        std::span<float> parameters;
        std::span<float> state;
        float learning_rate = 0.0F;
        std::uint32_t generation = 0;
    };
    std::function<Result<void>(const Step& step)> optimize{};
};

/// Who makes the update of a pool. With a rule that ends in int8 the bits are the same. Where audits are on, with own
/// stages, and with a rule that ends in floats in a run of several ranks it is the lead.
enum class UpdateBy {
    Measured,  ///< the lead, or all devices where that was measured to take less time
    Lead,
    All,
};

inline constexpr std::uint32_t kMostMeanScores = 2;

struct PoolParts {
    ParameterTable parameters{};   ///< as trained_parameters() gives them
    std::vector<float> initial{};  ///< first values, [element_count]
    /// Makes what scores members on a worker, once for each; `device` and `dispatcher` are null for a worker without a
    /// device. Errors of a device (is_of_device) drop it. Refused: no evaluator, one with another number of episodes
    /// than the options', one that cannot take a pair at once.
    std::function<Result<std::unique_ptr<MemberEvaluator>>(const Device* device, Dispatcher* dispatcher)> members{};
    /// Called before the members of a generation are dealt, on the thread of step(), again where it is made again: what
    /// all evaluators share. May be empty. An error ends the run.
    std::function<Result<void>(std::span<const float> parameters, const NoiseContext& when)> begin{};
    /// Of the unperturbed parameters, made beside each generation's members by whoever evaluates the first of them
    /// (MemberEvaluator::evaluate_with_mean), and audited with them. They take no part in the fitness: the caller finds
    /// them in Evolution::mean(). At most kMostMeanScores.
    std::uint32_t mean_scores = 0;
    /// Evaluators plan for each number of members: chunks are multiples of a power of two, at most a 64th of the
    /// population, so that there are few.
    bool few_sizes = false;
    /// Members that evaluators take together at no more cost than fewer: chunks are multiples of it. 0: any.
    std::uint32_t chunk = 0;
    std::vector<ElementBounds> bounds{};
    bool changing_examples = false;  ///< NotFiniteWatch's
    /// Members have the same returns to the bit on every device, even where the run is fast: its pool may be exact.
    bool exact_members = false;
    /// Makes what scores the unperturbed policy after the update, on the device that makes the update; may be empty.
    std::function<Result<std::unique_ptr<Evaluator>>(const Device& device)> policy{};
    /// The same in a run on the host (Devices::none()), as one member; may be empty.
    std::unique_ptr<MemberEvaluator> host_policy{};
    /// Makes the evaluator of a run on a single device, which then needs no copy of scores to the host; may be empty.
    /// Not used where the pool has audits: it says that nothing is audited, where one device is left.
    std::function<Result<std::unique_ptr<Evaluator>>(const Device& device)> single{};
    std::unique_ptr<MemberEvaluator> judge{};  ///< the exact twin, for audits; may be empty
    Stages stages{};
    UpdateBy update_by = UpdateBy::Measured;
    EvolutionConfig config{};
    bool digest = false;        ///< as in EvolutionParts
    bool keep_weights = false;  ///< likewise
    /// As in EvolutionParts, where a single device makes the whole run; a pool brings everything to the host.
    std::optional<std::vector<ElementRange>> host_elements{};
    std::vector<float> optimizer_state{};  ///< of an earlier run
    std::uint32_t generation = 0;          ///< likewise
};

}  // namespace yolk::evolve
