// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/population.hpp"

#include <optional>
#include <utility>

#include "models_in_force.hpp"
#include "pooled_evaluator.hpp"

namespace yolk::hyper {

using population::DeviceEvaluator;
using population::ExampleSet;
using population::PooledEvaluator;
using population::Question;

struct PopulationEvaluator::Impl {
    ExampleSet examples;
    evolve::Devices devices = evolve::Devices::none();
    // One of the two.
    std::unique_ptr<DeviceEvaluator> device{};
    std::unique_ptr<PooledEvaluator> pooled{};
    std::vector<ParameterId> host_rows{};
    HostPool* host = nullptr;
    bool is_audited = false;
    bool mean_outputs = false;
    bool means_stay = false;
    // Of candidates that somebody else deals out.
    std::vector<float> mean{};
    std::optional<Question> dealt{};
    std::vector<std::unique_ptr<population::HostMemory>> memories{};  // by sample
    ModelLayers models{};

    [[nodiscard]] Result<void> make_evaluator(const Resources& resources, const PopulationOptions& options);
    [[nodiscard]] Result<PopulationOutputs> evaluate(const Question& question) {
        return pooled ? pooled->evaluate(question) : device->evaluate(question, {.count = question.count()});
    }
    [[nodiscard]] Result<DeviceEvaluator*> any_device() const {
        return pooled ? pooled->any_device() : Result(device.get());
    }
};

namespace {

constexpr std::uint32_t kPlans = 4;

}  // namespace

Result<void> PopulationEvaluator::Impl::make_evaluator(const Resources& resources, const PopulationOptions& options) {
    devices = resources.devices;
    host = resources.pool;
    mean_outputs = options.mean_outputs;
    Dispatcher* dispatcher = nullptr;
    if (!devices.is_none()) {
        YOLK_TRY(dispatcher, devices.dispatcher());
    }
    evolve::DevicePool* const several = devices.pool();
    is_audited = several != nullptr && several->options().audit > 0.0;
    if (several != nullptr && several->in_use() > 1) {
        if (resources.pool == nullptr)
            return bad_input("Over several devices host functions need a host pool; give one with the devices.");
        YOLK_TRY(pooled, PooledEvaluator::create(*several, *resources.pool, examples, options));
        return {};
    }
    device = std::make_unique<DeviceEvaluator>(dispatcher, resources.pool, examples, options, kPlans);
    return {};
}

Result<PopulationEvaluator> PopulationEvaluator::create(const Resources& resources,
                                                        std::span<const TracedExample> traced,
                                                        const ParameterSet& parameters,
                                                        const PopulationOptions& options) {
    YOLK_TRY(ExampleSet examples, ExampleSet::create(traced, parameters, options.examples_change,
                                                     {.most = options.most_unrolled, .block = options.loop_block}));
    auto impl = std::make_unique<Impl>(Impl{.examples = std::move(examples)});
    YOLK_TRY_VOID(impl->make_evaluator(resources, options));
    // What a search will ask for: it says now what runs where, and whether one candidate fits.
    YOLK_TRY(const Question question, impl->examples.ask_for_plans());
    YOLK_TRY(DeviceEvaluator* const device, impl->any_device());
    YOLK_TRY(population::Program* const program, device->program_for(question));
    impl->host_rows = program->host_rows();
    impl->means_stay = impl->device && program->means_stay();
    return PopulationEvaluator(std::move(impl));
}

Result<PopulationOutputs> PopulationEvaluator::evaluate(const Perturbations& candidates) {
    YOLK_TRY(const Question question, impl_->examples.ask(candidates));
    return impl_->evaluate(question);
}
Result<PopulationOutputs> PopulationEvaluator::evaluate(const Perturbations& candidates, const OwnValues& own) {
    if (impl_->pooled && !own.carried.empty())
        return bad_input("Candidates carry a state, which stays on one device; give one.");
    YOLK_TRY(const Question question, impl_->examples.ask(candidates, own));
    return impl_->evaluate(question);
}
Result<PopulationOutputs> PopulationEvaluator::evaluate(std::span<const Candidate> candidates) {
    YOLK_TRY(const Question question, impl_->examples.ask(candidates));
    return impl_->evaluate(question);
}

bool PopulationEvaluator::means_stay() const noexcept { return impl_->means_stay; }
Result<PopulationOutputs> PopulationEvaluator::evaluate_into(const Perturbations& candidates, const BufferView& means) {
    if (!impl_->device) return bad_input("Means of a population over several devices do not stay on one of them.");
    YOLK_TRY(const Question question, impl_->examples.ask(candidates));
    return impl_->device->evaluate_into(question, means);
}

Result<std::uint32_t> PopulationEvaluator::begin(const Perturbations& candidates, std::uint32_t samples) {
    impl_->mean.assign(candidates.mean.begin(), candidates.mean.end());
    Perturbations own = candidates;
    own.mean = impl_->mean;
    YOLK_TRY(impl_->dealt, impl_->examples.ask(own));
    impl_->memories.clear();
    impl_->memories.resize(samples);
    for (auto& memory : impl_->memories) {
        if (impl_->is_audited) memory = std::make_unique<population::HostMemory>();
    }
    impl_->models = models_in_force();  // of this thread; the workers' make the calls
    return impl_->pooled ? impl_->pooled->warm_up(*impl_->dealt) : candidates_per_chunk();
}

Result<PopulationOutputs> PopulationEvaluator::evaluate_part(std::size_t worker, const evolve::MemberRange& part,
                                                             std::uint32_t sample) {
    const ModelScope scope(impl_->models);
    population::HostMemory* const memory = impl_->memories[sample].get();
    if (worker == kTwin) {
        return impl_->pooled ? impl_->pooled->twin().evaluate(*impl_->dealt, part, memory)
                             : population::PopulationTwin(impl_->host, impl_->examples, impl_->mean_outputs)
                                   .evaluate(*impl_->dealt, part, memory);
    }
    return impl_->pooled ? impl_->pooled->evaluate_on(worker, *impl_->dealt, part, memory)
                         : impl_->device->evaluate(*impl_->dealt, part, memory);
}

Result<void> PopulationEvaluator::set_examples(std::span<const TracedExample> examples) {
    std::vector<const TracedExample*> list;
    for (const TracedExample& example : examples) list.push_back(&example);
    return impl_->examples.replace(list);
}
Result<void> PopulationEvaluator::set_examples(std::span<const TracedExample* const> examples) {
    return impl_->examples.replace(examples);
}

bool PopulationEvaluator::is_pooled() const noexcept { return impl_->pooled != nullptr; }

std::span<const ParameterId> PopulationEvaluator::host_rows() const noexcept { return impl_->host_rows; }

Result<std::uint32_t> PopulationEvaluator::candidates_per_chunk() const {
    YOLK_TRY(const Question question, impl_->examples.ask_for_plans());
    YOLK_TRY(DeviceEvaluator* const device, impl_->any_device());
    YOLK_TRY(population::Program* const program, device->program_for(question));
    return program->members_per_chunk();
}

std::vector<std::string> PopulationEvaluator::fallbacks() const {
    const Result<DeviceEvaluator*> device = impl_->any_device();
    return device ? (*device)->fallbacks() : std::vector<std::string>();
}

}  // namespace yolk::hyper
