// SPDX-License-Identifier: Apache-2.0
#include "device_kfac.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "descent.hpp"
#include "yolk/internal/core/noise.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint32_t kTargetsStream = kMaxParameterId;  // of domain Data

/// In (0, 1).
double uniform_of(std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; }

}  // namespace

Tensor sample_noise(SampleNoise kind, const Shape& shape, std::uint64_t seed, std::uint32_t step) {
    std::vector<float> values(shape.element_count().value_or(0));
    const NoiseStream stream{.seed = seed, .parameter = kTargetsStream, .domain = Domain::Data, .time = step};
    const std::size_t each = kind == SampleNoise::Normal ? kNoiseElementsPerBlock : 4;
    const double unit = 1.0 / std::sqrt(double{kNoiseVariance});
    for (std::size_t i = 0; i < values.size(); ++i) {
        const auto block = static_cast<std::uint32_t>(i / each);
        const double value = kind == SampleNoise::Normal
                                 ? unit * noise_block(stream, block)[i % each]
                                 : -std::log(-std::log(uniform_of(philox_block(stream, block)[i % each])));
        values[i] = static_cast<float>(value);
    }
    return Tensor::create(shape, std::move(values)).value();
}

Result<std::unique_ptr<DeviceKfac>> DeviceKfac::create(Dispatcher& dispatcher, population::Program& program,
                                                       std::span<const Layer> layers, const ParameterTable& table,
                                                       const GradientOptions& options) {
    std::unique_ptr<DeviceKfac> made(new DeviceKfac());
    made->dispatcher_ = &dispatcher;
    made->options_ = options;
    made->layers_.assign(layers.begin(), layers.end());
    const Device& device = dispatcher.device();
    for (const Layer& layer : layers) {
        Own& own = made->own_.emplace_back();
        const std::uint64_t weights = std::uint64_t{layer.of.n_out} * layer.of.n_in;
        YOLK_TRY(own.step, device.create_buffer({.size_bytes = 4 * weights, .label = "step of K-FAC"}));
        if (!layer.data) continue;
        const std::uint64_t inputs = std::uint64_t{layer.of.samples} * layer.of.n_in;
        YOLK_TRY(own.inputs, device.create_buffer({.size_bytes = 4 * inputs, .label = "inputs of a layer"}));
    }
    YOLK_TRY_VOID(made->take_data(layers));
    YOLK_TRY_VOID(made->bind(program, layers, options.kfac->decay));
    YOLK_TRY(made->moves_, device.create_buffer({.size_bytes = table.size_bytes(), .label = "steps of K-FAC"}));
    YOLK_TRY(made->skipped_, device.create_buffer({.size_bytes = sizeof(std::uint32_t), .label = "skipped elements"}));
    const std::vector<float> zeros(table.element_count(), 0.0F);
    YOLK_TRY_VOID(dispatcher.upload(made->moves_, std::as_bytes(std::span(zeros))));
    YOLK_TRY(made->update_, plan_optimizer(device, {.element_count = table.element_count(), .counts_skipped = true}));
    YOLK_TRY(made->recorder_, Recorder::create(device, {.label = "step of K-FAC"}));
    return made;
}

Result<void> DeviceKfac::bind(population::Program& program, std::span<const Layer> layers, float decay) {
    const Device& device = dispatcher_->device();
    evolve::KfacDesc desc{.layers = {}, .decay = decay};
    evolve::KfacViews views;
    YOLK_TRY(const population::ChunkPlan* const chunk, program.chunk_plan(1));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const CurvatureLayer& of = layers[i].of;
        desc.layers.push_back({.label = of.group, .n_out = of.n_out, .n_in = of.n_in, .samples = of.samples});
        YOLK_TRY(const std::optional<BufferView> derivatives, program.kept_output(*chunk, 0, of.derivatives));
        YOLK_TRY(const std::optional<BufferView> gradient, program.kept_output(*chunk, 0, layers[i].gradient));
        YOLK_TRY(const std::optional<BufferView> inputs, program.kept_output(*chunk, 0, of.inputs));
        if (!derivatives || !gradient || (!inputs && !layers[i].data))
            return bad_input("The reward does not depend on what '{}' gives, so K-FAC cannot train it.", of.group);
        views.layers.push_back({.inputs = inputs ? *inputs : BufferView(own_[i].inputs),
                                .derivatives = *derivatives,
                                .gradient = *gradient,
                                .step = own_[i].step});
    }
    YOLK_TRY(const evolve::KfacPlan plan, evolve::KfacPlan::make(device, desc));
    YOLK_TRY(state_, device.create_buffer({.size_bytes = plan.state().size_bytes, .label = "covariances"}));
    YOLK_TRY(statuses_, device.create_buffer({.size_bytes = plan.statuses_bytes(), .label = "statuses of K-FAC"}));
    YOLK_TRY(scratch_, device.create_buffer({.size_bytes = plan.scratch().size_bytes, .label = "scratch of K-FAC"}));
    views.state = state_;
    views.statuses = statuses_;
    YOLK_TRY(kfac_, plan.bind(views, scratch_));
    return {};
}

Result<void> DeviceKfac::take_data(std::span<const Layer> layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (layers[i].data) YOLK_TRY_VOID(dispatcher_->upload(own_[i].inputs, std::as_bytes(layers[i].data->values())));
    }
    return {};
}

Result<std::uint64_t> DeviceKfac::step(const BufferView& parameters, std::uint32_t step) {
    YOLK_TRY(
        const BoundOptimizer update,
        update_.bind({.gradient = moves_, .parameters = parameters, .state = BufferView{}, .skipped = skipped_}, {}));
    GradientOptions scheduled = options_;
    scheduled.learning_rate = options_.kfac->learning_rate;
    recorder_->begin();
    recorder_->barrier(Barrier::TransferToCompute);
    recorder_->barrier(Barrier::ComputeToCompute);
    took_first_ = std::exchange(is_first_, false);
    kfac_.record(*recorder_, {.damping = options_.kfac->damping, .first = took_first_});
    recorder_->barrier(Barrier::ComputeToTransfer);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const std::uint64_t bytes = own_[i].step.size_bytes();
        recorder_->copy(own_[i].step, BufferView(moves_).part(std::uint64_t{4} * layers_[i].first, bytes));
    }
    recorder_->fill(skipped_, 0);
    recorder_->barrier(Barrier::TransferToCompute);
    update.record(*recorder_, learning_rate_at(scheduled, step), step);
    recorder_->barrier(Barrier::ComputeToTransfer);
    YOLK_TRY_VOID(dispatcher_->run(*recorder_));
    YOLK_TRY_VOID(check_statuses());
    std::uint32_t skipped = 0;
    YOLK_TRY_VOID(dispatcher_->download(skipped_, std::as_writable_bytes(std::span(&skipped, 1))));
    return std::uint64_t{skipped};
}

/// A layer without covariances yet may well have none that can be inverted; the next step begins them.
Result<void> DeviceKfac::check_statuses() {
    std::vector<std::byte> statuses(statuses_.size_bytes());
    YOLK_TRY_VOID(dispatcher_->download(statuses_, std::span(statuses)));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const evolve::KfacSkipped skipped = evolve::kfac_skipped(statuses, i);
        const bool lacks_one = took_first_ && (skipped.inputs || skipped.derivatives);
        is_first_ = is_first_ || lacks_one;
        if (const std::uint32_t word = evolve::kfac_status(statuses, i); word != 0 && !lacks_one) {
            return failed_work(
                "A covariance of '{}' has no inverse at a damping of {} (status {:#x}). Raise the damping of K-FAC.",
                layers_[i].of.group, options_.kfac->damping, word);
        }
    }
    return {};
}

}  // namespace yolk::hyper
