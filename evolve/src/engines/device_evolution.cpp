// SPDX-License-Identifier: Apache-2.0
#include "device_evolution.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "evolution_checks.hpp"
#include "summarise.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/evolve/state_digest.hpp"
#include "yolk/log.hpp"

namespace yolk::evolve {
namespace {

template <class T>
std::span<const T> values_of(const BufferView& view) {
    const std::span<const std::byte> bytes = view.mapped();
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

}  // namespace

/// Goes on with a recording that has begun.
Result<void> DeviceEvolution::mirror_state() {
    digest.begin(*recorder);
    recorder->barrier(Barrier::TransferToCompute);
    digest.add(*recorder);
    recorder->barrier(Barrier::ComputeToTransfer);
    recorder->barrier(Barrier::TransferToTransfer);
    recorder->copy(digest.sums(), mirror.digest);
    recorder->copy(values, mirror.parameters);
    recorder->copy(state_view(), mirror.state);
    recorder->barrier(Barrier::ToHost);
    YOLK_TRY_VOID(dispatcher->run(*recorder));
    return readback.invalidate();
}

/// What set_elements() left. Before it, what earlier submissions read and wrote.
void DeviceEvolution::record_edits() noexcept {
    if (edited.empty()) return;
    recorder->barrier(Barrier::ComputeToTransfer);
    recorder->barrier(Barrier::TransferToTransfer);
    for (const ElementRange& range : edited) recorder->copy(elements_of(edits, range), elements_of(values, range));
    edited.clear();
}

/// What the caller has put in place of elements since the last step is the caller's.
Result<void> DeviceEvolution::enter_bounds() {
    if (!edited.empty()) return {};
    const std::span<const float> now = parameters();
    for (const ElementBounds& each : parts.bounds) {
        float inside = now[each.element];
        if (!move_into_bounds(std::array{ElementBounds{0, each.lower, each.upper}}, std::span(&inside, 1))) continue;
        YOLK_TRY_VOID(set_elements(each.element, std::span(&inside, 1)));
    }
    return {};
}

void DeviceEvolution::record_begin() noexcept {
    recorder->begin();
    record_edits();
    digest.begin(*recorder);
    // What earlier submissions wrote: the last generation's kernels, and the first values.
    recorder->barrier(Barrier::ComputeToCompute);
    recorder->barrier(Barrier::TransferToCompute);
}

void DeviceEvolution::record_scored(const NoiseContext& when) noexcept {
    parts.evaluator->record(*recorder, when);
    recorder->barrier(Barrier::ComputeToCompute);
    fitness.record(*recorder);
    recorder->barrier(Barrier::ComputeToCompute);
    es_update.record(*recorder, when);
}

void DeviceEvolution::record_given(const NoiseContext& when, bool with_gradient) noexcept {
    recorder->barrier(Barrier::ComputeToTransfer);
    recorder->barrier(Barrier::TransferToTransfer);
    recorder->copy(from_host.summary, summary);
    recorder->copy(from_host.weights, weights);
    if (with_gradient) recorder->copy(from_host.gradient, gradient);
    recorder->barrier(Barrier::TransferToCompute);
    if (!with_gradient) es_update.record(*recorder, when);
}

void DeviceEvolution::record_end(const NoiseContext& when) noexcept {
    recorder->barrier(Barrier::ComputeToCompute);
    optimizer.record(*recorder, schedule.learning_rate, when.generation);
    if (parts.policy_evaluator || parts.digest) recorder->barrier(Barrier::ComputeToCompute);
    digest.add(*recorder);
    if (parts.policy_evaluator) parts.policy_evaluator->record(*recorder, when);
    record_mirror();
}

void DeviceEvolution::record_mirror() noexcept {
    recorder->barrier(Barrier::ComputeToTransfer);
    recorder->copy(summary, mirror.summary);
    recorder->copy(skipped, mirror.skipped);
    if (parts.evaluator) recorder->copy(evaluations, mirror.evaluations);
    recorder->copy(digest.sums(), mirror.digest);
    if (parts.keep_weights) recorder->copy(weights, mirror.weights);
    if (parts.host_elements) {
        for (const ElementRange& range : *parts.host_elements)
            recorder->copy(elements_of(values, range), elements_of(mirror.parameters, range));
    } else {
        recorder->copy(values, mirror.parameters);
        recorder->copy(state_view(), mirror.state);
    }
    if (parts.policy_evaluator) recorder->copy(policy_returns, mirror.policy_returns);
    recorder->barrier(Barrier::ToHost);
}

GenerationSummary DeviceEvolution::summarise_generation() {
    abi::fitness::Summary raw{};
    std::memcpy(&raw, mirror.summary.mapped().data(), sizeof(raw));
    GenerationSummary result =
        summarise(raw, values_of<std::uint32_t>(mirror.evaluations), values_of<float>(mirror.policy_returns), schedule);
    const std::uint32_t skipped_now = values_of<std::uint32_t>(mirror.skipped).front();
    result.skipped_elements = skipped_now - std::exchange(skipped_before, skipped_now);
    if (result.not_finite > 0 && result.has_finite && !not_finite_named) {
        not_finite_named = true;
        log_warning(
            fmt::format("In generation {} the scores of {} members are not finite, member {} the first; they count as "
                        "the worst. Later ones are counted without a notice.",
                        result.generation, result.not_finite, result.first_not_finite));
    }
    return result;
}

Result<GenerationSummary> DeviceEvolution::run_generation() {
    YOLK_TRY_VOID(dispatcher->run(*recorder));
    YOLK_TRY_VOID(readback.invalidate());
    const GenerationSummary result = summarise_generation();
    schedule.advance();
    has_stepped = true;
    return result;
}

Result<GenerationSummary> DeviceEvolution::step() {
    if (!parts.evaluator)
        return bad_input(
            "This evolution has no evaluator, so that it cannot step; give it scored generations by apply.");
    YOLK_TRY_VOID(enter_bounds());
    const NoiseContext when = schedule.noise_time();
    record_begin();
    {
        const ScopedLabel label(*recorder, "generation");
        record_scored(when);
        record_end(when);
    }
    return run_generation();
}

/// Checks what was given, and puts it where record_given() takes it from.
Result<void> DeviceEvolution::give(const ShapedGeneration& shaped, std::span<const float> with_gradient) {
    const std::uint64_t count = options.antithetic ? options.population / 2 : options.population;
    YOLK_TRY_VOID(check_shaped(shaped, count, has_integers()));
    YOLK_TRY_VOID(check_tail(shaped, table().element_count()));
    if (!with_gradient.empty()) YOLK_TRY_VOID(check_gradient(with_gradient, table().element_count()));
    YOLK_TRY_VOID(create_given());
    const auto put = [](const BufferView& to, std::span<const std::byte> bytes) {
        std::memcpy(to.mapped().data(), bytes.data(), bytes.size());
    };
    put(from_host.summary, std::as_bytes(std::span(&shaped.summary, 1)));
    put(from_host.weights, has_integers() ? std::as_bytes(std::span(shaped.integer_weights))
                                          : std::as_bytes(std::span(shaped.float_weights)));
    if (!with_gradient.empty()) put(from_host.gradient, std::as_bytes(with_gradient));
    return given.flush();
}

Result<std::vector<float>> DeviceEvolution::estimate(const ShapedGeneration& shaped) {
    YOLK_TRY_VOID(give(shaped, {}));
    recorder->begin();
    record_given(schedule.noise_time(), false);
    YOLK_TRY_VOID(dispatcher->run(*recorder));
    std::vector<float> result(table().element_count());
    YOLK_TRY_VOID(dispatcher->download(gradient, std::as_writable_bytes(std::span(result))));
    return result;
}

Result<void> DeviceEvolution::upload_state(std::span<const float> parameters, std::span<const float> optimizer_state) {
    YOLK_TRY_VOID(check_finite(parameters));
    YOLK_TRY_VOID(check_finite(optimizer_state));
    YOLK_TRY_VOID(dispatcher->upload(values, std::as_bytes(parameters)));
    if (!optimizer_state.empty()) YOLK_TRY_VOID(dispatcher->upload(state, std::as_bytes(optimizer_state)));
    edited.clear();  // older than these
    return {};
}

Result<void> DeviceEvolution::put_state(std::span<const float> parameters, std::span<const float> optimizer_state) {
    YOLK_TRY_VOID(upload_state(parameters, optimizer_state));
    return refresh();
}

Result<GenerationSummary> DeviceEvolution::adopt(const ShapedGeneration& shaped, std::span<const float> parameters,
                                                 std::span<const float> optimizer_state) {
    YOLK_TRY_VOID(give(shaped, {}));
    YOLK_TRY_VOID(upload_state(parameters, optimizer_state));
    record_begin();
    recorder->copy(from_host.summary, summary);
    recorder->copy(from_host.weights, weights);
    recorder->barrier(Barrier::TransferToTransfer);  // the mirror copies what these wrote
    digest.add(*recorder);
    if (parts.policy_evaluator) parts.policy_evaluator->record(*recorder, schedule.noise_time());
    record_mirror();
    return run_generation();
}

Result<GenerationSummary> DeviceEvolution::apply(const ShapedGeneration& shaped, std::span<const float> with_gradient) {
    YOLK_TRY_VOID(give(shaped, with_gradient));
    YOLK_TRY_VOID(enter_bounds());
    YOLK_TRY_VOID(set_elements(table().element_count() - static_cast<std::uint32_t>(shaped.tail.size()), shaped.tail));
    const NoiseContext when = schedule.noise_time();
    record_begin();
    {
        const ScopedLabel label(*recorder, "given generation");
        record_given(when, !with_gradient.empty());
        record_end(when);
    }
    return run_generation();
}

Result<ShapedGeneration> DeviceEvolution::shaped() const {
    if (!parts.keep_weights)
        return bad_input("This evolution keeps no weights; ask for them in EvolutionParts::keep_weights.");
    if (!has_stepped) return bad_input("There are no weights before the first generation.");
    const std::size_t count = options.antithetic ? options.population / 2 : options.population;
    ShapedGeneration result;
    std::memcpy(&result.summary, mirror.summary.mapped().data(), sizeof(result.summary));
    if (has_integers()) {
        const auto all = values_of<std::int8_t>(mirror.weights).first(count);
        result.integer_weights.assign(all.begin(), all.end());
    } else {
        const auto all = values_of<float>(mirror.weights).first(count);
        result.float_weights.assign(all.begin(), all.end());
    }
    return result;
}

std::span<const float> DeviceEvolution::parameters() const noexcept { return values_of<float>(mirror.parameters); }
std::span<const float> DeviceEvolution::optimizer_state() const noexcept { return values_of<float>(mirror.state); }

Result<std::vector<float>> DeviceEvolution::scores() const {
    if (!parts.evaluator) return bad_input("This evolution has no evaluator, so that no scores came to its device.");
    std::vector<float> all(options.population);
    YOLK_TRY_VOID(dispatcher->download(raw_scores, std::as_writable_bytes(std::span(all))));
    return all;
}

Result<void> DeviceEvolution::set_parameters(std::span<const float> to) {
    if (to.size() != table().element_count()) {
        return bad_input("There are {} values for {} parameter elements; the two must be equal.", to.size(),
                         table().element_count());
    }
    YOLK_TRY_VOID(check_finite(to));
    edited.clear();  // older than these
    YOLK_TRY_VOID(dispatcher->upload(values, std::as_bytes(to)));
    return refresh();
}

Result<void> DeviceEvolution::set_elements(std::uint32_t first, std::span<const float> to) {
    const std::uint64_t elements = table().element_count();
    if (first > elements || to.size() > elements - first) {
        return bad_input("There are {} values from element {} on; the parameters have {} elements.", to.size(), first,
                         elements);
    }
    if (to.empty()) return {};
    YOLK_TRY_VOID(check_finite(to));
    if (edits.size_bytes() == 0) {
        YOLK_TRY(edits,
                 device->create_buffer(
                     {.size_bytes = table().size_bytes(), .domain = MemoryDomain::Upload, .label = "parameter edits"}));
    }
    std::memcpy(edits.mapped().data() + std::size_t{4} * first, to.data(), to.size_bytes());
    edited.push_back({.first = first, .count = static_cast<std::uint32_t>(to.size())});
    return edits.flush();
}

Result<void> DeviceEvolution::refresh() {
    recorder->begin();
    return mirror_state();
}

Result<std::string> DeviceEvolution::state_digest() const {
    if (!parts.digest) return bad_input("This evolution makes no digest; ask for it in EvolutionParts::digest.");
    return evolve::state_digest(values_of<std::uint32_t>(mirror.digest),
                                {.parameters = table().element_count(),
                                 .optimizer_state = static_cast<std::uint32_t>(state_bytes() / 4),
                                 .generations = generations()});
}

}  // namespace yolk::evolve
