// SPDX-License-Identifier: Apache-2.0
#include "yolk/natural_gradient_step.hpp"

#include <cmath>

#include "staged_call.hpp"
#include "step_checks.hpp"
#include "yolk/internal/core/memory.hpp"
#include "yolk/natural_gradient.hpp"

namespace yolk::autotune {
namespace {

constexpr const char* kNaturalGradientCall = "natural_gradient_step";
constexpr const char* kNaturalGradientHostCall = "natural_gradient_step_on_host";

template <class Real>
Result<StepSizes> check_input(const NaturalGradientStepInput<Real>& input, const char* call) {
    YOLK_TRY(const StepSizes sizes, step_sizes(input.count, input.n, sizeof(Real), call));
    YOLK_TRY_VOID(check_length(input.gradient.size(), sizes.vectors, call, "gradient"));
    if (!input.preconditioner.empty())
        YOLK_TRY_VOID(check_length(input.preconditioner.size(), sizes.matrices, call, "preconditioner"));
    if (!std::isfinite(input.learning_rate)) {
        return bad_input("The learning rate of [{}] is {}; it must be finite.", call, input.learning_rate);
    }
    return sizes;
}

template <class Real>
Result<void> check_arguments(const NaturalGradientStepInput<Real>& input, const NaturalGradientStepOutput<Real>& output,
                             const char* call) {
    YOLK_TRY(const StepSizes sizes, check_input(input, call));
    YOLK_TRY_VOID(check_length(output.step.size(), sizes.vectors, call, "output step"));
    if (!output.preconditioned.empty())
        YOLK_TRY_VOID(check_length(output.preconditioned.size(), sizes.vectors, call, "output preconditioned"));
    return {};
}

/// The input is checked before memory is made by its sizes: they may be absurd.
template <class Real>
Result<NaturalGradientStepResult<Real>> result_for(const NaturalGradientStepInput<Real>& input, const char* call) {
    YOLK_TRY(const StepSizes sizes, check_input(input, call));
    NaturalGradientStepResult<Real> result;
    YOLK_TRY(result.step, allocate<Real>(sizes.vectors, "the step of natural_gradient_step"));
    YOLK_TRY(result.preconditioned, allocate<Real>(sizes.vectors, "the preconditioned gradient"));
    return result;
}

}  // namespace

Result<StepCounts> natural_gradient_step(Dispatcher& dispatcher, const NaturalGradientStepInput<float>& input,
                                         NaturalGradientStepScratch& scratch,
                                         const NaturalGradientStepOutput<float>& output) {
    YOLK_TRY_VOID(check_arguments(input, output, kNaturalGradientCall));
    const bool identity = input.preconditioner.empty();
    const std::uint64_t vector_bytes = input.gradient.size_bytes();
    const StagedRequest request{.label = kNaturalGradientCall,
                                .shape = {input.count, input.n, identity ? 1U : 0U},
                                .rate = input.learning_rate,
                                .inputs = {std::as_bytes(input.gradient), std::as_bytes(input.preconditioner)},
                                .outputs = {{{std::as_writable_bytes(output.step), vector_bytes},
                                             {std::as_writable_bytes(output.preconditioned), vector_bytes}}}};
    StagedCall& call = scratch.call();
    const auto bind = [&](const Device& device) -> Result<BoundNaturalGradient> {
        YOLK_TRY(const auto plan,
                 plan_natural_gradient(
                     device, {.n = input.n, .blocks = input.count, .identity = identity, .has_preconditioned = true}));
        YOLK_TRY(const BufferView room, call.reserve(device, request, plan.scratch()));
        return plan.bind({.preconditioner = call.input(1),
                          .gradient = call.input(0),
                          .step = call.output(0),
                          .preconditioned = call.output(1)},
                         room);
    };
    return call.run(dispatcher, request, bind,
                    [](const auto& bound, Recorder& recorder, float rate) { bound.record(recorder, rate); });
}

Result<NaturalGradientStepResult<float>> natural_gradient_step(Dispatcher& dispatcher,
                                                               const NaturalGradientStepInput<float>& input) {
    YOLK_TRY(NaturalGradientStepResult<float> result, result_for(input, kNaturalGradientCall));
    NaturalGradientStepScratch scratch;
    YOLK_TRY(result.counts, natural_gradient_step(dispatcher, input, scratch,
                                                  {.step = result.step, .preconditioned = result.preconditioned}));
    return result;
}

Result<void> natural_gradient_step_on_host(const NaturalGradientStepInput<double>& input,
                                           NaturalGradientStepHostScratch& scratch,
                                           const NaturalGradientStepOutput<double>& output) {
    YOLK_TRY_VOID(check_arguments(input, output, kNaturalGradientHostCall));
    const std::size_t n = input.n;
    if (scratch.work.size() < n) scratch.work.resize(n);
    for (std::size_t first = 0; first < input.gradient.size(); first += n) {
        for (std::size_t i = 0; i < n; ++i) {
            double sum = input.preconditioner.empty() ? input.gradient[first + i] : 0.0;
            for (std::size_t j = 0; j < n && !input.preconditioner.empty(); ++j)
                sum += input.preconditioner[(first + i) * n + j] * input.gradient[first + j];
            scratch.work[i] = sum;
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (!output.preconditioned.empty()) output.preconditioned[first + i] = scratch.work[i];
            output.step[first + i] = input.learning_rate == 0.0 ? 0.0 : -input.learning_rate * scratch.work[i];
        }
    }
    return {};
}

Result<NaturalGradientStepResult<double>> natural_gradient_step_on_host(const NaturalGradientStepInput<double>& input) {
    YOLK_TRY(NaturalGradientStepResult<double> result, result_for(input, kNaturalGradientHostCall));
    NaturalGradientStepHostScratch scratch;
    YOLK_TRY_VOID(
        natural_gradient_step_on_host(input, scratch, {.step = result.step, .preconditioned = result.preconditioned}));
    return result;
}

}  // namespace yolk::autotune
