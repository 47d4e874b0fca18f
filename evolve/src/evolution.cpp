// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolve/evolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "yolk/core/log.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/evolve/parameter_setup.hpp"
#include "yolk/evolve/schedule.hpp"
#include "yolk/evolve/state_digest.hpp"

#include "device_digest.hpp"
#include "evolution_checks.hpp"
#include "summarise.hpp"

namespace yolk::evolve {
namespace {

constexpr std::uint64_t kCounterBytes = std::uint64_t{4} * kEvaluationCounters;

template <class T>
std::span<const T> values_of(const BufferView& view) {
    const std::span<const std::byte> bytes = view.mapped();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

struct Evolution::Impl {
    const Device* device = nullptr;
    Dispatcher* dispatcher = nullptr;
    EvolutionParts parts;
    EvolutionOptions options;
    // Buffers first: what is bound to them goes before they do.
    Buffer parameters, state, returns, evaluations, scores, weights, summary, gradient, scratch, policy_returns,
        policy_evaluations, readback, edits;
    std::vector<ElementRange> edited;  // what the next step copies from `edits`
    /// Where in the readback buffer each copy lands.
    struct Mirror {
        BufferView summary, evaluations, parameters, state, policy_returns, digest;
    };
    Mirror mirror;
    FitnessPlan fitness_plan;
    EsUpdatePlan es_update_plan;
    OptimizerPlan optimizer_plan;
    BoundFitness fitness;
    BoundEsUpdate es_update;
    BoundOptimizer optimizer;
    DeviceDigest digest;
    std::optional<Recorder> recorder;
    Schedule schedule;
    bool not_finite_named = false;

    Result<void> plan();
    Result<void> create_buffers();
    Result<void> create_scratch();
    Result<void> create_readback();
    Result<void> bind();
    Result<void> upload_initial();
    Result<void> mirror_state();
    void record_edits() noexcept;
    void record_generation(const NoiseContext& when) noexcept;
    void record_mirror() noexcept;
    Result<GenerationSummary> summarise_generation();

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
};

Result<void> Evolution::Impl::plan() {
    YOLK_TRY(fitness_plan, plan_fitness(*device, fitness_desc()));
    YOLK_TRY(es_update_plan, plan_es_update(*device, {.parameters = parts.parameters,
                                                      .population = options.population,
                                                      .rank = options.rank,
                                                      .weights = is_integer_rule(options.fitness) ? FitnessWeights::I8
                                                                                                  : FitnessWeights::F32,
                                                      .antithetic = options.antithetic,
                                                      .config = parts.config.es_update}));
    YOLK_TRY(optimizer_plan, plan_optimizer(*device, {.rule = options.optimizer,
                                                      .element_count = parts.parameters.element_count(),
                                                      .beta1 = options.beta1,
                                                      .beta2 = options.beta2,
                                                      .config = parts.config.optimizer}));
    return {};
}

Result<void> Evolution::Impl::create_buffers() {
    const auto make = [this](Buffer& buffer, std::uint64_t size_bytes, const char* label) -> Result<void> {
        if (size_bytes == 0) return {};
        YOLK_TRY(buffer, device->create_buffer({.size_bytes = size_bytes, .label = label}));
        return {};
    };
    YOLK_TRY_VOID(make(parameters, parts.parameters.size_bytes(), "parameters"));
    YOLK_TRY_VOID(make(state, state_bytes(), "optimizer state"));
    YOLK_TRY_VOID(make(returns, std::uint64_t{4} * options.population * options.episodes, "returns"));
    YOLK_TRY_VOID(make(evaluations, kCounterBytes, "evaluation counters"));
    YOLK_TRY_VOID(make(scores, std::uint64_t{4} * options.population, "scores"));
    YOLK_TRY_VOID(make(weights, fitness_weights_bytes(fitness_desc()), "fitness weights"));
    YOLK_TRY_VOID(make(summary, sizeof(abi::fitness::Summary), "fitness summary"));
    YOLK_TRY_VOID(make(gradient, parts.parameters.size_bytes(), "gradient"));
    if (parts.policy_evaluator) {
        YOLK_TRY_VOID(make(policy_returns, std::uint64_t{4} * parts.policy_evaluator->episodes(), "policy returns"));
        YOLK_TRY_VOID(make(policy_evaluations, kCounterBytes, "policy evaluation counters"));
    }
    if (parts.digest) {
        YOLK_TRY(digest, DeviceDigest::create(*device, parameters, state_view()));
    }
    YOLK_TRY_VOID(create_scratch());
    return create_readback();
}

Result<void> Evolution::Impl::create_scratch() {
    // The plans run one after the other, so they can share.
    std::uint64_t wanted = 0;
    std::uint64_t least = 0;
    const auto add = [&](const MemoryNeeds& needs) {
        wanted = std::max(wanted, needs.size_bytes);
        least = std::max(least, needs.least());
    };
    add(parts.evaluator->scratch());
    add(fitness_plan.scratch());
    add(es_update_plan.scratch());
    add(optimizer_plan.scratch());
    if (parts.policy_evaluator) add(parts.policy_evaluator->scratch());
    while (wanted > 0) {
        auto made = device->create_buffer({.size_bytes = wanted, .label = "generation scratch"});
        if (made) {
            scratch = std::move(made).value();
            return {};
        }
        if (made.error().kind != ErrorKind::OutOfMemory || wanted <= least) return std::move(made).error();
        wanted = std::max(wanted / 2, least);
        log_info(fmt::format("There is no memory for all of the scratch at once; trying with {} bytes.", wanted));
    }
    return {};
}

Result<void> Evolution::Impl::create_readback() {
    struct Place {
        BufferView* view;
        std::uint64_t size_bytes;
    };
    const Place places[] = {{&mirror.summary, summary.size_bytes()},
                            {&mirror.evaluations, evaluations.size_bytes()},
                            {&mirror.parameters, parameters.size_bytes()},
                            {&mirror.state, state_bytes()},
                            {&mirror.policy_returns, parts.policy_evaluator ? policy_returns.size_bytes() : 0},
                            {&mirror.digest, digest.sums().size_bytes}};
    std::uint64_t total = 0;
    for (const Place& place : places) total += round_up(place.size_bytes, kViewAlignment);
    YOLK_TRY(readback, device->create_buffer(
                           {.size_bytes = total, .domain = MemoryDomain::Readback, .label = "generation readback"}));
    std::uint64_t offset = 0;
    for (const Place& place : places) {
        *place.view = place.size_bytes == 0 ? BufferView{} : BufferView{readback, offset, place.size_bytes};
        offset += round_up(place.size_bytes, kViewAlignment);
    }
    return {};
}

Result<void> Evolution::Impl::bind() {
    YOLK_TRY_VOID(parts.evaluator->bind({.parameters = parameters, .returns = returns, .evaluations = evaluations},
                                        scratch_view(parts.evaluator->scratch())));
    YOLK_TRY(fitness, fitness_plan.bind({.returns = returns, .scores = scores, .weights = weights, .summary = summary},
                                        scratch_view(fitness_plan.scratch())));
    YOLK_TRY(es_update, es_update_plan.bind({.weights = weights, .summary = summary, .gradient = gradient},
                                            scratch_view(es_update_plan.scratch())));
    YOLK_TRY(optimizer, optimizer_plan.bind({.gradient = gradient, .parameters = parameters, .state = state_view()},
                                            scratch_view(optimizer_plan.scratch())));
    if (parts.policy_evaluator) {
        YOLK_TRY_VOID(parts.policy_evaluator->bind(
            {.parameters = parameters, .returns = policy_returns, .evaluations = policy_evaluations},
            scratch_view(parts.policy_evaluator->scratch())));
    }
    return {};
}

Result<void> Evolution::Impl::upload_initial() {
    YOLK_TRY_VOID(dispatcher->upload(parameters, std::as_bytes(std::span(parts.initial))));
    if (!parts.optimizer_state.empty())
        YOLK_TRY_VOID(dispatcher->upload(state, std::as_bytes(std::span(parts.optimizer_state))));
    recorder->begin();
    if (parts.optimizer_state.empty()) recorder->fill(state_view(), 0);
    return mirror_state();
}

/// Goes on with a recording that has begun.
Result<void> Evolution::Impl::mirror_state() {
    digest.begin(*recorder);
    recorder->barrier(Barrier::TransferToCompute);
    digest.add(*recorder);
    recorder->barrier(Barrier::ComputeToTransfer);
    recorder->barrier(Barrier::TransferToTransfer);
    recorder->copy(digest.sums(), mirror.digest);
    recorder->copy(parameters, mirror.parameters);
    recorder->copy(state_view(), mirror.state);
    recorder->barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher->run(*recorder));
    return readback.invalidate();
}

/// What set_elements() left. Before it, what earlier submissions read and wrote.
void Evolution::Impl::record_edits() noexcept {
    if (edited.empty()) return;
    recorder->barrier(Barrier::ComputeToTransfer);
    recorder->barrier(Barrier::TransferToTransfer);
    for (const ElementRange& range : edited) recorder->copy(elements_of(edits, range), elements_of(parameters, range));
    edited.clear();
}

void Evolution::Impl::record_generation(const NoiseContext& when) noexcept {
    recorder->begin();
    const ScopedLabel label(*recorder, "generation");
    record_edits();
    digest.begin(*recorder);
    // What earlier submissions wrote: the last generation's kernels, and the first values.
    recorder->barrier(Barrier::ComputeToCompute);
    recorder->barrier(Barrier::TransferToCompute);
    parts.evaluator->record(*recorder, when);
    recorder->barrier(Barrier::ComputeToCompute);
    fitness.record(*recorder);
    recorder->barrier(Barrier::ComputeToCompute);
    es_update.record(*recorder, when);
    recorder->barrier(Barrier::ComputeToCompute);
    optimizer.record(*recorder, schedule.learning_rate, when.generation);
    if (parts.policy_evaluator || parts.digest) recorder->barrier(Barrier::ComputeToCompute);
    digest.add(*recorder);
    if (parts.policy_evaluator) parts.policy_evaluator->record(*recorder, when);
    record_mirror();
}

void Evolution::Impl::record_mirror() noexcept {
    recorder->barrier(Barrier::ComputeToTransfer);
    recorder->copy(summary, mirror.summary);
    recorder->copy(evaluations, mirror.evaluations);
    recorder->copy(digest.sums(), mirror.digest);
    if (parts.host_elements) {
        for (const ElementRange& range : *parts.host_elements)
            recorder->copy(elements_of(parameters, range), elements_of(mirror.parameters, range));
    } else {
        recorder->copy(parameters, mirror.parameters);
        recorder->copy(state_view(), mirror.state);
    }
    if (parts.policy_evaluator) recorder->copy(policy_returns, mirror.policy_returns);
    recorder->barrier(Barrier::ToHost);
}

Result<GenerationSummary> Evolution::Impl::summarise_generation() {
    abi::fitness::Summary raw{};
    std::memcpy(&raw, mirror.summary.mapped().data(), sizeof(raw));
    YOLK_TRY(const GenerationSummary result, summarise(raw, values_of<std::uint32_t>(mirror.evaluations),
                                                       values_of<float>(mirror.policy_returns), schedule));
    if (result.not_finite > 0 && !not_finite_named) {
        not_finite_named = true;
        log_warning(
            fmt::format("In generation {} the scores of {} members are not finite, member {} the first; they count as "
                        "the worst. Later ones are counted without a notice.",
                        result.generation, result.not_finite, result.first_not_finite));
    }
    return result;
}

Result<Evolution> Evolution::create(const Device& device, Dispatcher& dispatcher, EvolutionParts parts,
                                    const EvolutionOptions& options) {
    YOLK_TRY_VOID(validate(options));
    YOLK_TRY_VOID(check_parts(parts, options));
    YOLK_TRY_VOID(probe_device(device, options.determinism));
    note_useless_rank(parts.parameters, options.rank);
    auto impl = std::make_unique<Impl>();
    impl->device = &device;
    impl->dispatcher = &dispatcher;
    impl->parts = std::move(parts);
    impl->options = options;
    impl->schedule = Schedule(options, impl->parts.generation);
    YOLK_TRY_VOID(impl->plan());
    YOLK_TRY_VOID(impl->create_buffers());
    YOLK_TRY_VOID(impl->bind());
    YOLK_TRY(impl->recorder, Recorder::create(device, {.label = "evolution"}));
    YOLK_TRY_VOID(impl->upload_initial());
    return Evolution(std::move(impl));
}

Result<GenerationSummary> Evolution::step() {
    impl_->record_generation(impl_->schedule.noise_time());
    YOLK_TRY_VOID(impl_->dispatcher->run(*impl_->recorder));
    YOLK_TRY_VOID(impl_->readback.invalidate());
    YOLK_TRY(const GenerationSummary result, impl_->summarise_generation());
    impl_->schedule.advance();
    return result;
}

std::uint32_t Evolution::generations() const noexcept { return impl_->schedule.generation; }
const ParameterTable& Evolution::table() const noexcept { return impl_->parts.parameters; }
std::span<const float> Evolution::parameters() const noexcept { return values_of<float>(impl_->mirror.parameters); }
std::span<const float> Evolution::optimizer_state() const noexcept { return values_of<float>(impl_->mirror.state); }
BufferView Evolution::device_parameters() const noexcept { return impl_->parameters; }

Result<std::vector<float>> Evolution::scores() const {
    std::vector<float> values(impl_->options.population);
    YOLK_TRY_VOID(impl_->dispatcher->download(impl_->scores, std::as_writable_bytes(std::span(values))));
    return values;
}

Result<void> Evolution::set_parameters(std::span<const float> values) {
    const std::span<const float> now = parameters();
    if (values.size() != now.size()) {
        return bad_input("There are {} values for {} parameter elements; the two must be equal.", values.size(),
                         now.size());
    }
    YOLK_TRY_VOID(check_finite(values));
    impl_->edited.clear();  // older than these
    YOLK_TRY_VOID(impl_->dispatcher->upload(impl_->parameters, std::as_bytes(values)));
    return refresh();
}

Result<void> Evolution::set_elements(std::uint32_t first, std::span<const float> values) {
    const std::uint64_t elements = table().element_count();
    if (first > elements || values.size() > elements - first) {
        return bad_input("There are {} values from element {} on; the parameters have {} elements.", values.size(),
                         first, elements);
    }
    if (values.empty()) return {};
    YOLK_TRY_VOID(check_finite(values));
    Buffer& edits = impl_->edits;
    if (edits.size_bytes() == 0) {
        YOLK_TRY(edits,
                 impl_->device->create_buffer(
                     {.size_bytes = table().size_bytes(), .domain = MemoryDomain::Upload, .label = "parameter edits"}));
    }
    std::memcpy(edits.mapped().data() + std::size_t{4} * first, values.data(), values.size_bytes());
    impl_->edited.push_back({.first = first, .count = static_cast<std::uint32_t>(values.size())});
    return edits.flush();
}

Result<void> Evolution::refresh() {
    impl_->recorder->begin();
    return impl_->mirror_state();
}

Result<std::string> Evolution::state_hash() const {
    return evolve::state_hash(parameters(), optimizer_state(), generations());
}

Result<std::string> Evolution::state_digest() const {
    if (!impl_->parts.digest) return bad_input("This evolution makes no digest; ask for it in EvolutionParts::digest.");
    return evolve::state_digest(values_of<std::uint32_t>(impl_->mirror.digest),
                                {.parameters = table().element_count(),
                                 .optimizer_state = static_cast<std::uint32_t>(impl_->state_bytes() / 4),
                                 .generations = generations()});
}

}  // namespace yolk::evolve
