// SPDX-License-Identifier: Apache-2.0
// Plans, buffers and bindings of a run on one device.
#include "device_evolution.hpp"
#include "generation_scratch.hpp"
#include "yolk/internal/core/shape.hpp"

namespace yolk::evolve {
namespace {

constexpr std::uint64_t kCounterBytes = std::uint64_t{4} * kEvaluationCounters;

}  // namespace

Result<std::unique_ptr<DeviceEvolution>> DeviceEvolution::create(const Device& device, Dispatcher& dispatcher,
                                                                 EvolutionParts parts,
                                                                 const EvolutionOptions& options) {
    auto made = std::make_unique<DeviceEvolution>();
    made->device = &device;
    made->dispatcher = &dispatcher;
    made->parts = std::move(parts);
    made->options = options;
    made->schedule = Schedule(options, made->parts.generation);
    YOLK_TRY_VOID(made->plan());
    YOLK_TRY_VOID(made->create_buffers());
    YOLK_TRY_VOID(made->bind());
    YOLK_TRY(made->recorder, Recorder::create(device, {.label = "evolution"}));
    YOLK_TRY_VOID(made->upload_initial());
    return made;
}

Result<void> DeviceEvolution::plan() {
    if (parts.evaluator) {
        YOLK_TRY(fitness_plan, plan_fitness(*device, fitness_desc()));
    }
    YOLK_TRY(es_update_plan,
             plan_es_update(*device, {.parameters = parts.parameters,
                                      .population = options.population,
                                      .rank = options.rank,
                                      .weights = has_integers() ? FitnessWeights::I8 : FitnessWeights::F32,
                                      .antithetic = options.antithetic,
                                      .config = parts.config.es_update}));
    YOLK_TRY(optimizer_plan, plan_optimizer(*device, {.rule = options.optimizer,
                                                      .element_count = parts.parameters.element_count(),
                                                      .beta1 = options.beta1,
                                                      .beta2 = options.beta2,
                                                      .counts_skipped = true,
                                                      .config = parts.config.optimizer}));
    return {};
}

Result<void> DeviceEvolution::create_buffers() {
    const auto make = [this](Buffer& buffer, std::uint64_t size_bytes, const char* label) -> Result<void> {
        if (size_bytes == 0) return {};
        YOLK_TRY(buffer, device->create_buffer({.size_bytes = size_bytes, .label = label}));
        return {};
    };
    YOLK_TRY_VOID(make(values, parts.parameters.size_bytes(), "parameters"));
    YOLK_TRY_VOID(make(state, state_bytes(), "optimizer state"));
    if (parts.evaluator) {
        YOLK_TRY_VOID(make(returns, std::uint64_t{4} * options.population * options.episodes, "returns"));
        YOLK_TRY_VOID(make(evaluations, kCounterBytes, "evaluation counters"));
        YOLK_TRY_VOID(make(raw_scores, std::uint64_t{4} * options.population, "scores"));
    }
    YOLK_TRY_VOID(make(weights, fitness_weights_bytes(fitness_desc()), "fitness weights"));
    YOLK_TRY_VOID(make(summary, sizeof(abi::fitness::Summary), "fitness summary"));
    YOLK_TRY_VOID(make(skipped, sizeof(std::uint32_t), "skipped elements"));
    YOLK_TRY_VOID(make(gradient, parts.parameters.size_bytes(), "gradient"));
    if (parts.policy_evaluator) {
        YOLK_TRY_VOID(make(policy_returns, std::uint64_t{4} * parts.policy_evaluator->episodes(), "policy returns"));
        YOLK_TRY_VOID(make(policy_evaluations, kCounterBytes, "policy evaluation counters"));
    }
    if (parts.digest) {
        YOLK_TRY(digest, DeviceDigest::create(*device, values, state_view()));
    }
    YOLK_TRY_VOID(create_scratch());
    return create_readback();
}

Result<void> DeviceEvolution::create_scratch() {
    // The plans run one after the other, so they can share.
    std::uint64_t wanted = 0;
    std::uint64_t least = 0;
    const auto add = [&](const MemoryNeeds& needs) {
        wanted = std::max(wanted, needs.size_bytes);
        least = std::max(least, needs.least());
    };
    if (parts.evaluator) {
        add(parts.evaluator->scratch());
        add(fitness_plan.scratch());
    }
    add(es_update_plan.scratch());
    add(optimizer_plan.scratch());
    if (parts.policy_evaluator) add(parts.policy_evaluator->scratch());
    YOLK_TRY(scratch, evolve::create_scratch(*device, wanted, least));
    return {};
}

Result<void> DeviceEvolution::create_readback() {
    struct Place {
        BufferView* view;
        std::uint64_t size_bytes;
    };
    const Place places[] = {{&mirror.summary, summary.size_bytes()},
                            {&mirror.skipped, skipped.size_bytes()},
                            {&mirror.evaluations, evaluations.size_bytes()},
                            {&mirror.parameters, values.size_bytes()},
                            {&mirror.state, state_bytes()},
                            {&mirror.policy_returns, parts.policy_evaluator ? policy_returns.size_bytes() : 0},
                            {&mirror.digest, digest.sums().size_bytes},
                            {&mirror.weights, parts.keep_weights ? weights.size_bytes() : 0}};
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

Result<void> DeviceEvolution::bind() {
    if (parts.evaluator) {
        YOLK_TRY_VOID(parts.evaluator->bind({.parameters = values, .returns = returns, .evaluations = evaluations},
                                            scratch_view(parts.evaluator->scratch())));
        YOLK_TRY(fitness,
                 fitness_plan.bind({.returns = returns, .scores = raw_scores, .weights = weights, .summary = summary},
                                   scratch_view(fitness_plan.scratch())));
    }
    YOLK_TRY(es_update, es_update_plan.bind({.weights = weights, .summary = summary, .gradient = gradient},
                                            scratch_view(es_update_plan.scratch())));
    YOLK_TRY(optimizer, optimizer_plan.bind(
                            {.gradient = gradient, .parameters = values, .state = state_view(), .skipped = skipped},
                            scratch_view(optimizer_plan.scratch())));
    if (parts.policy_evaluator) {
        YOLK_TRY_VOID(parts.policy_evaluator->bind(
            {.parameters = values, .returns = policy_returns, .evaluations = policy_evaluations},
            scratch_view(parts.policy_evaluator->scratch())));
    }
    return {};
}

Result<void> DeviceEvolution::upload_initial() {
    YOLK_TRY_VOID(dispatcher->upload(values, std::as_bytes(std::span(parts.initial))));
    if (!parts.optimizer_state.empty())
        YOLK_TRY_VOID(dispatcher->upload(state, std::as_bytes(std::span(parts.optimizer_state))));
    recorder->begin();
    recorder->fill(skipped, 0);
    if (parts.optimizer_state.empty()) recorder->fill(state_view(), 0);
    return mirror_state();
}

/// Made when they are first needed.
Result<void> DeviceEvolution::create_given() {
    if (given.size_bytes() != 0) return {};
    const std::uint64_t summary_bytes = round_up(summary.size_bytes(), kViewAlignment);
    const std::uint64_t weights_bytes = round_up(weights.size_bytes(), kViewAlignment);
    YOLK_TRY(given, device->create_buffer({.size_bytes = summary_bytes + weights_bytes + gradient.size_bytes(),
                                           .domain = MemoryDomain::Upload,
                                           .label = "given generation"}));
    from_host = {.summary = BufferView{given, 0, summary.size_bytes()},
                 .weights = BufferView{given, summary_bytes, weights.size_bytes()},
                 .gradient = BufferView{given, summary_bytes + weights_bytes, gradient.size_bytes()}};
    std::ranges::fill(from_host.weights.mapped(), std::byte{0});  // padding of the weights
    return {};
}

}  // namespace yolk::evolve
