// SPDX-License-Identifier: Apache-2.0
#include "pooled_evaluator.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <utility>

#include "dealt_outputs.hpp"
#include "models_in_force.hpp"
#include "output_space.hpp"

namespace yolk::hyper::population {
namespace {

/// A pool deals chunks of many sizes: all powers of two of candidates up to a submission's.
constexpr std::uint32_t kPooledPlans = 12;
/// The smallest chunk is at most this share of the candidates.
constexpr std::uint32_t kFinestShare = 64;

/// Pools remember evaluations by number (DevicePool::verified), from one system to the next.
std::uint32_t next_evaluation() {
    static std::atomic<std::uint32_t> next{0};
    return next++;
}

}  // namespace

Result<std::unique_ptr<PooledEvaluator>> PooledEvaluator::create(evolve::DevicePool& devices, HostPool& pool,
                                                                 const ExampleSet& examples,
                                                                 const PopulationOptions& options) {
    if (options.determinism == Determinism::Fast && devices.options().determinism == Determinism::Exact) {
        return bad_input(
            "A fast population over a pool of devices that promises the same bits was asked for. Give "
            "DevicePoolOptions::determinism Fast, or the population Exact.");
    }
    std::unique_ptr<PooledEvaluator> made(new PooledEvaluator(devices, pool, examples, options.mean_outputs));
    made->evaluators_.resize(devices.size());
    for (std::size_t i = 0; i < devices.device_count(); ++i) {
        if (devices.is_used(i)) {
            // The twin, which may be one of the workers, gives values.
            PopulationOptions with_values = options;
            with_values.plain_outputs = false;
            made->evaluators_[i] =
                std::make_unique<DeviceEvaluator>(&devices.dispatcher(i), &pool, examples, with_values, kPooledPlans);
        }
    }
    YOLK_TRY(const Question question, examples.ask_for_plans());
    YOLK_TRY_VOID(made->on_each_device([&](std::size_t /*worker*/, DeviceEvaluator& evaluator) -> Result<void> {
        YOLK_TRY([[maybe_unused]] Program* const program, evaluator.program_for(question));
        return {};
    }));
    YOLK_TRY([[maybe_unused]] const std::size_t lead, devices.lead());
    return made;
}

Result<void> PooledEvaluator::on_each_device(const DeviceWork& work) {
    std::vector<std::optional<Error>> errors(evaluators_.size());
    devices_->on_each([&](std::size_t worker) {
        if (!evaluators_[worker]) return;
        if (Result<void> done = work(worker, *evaluators_[worker]); !done) errors[worker] = std::move(done).error();
    });
    for (std::size_t worker = 0; worker < errors.size(); ++worker) {
        if (!errors[worker]) continue;
        if (!evolve::is_of_device(*errors[worker])) return *errors[worker];
        devices_->drop(worker, errors[worker]->message);
    }
    return {};
}

Result<DeviceEvaluator*> PooledEvaluator::any_device() {
    YOLK_TRY(const std::size_t lead, devices_->lead());
    return evaluators_[lead].get();
}

/// Host functions are not called for it: they may have effects.
Result<std::uint32_t> PooledEvaluator::warm_up(const Question& question) {
    std::string key = question.key();
    if (const auto known = per_chunk_.find(key); known != per_chunk_.end()) return known->second;
    std::vector<std::uint32_t> members(evaluators_.size(), UINT32_MAX);
    YOLK_TRY_VOID(on_each_device([&](std::size_t worker, DeviceEvaluator& evaluator) -> Result<void> {
        YOLK_TRY(Program* const program, evaluator.program_for(question));
        members[worker] = program->members_per_chunk();
        const std::uint32_t most = std::min(members[worker], question.count());
        if (!program->is_device_only()) {
            YOLK_TRY([[maybe_unused]] ChunkPlan* const plan, program->chunk_plan(most));
            return {};
        }
        YOLK_TRY([[maybe_unused]] const PopulationOutputs unused, evaluator.evaluate(question, {.count = most}));
        return {};
    }));
    return per_chunk_[std::move(key)] = std::ranges::min(members);
}

Result<PopulationOutputs> PooledEvaluator::evaluate_on(std::size_t worker, const Question& question,
                                                       const evolve::MemberRange& part, HostMemory* memory) {
    DeviceEvaluator* const device = evaluators_[worker].get();
    return device != nullptr ? device->evaluate(question, part, memory) : twin_.evaluate(question, part, memory);
}

Result<PopulationOutputs> PooledEvaluator::evaluate(const Question& question) {
    if (!question.perturbations.device_mean.empty()) {
        return bad_input(
            "The mean is on one device, and a pool's others cannot read it there. Give all of it in `mean`.");
    }
    DealtOutputs dealt;
    HostMemory memory;
    const bool audited = devices_->options().audit > 0.0;
    YOLK_TRY(PopulationOutputs room, mean_outputs_ ? means_for(examples_->count(), question.count())
                                                   : outputs_for(examples_->count(), question.count()));
    dealt.begin(std::move(room), evaluators_.size(), audited);
    if (question.count() == 0) return dealt.take();
    YOLK_TRY(const std::uint32_t per_chunk, warm_up(question));
    // Nothing is evaluated twice without audits, except after an error.
    HostMemory* const remembered = audited ? &memory : nullptr;
    const ModelLayers models = models_in_force();  // of this thread; the pool's make the calls
    evolve::PooledWork work{
        .members = {.first = 0, .count = question.count()},
        .granularity = std::min(per_chunk, std::bit_floor(std::max(1U, question.count() / kFinestShare))),
        .generation = next_evaluation(),
        .evaluate = [&](std::size_t worker, const evolve::MemberRange& part) -> Result<std::vector<std::byte>> {
            const ModelScope scope(models);
            YOLK_TRY(PopulationOutputs outputs, evaluate_on(worker, question, part, remembered));
            return dealt.hand_in(worker, part, std::move(outputs));
        },
        .keep = [&](const evolve::MemberRange& part, std::span<const std::byte> result) { dealt.keep(part, result); },
        .kept = [&](const evolve::MemberRange& part) { return dealt.kept(part); },
        .judge = [&](const evolve::MemberRange& part) -> Result<std::vector<std::byte>> {
            const ModelScope scope(models);
            YOLK_TRY(const PopulationOutputs outputs, twin_.evaluate(question, part, remembered));
            return digests_of(outputs);
        }};
    std::optional<std::uint32_t> suspect_since;
    while (true) {
        YOLK_TRY(evolve::PooledResult result, devices_->evaluate(work));
        if (result.suspect_since)
            suspect_since = std::min(*result.suspect_since, suspect_since.value_or(*result.suspect_since));
        if (result.suspect_since) continue;  // it ended early: once more, without the wrong one
        PopulationOutputs outputs = dealt.take();
        outputs.pooled = {.devices = std::move(result),
                          .evaluation = work.generation,
                          .lost = devices_->losses(),
                          .suspect_since = suspect_since};
        return outputs;
    }
}

}  // namespace yolk::hyper::population
