// SPDX-License-Identifier: Apache-2.0
#include "06_kfac_device.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "yolk/dispatcher.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/kfac.hpp"
#include "yolk/matmul.hpp"
#include "yolk/noise.hpp"
#include "yolk/reduce.hpp"

namespace kfac_example {
namespace {

using yolk::Barrier;
using yolk::Buffer;
using yolk::BufferView;
using yolk::Determinism;
using yolk::Result;
using yolk::evolve::BoundKfac;
using yolk::evolve::KfacPlan;

constexpr std::uint32_t kOuts = kExamples * kOut;
/// Where the second half of what goes back begins: derivatives of sampled targets, for the Fisher matrix.
constexpr std::uint64_t kSampledBytes = std::uint64_t{4} * kOuts;
/// Of the covariances. The network moves far in its first steps, so that more would keep factors that no longer hold.
constexpr float kDecay = 0.5F;

}  // namespace

struct DeviceKfac::Impl {
    explicit Impl(const yolk::Context& of) : context(of) {}
    yolk::Context context;
    // Buffers first: what is bound to them goes before they do.
    Buffer inputs, minus_targets, hidden, out_derivatives, hidden_derivatives, squares, loss, readback, scratch;
    Buffer state, statuses, kfac_scratch;
    /// A layer and its gradient.
    struct Layer {
        Layer(std::uint32_t rows, std::uint32_t columns) : n_out(rows), n_in(columns) {}
        std::uint32_t n_out, n_in;
        Buffer weights, gradient;
        yolk::BoundMatmul differentiate;
    };
    Layer first{kHidden, kIn1}, second{kOut, kHidden1};
    yolk::BoundNoise sample;
    yolk::BoundMatmul to_hidden, to_out, back;
    yolk::BoundElementwise through, square_out;
    yolk::BoundReduce sum;
    BoundKfac steps;  // of both layers
    std::optional<yolk::Recorder> recorder;

    Result<void> create_buffers();
    Result<void> bind_passes();
    Result<void> bind_gradient(Layer& layer, const BufferView& in, const BufferView& derivatives, std::uint32_t stride);
    Result<void> bind_steps();
    Result<yolk::BoundMatmul> product(const yolk::MatmulDesc& desc, const yolk::MatmulViews& views);
    Result<yolk::BoundElementwise> elementwise(const yolk::ElementwiseDesc& desc, const yolk::ElementwiseViews& views);
    template <class Plan, class Views>
    auto bind(const Plan& plan, const Views& views) -> decltype(plan.bind(views, BufferView{}));
    Result<void> start(const Task& task);
    void record_passes(std::uint32_t step) noexcept;
    void record_update(const Settings& settings, std::uint32_t step) noexcept;
    Result<double> read_loss(std::uint32_t& refused);
};

Result<void> DeviceKfac::Impl::create_buffers() {
    YOLK_TRY(inputs, context.allocate<float>(kExamples * kIn1, "inputs"));
    YOLK_TRY(minus_targets, context.allocate<float>(kOuts, "minus targets"));
    YOLK_TRY(hidden, context.allocate<float>(kExamples * kHidden1, "hidden units"));
    YOLK_TRY(out_derivatives, context.allocate<float>(2 * kOuts, "derivatives by the outputs"));
    YOLK_TRY(hidden_derivatives, context.allocate<float>(2 * kExamples * kHidden1, "derivatives by the hidden units"));
    YOLK_TRY(squares, context.allocate<float>(kOuts, "squared errors"));
    YOLK_TRY(loss, context.allocate<float>(1, "loss"));
    YOLK_TRY(scratch, context.allocate<float>(1U << 16U, "scratch"));
    for (Layer* layer : {&first, &second}) {
        const std::uint64_t weights = std::uint64_t{layer->n_out} * layer->n_in;
        YOLK_TRY(layer->weights, context.allocate<float>(weights, "weights"));
        YOLK_TRY(layer->gradient, context.allocate<float>(weights, "gradient"));
    }
    return {};
}

template <class Plan, class Views>
auto DeviceKfac::Impl::bind(const Plan& plan, const Views& views) -> decltype(plan.bind(views, BufferView{})) {
    const std::uint64_t needed = plan.scratch().size_bytes;
    return plan.bind(views, needed == 0 ? BufferView{} : BufferView(scratch, 0, needed));
}

Result<yolk::BoundMatmul> DeviceKfac::Impl::product(const yolk::MatmulDesc& desc, const yolk::MatmulViews& views) {
    YOLK_TRY(const yolk::MatmulPlan plan, yolk::plan_matmul(context.device(), desc));
    return bind(plan, views);
}

Result<yolk::BoundElementwise> DeviceKfac::Impl::elementwise(const yolk::ElementwiseDesc& desc,
                                                             const yolk::ElementwiseViews& views) {
    YOLK_TRY(const yolk::ElementwisePlan plan, yolk::plan_elementwise(context.device(), desc));
    return bind(plan, views);
}

Result<void> DeviceKfac::Impl::bind_passes() {
    using Operation = yolk::ElementwiseOperation;
    const BufferView errors(out_derivatives, 0, kSampledBytes);
    YOLK_TRY(to_hidden, product({.m = kExamples,
                                 .n = kHidden,
                                 .k = kIn1,
                                 .b = {.transposed = true},
                                 .out = {.stride = kHidden1},  // the unit that is always 1 stays
                                 .activation = yolk::Activation::Tanh,
                                 .determinism = Determinism::Exact},
                                {.a = inputs, .b = first.weights, .out = hidden}));
    YOLK_TRY(to_out, product({.m = kExamples,
                              .n = kOut,
                              .k = kHidden1,
                              .b = {.transposed = true},
                              .has_residual = true,
                              .determinism = Determinism::Exact},
                             {.a = hidden, .b = second.weights, .out = errors, .residual = minus_targets}));
    // The errors and the sampled derivatives take the way back together.
    YOLK_TRY(back, product({.m = 2 * kExamples, .n = kHidden1, .k = kOut, .determinism = Determinism::Exact},
                           {.a = out_derivatives, .b = second.weights, .out = hidden_derivatives}));
    // Both times the slope of tanh, 1 - h^2: zero for the unit that is always 1. Values 0 and 1 are the inputs, of
    // which the second one lacks the first dimension; 2 is the number; 3 and so on are the steps.
    const std::array<BufferView, 2> derivatives_and_units{hidden_derivatives, hidden};
    YOLK_TRY(
        through,
        elementwise(
            {.extents = {2, kExamples, kHidden1},
             .inputs = {0b111, 0b110},
             .numbers = {1.0F},
             .steps = {{Operation::Multiply, {1, 1}}, {Operation::Subtract, {2, 3}}, {Operation::Multiply, {0, 4}}}},
            {.inputs = derivatives_and_units, .out = hidden_derivatives}));
    const std::array<BufferView, 1> all_errors{errors};
    YOLK_TRY(square_out, elementwise({.extents = {kOuts}, .inputs = {1}, .steps = {{Operation::Multiply, {0, 0}}}},
                                     {.inputs = all_errors, .out = squares}));
    YOLK_TRY(const yolk::ReducePlan sum_plan, yolk::plan_reduce(context.device(), {.outer = 1, .columns = kOuts}));
    YOLK_TRY(sum, bind(sum_plan, yolk::ReduceViews{.in = squares, .out = loss}));
    // For squared errors the model's own distribution of targets is a Gaussian of unit variance about its outputs.
    YOLK_TRY(const yolk::NoisePlan noise,
             yolk::plan_noise(context.device(), {.element_count = kOuts, .format = yolk::NoiseFormat::F32}));
    YOLK_TRY(sample, bind(noise, yolk::NoiseViews{.out = {out_derivatives, kSampledBytes, kSampledBytes}}));
    return {};
}

/// `in` [kExamples, n_in] goes into the layer, and the errors come back to it. The gradient is summed over the
/// examples, since the learning rate can take the mean.
Result<void> DeviceKfac::Impl::bind_gradient(Layer& layer, const BufferView& in, const BufferView& derivatives,
                                             std::uint32_t stride) {
    YOLK_TRY(layer.differentiate, product({.m = layer.n_out,
                                           .n = layer.n_in,
                                           .k = kExamples,
                                           .a = {.transposed = true, .stride = stride},
                                           .determinism = Determinism::Exact},
                                          {.a = derivatives, .b = in, .out = layer.gradient}));
    return {};
}

/// The derivatives by sampled targets, for the Fisher matrix, lie behind the errors.
Result<void> DeviceKfac::Impl::bind_steps() {
    YOLK_TRY(
        const KfacPlan plan,
        KfacPlan::make(
            context.device(),
            {.layers =
                 {{.label = "hidden",
                   .n_out = kHidden,
                   .n_in = kIn1,
                   .samples = kExamples,
                   .derivatives_offset = kExamples * kHidden1,
                   .derivatives_stride = kHidden1},
                  {.label = "out", .n_out = kOut, .n_in = kHidden1, .samples = kExamples, .derivatives_offset = kOuts}},
             .decay = kDecay}));
    YOLK_TRY(state, context.allocate<float>(plan.state().size_bytes / 4, "covariances"));
    YOLK_TRY(statuses, context.allocate<float>(plan.statuses_bytes() / 4, "statuses"));
    YOLK_TRY(readback, context.device().create_buffer({.size_bytes = yolk::kViewAlignment + plan.statuses_bytes(),
                                                       .domain = yolk::MemoryDomain::Readback,
                                                       .label = "loss and status"}));
    YOLK_TRY(kfac_scratch, context.allocate<float>(plan.scratch().size_bytes / 4, "scratch of K-FAC"));
    YOLK_TRY(steps, plan.bind({.layers = {{.inputs = inputs,
                                           .derivatives = hidden_derivatives,
                                           .gradient = first.gradient,
                                           .weights = first.weights},
                                          {.inputs = hidden,
                                           .derivatives = out_derivatives,
                                           .gradient = second.gradient,
                                           .weights = second.weights}},
                               .state = state,
                               .statuses = statuses},
                              kfac_scratch));
    return {};
}

Result<void> DeviceKfac::Impl::start(const Task& task) {
    Matrix negated = task.targets;
    for (float& value : negated) value = -value;
    YOLK_TRY_VOID(context.upload(inputs, task.inputs));
    YOLK_TRY_VOID(context.upload(minus_targets, negated));
    YOLK_TRY_VOID(context.upload(hidden, Matrix(std::size_t{kExamples} * kHidden1, 1.0F)));
    YOLK_TRY_VOID(context.upload(first.weights, task.start.w1));
    return context.upload(second.weights, task.start.w2);
}

void DeviceKfac::Impl::record_passes(std::uint32_t step) noexcept {
    recorder->begin();
    recorder->barrier(Barrier::ComputeToCompute);
    recorder->barrier(Barrier::TransferToCompute);
    sample.record(*recorder, {.seed = 1, .domain = yolk::Domain::Data, .time = step});
    to_hidden.record(*recorder);
    recorder->barrier(Barrier::ComputeToCompute);
    to_out.record(*recorder);
    recorder->barrier(Barrier::ComputeToCompute);
    back.record(*recorder);
    square_out.record(*recorder);
    recorder->barrier(Barrier::ComputeToCompute);
    through.record(*recorder);
    sum.record(*recorder);
    recorder->barrier(Barrier::ComputeToCompute);
    first.differentiate.record(*recorder);
    second.differentiate.record(*recorder);
}

void DeviceKfac::Impl::record_update(const Settings& settings, std::uint32_t step) noexcept {
    recorder->barrier(Barrier::ComputeToCompute);
    steps.record(*recorder, {.learning_rate = static_cast<float>(-settings.learning_rate / kExamples),
                             .damping = static_cast<float>(settings.second),
                             .first = step == 0});
    recorder->barrier(Barrier::ComputeToTransfer);
    recorder->copy(loss, {readback, 0, 4});
    recorder->copy(statuses, {readback, yolk::kViewAlignment, readback.size_bytes() - yolk::kViewAlignment});
    recorder->barrier(Barrier::ToHost);
}

Result<double> DeviceKfac::Impl::read_loss(std::uint32_t& refused) {
    YOLK_TRY_VOID(readback.invalidate());
    float squared = 0.0F;
    std::memcpy(&squared, readback.mapped().data(), sizeof(squared));
    const auto words = readback.mapped().subspan(yolk::kViewAlignment);
    for (const std::size_t layer : {std::size_t{0}, std::size_t{1}})
        refused += yolk::evolve::kfac_status(words, layer) == 0 ? 0U : 1U;
    return 0.5 * double{squared} / kExamples;
}

Result<DeviceKfac> DeviceKfac::create(const yolk::Context& context) {
    auto impl = std::make_unique<Impl>(context);
    YOLK_TRY_VOID(impl->create_buffers());
    YOLK_TRY_VOID(impl->bind_passes());
    YOLK_TRY_VOID(impl->bind_gradient(impl->first, impl->inputs, impl->hidden_derivatives, kHidden1));
    YOLK_TRY_VOID(impl->bind_gradient(impl->second, impl->hidden, impl->out_derivatives, kOut));
    YOLK_TRY_VOID(impl->bind_steps());
    YOLK_TRY(impl->recorder, yolk::Recorder::create(context.device(), {.label = "K-FAC"}));
    return DeviceKfac(std::move(impl));
}

Result<KfacRun> DeviceKfac::run(const Task& task, const Settings& settings, std::uint32_t most) {
    YOLK_TRY_VOID(impl_->start(task));
    KfacRun run{.steps = most};
    const auto began = std::chrono::steady_clock::now();
    const std::uint64_t before = impl_->context.device().counts().dispatches;
    for (std::uint32_t step = 0; step < most; ++step) {
        impl_->record_passes(step);
        impl_->record_update(settings, step);
        YOLK_TRY_VOID(impl_->context.dispatcher().run(*impl_->recorder));
        YOLK_TRY(const double loss, impl_->read_loss(run.refused));
        // The loss is that of the weights before the update, so `step` updates led to it.
        if (loss < kTargetLoss) run.steps = step;
        if (loss < kTargetLoss || !std::isfinite(loss)) break;
    }
    run.dispatches = impl_->context.device().counts().dispatches - before;
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    return run;
}

Result<Network> DeviceKfac::gradient(const Task& task) {
    YOLK_TRY_VOID(impl_->start(task));
    impl_->record_passes(0);
    YOLK_TRY_VOID(impl_->context.dispatcher().run(*impl_->recorder));
    Network gradient;
    YOLK_TRY(gradient.w1, impl_->context.download<float>(impl_->first.gradient));
    YOLK_TRY(gradient.w2, impl_->context.download<float>(impl_->second.gradient));
    for (Matrix* layer : {&gradient.w1, &gradient.w2}) {
        for (float& value : *layer) value /= kExamples;
    }
    return gradient;
}

DeviceKfac::DeviceKfac(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceKfac::~DeviceKfac() = default;
DeviceKfac::DeviceKfac(DeviceKfac&&) noexcept = default;
DeviceKfac& DeviceKfac::operator=(DeviceKfac&&) noexcept = default;

}  // namespace kfac_example
