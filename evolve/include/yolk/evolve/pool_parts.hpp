// SPDX-License-Identifier: Apache-2.0
// What a run over a pool of devices is made of. Each stage of a generation can be replaced by a function on the host:
// evaluation, shaping, update and optimizer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "yolk/evolve/bounds.hpp"
#include "yolk/evolve/device_pool.hpp"
#include "yolk/evolve/evaluator.hpp"
#include "yolk/evolve/evolution.hpp"
#include "yolk/evolve/member_evaluator.hpp"

namespace yolk::evolve {

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
