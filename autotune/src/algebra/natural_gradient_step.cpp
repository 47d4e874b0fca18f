// SPDX-License-Identifier: Apache-2.0
#include "yolk/autotune/natural_gradient_step.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>

#include "staged_work.hpp"
#include "step_checks.hpp"
#include "yolk/core/memory.hpp"
#include "yolk/primitives/natural_gradient.hpp"

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
        return bad_input(fmt::format("The learning rate of [{}] is {}; it must be finite.", call, input.learning_rate));
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

}  // namespace

struct NaturalGradientStepScratch::Impl {
    /// What the plan of a scratch was made for.
    struct Shape {
        std::uint32_t count = 0;
        std::uint32_t n = 0;
        bool identity = false;
        friend bool operator==(const Shape&, const Shape&) = default;
    };

    StagedWork work;  // before what is bound to its buffers
    BoundNaturalGradient bound;
    std::optional<Shape> shape;
    std::array<StagedArray, 4> arrays;  ///< gradient, preconditioner; step, preconditioned
    StepCounts counts;

    Result<void> prepare(const Device& device, const Shape& wanted);
};

Result<void> NaturalGradientStepScratch::Impl::prepare(const Device& device, const Shape& wanted) {
    shape.reset();
    bound = {};
    YOLK_TRY(
        const NaturalGradientPlan plan,
        plan_natural_gradient(
            device, {.n = wanted.n, .blocks = wanted.count, .identity = wanted.identity, .has_preconditioned = true}));
    const std::uint64_t vectors = sizeof(float) * std::uint64_t{wanted.count} * wanted.n;
    const std::uint64_t matrices = wanted.identity ? 0 : vectors * wanted.n;
    YOLK_TRY_VOID(work.reserve(device, kNaturalGradientCall, {vectors, matrices}, {vectors, vectors}, arrays));
    YOLK_TRY(const BufferView scratch, work.reserve_scratch(device, kNaturalGradientCall, plan.scratch()));
    YOLK_TRY(bound, plan.bind({.preconditioner = work.input(arrays[1]),
                               .gradient = work.input(arrays[0]),
                               .step = work.output(arrays[2]),
                               .preconditioned = work.output(arrays[3])},
                              scratch));
    shape = wanted;
    ++counts.plans;
    return {};
}

NaturalGradientStepScratch::NaturalGradientStepScratch() : impl_(std::make_unique<Impl>()) {}
NaturalGradientStepScratch::~NaturalGradientStepScratch() = default;
NaturalGradientStepScratch::NaturalGradientStepScratch(NaturalGradientStepScratch&&) noexcept = default;
NaturalGradientStepScratch& NaturalGradientStepScratch::operator=(NaturalGradientStepScratch&&) noexcept = default;
StepCounts NaturalGradientStepScratch::counts() const noexcept { return impl_ ? impl_->counts : StepCounts{}; }
StepFootprint NaturalGradientStepScratch::footprint() const noexcept {
    return impl_ ? impl_->work.footprint() : StepFootprint{};
}

Result<StepCounts> natural_gradient_step_with_scratch_into(Dispatcher& dispatcher,
                                                           const NaturalGradientStepInput<float>& input,
                                                           NaturalGradientStepScratch& scratch,
                                                           const NaturalGradientStepOutput<float>& output) {
    YOLK_TRY_VOID(check_arguments(input, output, kNaturalGradientCall));
    NaturalGradientStepScratch::Impl& own = scratch.impl();
    const NaturalGradientStepScratch::Impl::Shape wanted{input.count, input.n, input.preconditioner.empty()};
    const std::uint64_t plans_before = own.counts.plans;
    if (own.shape != wanted || !own.work.on(dispatcher.device()))
        YOLK_TRY_VOID(own.prepare(dispatcher.device(), wanted));
    own.work.write(own.arrays[0], std::as_bytes(input.gradient));
    own.work.write(own.arrays[1], std::as_bytes(input.preconditioner));
    // Anew for each call, since the learning rate is part of the recording.
    own.bound.record(own.work.begin_recording(), input.learning_rate);
    own.work.finish_recording();
    YOLK_TRY(StepCounts done, own.work.run(dispatcher));
    own.work.read(own.arrays[2], std::as_writable_bytes(output.step));
    own.work.read(own.arrays[3], std::as_writable_bytes(output.preconditioned));
    done.plans = own.counts.plans - plans_before;
    own.counts.calls += done.calls;
    own.counts.submissions += done.submissions;
    own.counts.dispatches += done.dispatches;
    return done;
}

Result<StepCounts> natural_gradient_step_into(Dispatcher& dispatcher, const NaturalGradientStepInput<float>& input,
                                              const NaturalGradientStepOutput<float>& output) {
    NaturalGradientStepScratch scratch;
    return natural_gradient_step_with_scratch_into(dispatcher, input, scratch, output);
}

Result<NaturalGradientStepResult<float>> natural_gradient_step(Dispatcher& dispatcher,
                                                               const NaturalGradientStepInput<float>& input) {
    YOLK_TRY(const StepSizes sizes, check_input(input, kNaturalGradientCall));
    NaturalGradientStepResult<float> result;
    YOLK_TRY(result.step, allocate<float>(sizes.vectors, "the step of natural_gradient_step"));
    YOLK_TRY(result.preconditioned, allocate<float>(sizes.vectors, "the preconditioned gradient"));
    YOLK_TRY(result.counts, natural_gradient_step_into(dispatcher, input,
                                                       {.step = result.step, .preconditioned = result.preconditioned}));
    return result;
}

Result<void> natural_gradient_step_on_host_with_scratch_into(const NaturalGradientStepInput<double>& input,
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

Result<void> natural_gradient_step_on_host_into(const NaturalGradientStepInput<double>& input,
                                                const NaturalGradientStepOutput<double>& output) {
    NaturalGradientStepHostScratch scratch;
    return natural_gradient_step_on_host_with_scratch_into(input, scratch, output);
}

Result<NaturalGradientStepResult<double>> natural_gradient_step_on_host(const NaturalGradientStepInput<double>& input) {
    YOLK_TRY(const StepSizes sizes, check_input(input, kNaturalGradientHostCall));
    NaturalGradientStepResult<double> result;
    YOLK_TRY(result.step, allocate<double>(sizes.vectors, "the step of natural_gradient_step"));
    YOLK_TRY(result.preconditioned, allocate<double>(sizes.vectors, "the preconditioned gradient"));
    YOLK_TRY_VOID(
        natural_gradient_step_on_host_into(input, {.step = result.step, .preconditioned = result.preconditioned}));
    return result;
}

}  // namespace yolk::autotune
