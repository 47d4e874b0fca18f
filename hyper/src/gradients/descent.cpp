// SPDX-License-Identifier: Apache-2.0
#include "descent.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "yolk/internal/evolve/options.hpp"

namespace yolk::hyper {

float learning_rate_at(const GradientOptions& options, std::uint32_t step) {
    const float decayed = evolve::decayed(options.learning_rate, options.learning_rate_decay, step);
    if (step >= options.warm_up) return decayed;
    return decayed * (static_cast<float>(step + 1) / static_cast<float>(options.warm_up));
}

Result<Descent> Descent::create(Dispatcher& dispatcher, const GradientOptions& options, const BufferView& parameters,
                                const BufferView& gradient, std::span<const float> state) {
    Descent made;
    made.dispatcher_ = &dispatcher;
    made.options_ = options;
    const Device& device = dispatcher.device();
    const auto count = static_cast<std::uint32_t>(gradient.size_bytes / sizeof(float));
    if (const std::uint64_t arrays = optimizer_state_arrays(options.rule); arrays > 0) {
        YOLK_TRY(made.state_,
                 device.create_buffer({.size_bytes = arrays * gradient.size_bytes, .label = "moments of derivatives"}));
        std::vector<float> first(state.begin(), state.end());
        first.resize(arrays * count, 0.0F);
        YOLK_TRY_VOID(dispatcher.upload(made.state_, std::as_bytes(std::span(first))));
    }
    YOLK_TRY(const OptimizerPlan plan, plan_optimizer(device, {.rule = options.rule,
                                                               .element_count = count,
                                                               .beta1 = options.beta1,
                                                               .beta2 = options.beta2,
                                                               .epsilon = options.epsilon,
                                                               .counts_skipped = true}));
    constexpr std::uint64_t kWord = sizeof(std::uint32_t);
    YOLK_TRY(made.skipped_, device.create_buffer({.size_bytes = kWord, .label = "skipped elements"}));
    YOLK_TRY(made.skipped_on_host_,
             device.create_buffer(
                 {.size_bytes = kWord, .domain = MemoryDomain::Readback, .label = "skipped elements on the host"}));
    constexpr std::uint32_t kNone = 0;
    YOLK_TRY_VOID(dispatcher.upload(made.skipped_, std::as_bytes(std::span(&kNone, 1))));
    const BufferView moments = optimizer_state_arrays(options.rule) > 0 ? BufferView(made.state_) : BufferView{};
    YOLK_TRY(
        made.update_,
        plan.bind({.gradient = gradient, .parameters = parameters, .state = moments, .skipped = made.skipped_}, {}));
    YOLK_TRY(made.recorder_, Recorder::create(device, {.label = "step along derivatives"}));
    return made;
}

Descent::~Descent() { (void)settle().has_value(); }

Result<void> Descent::settle() const { return submission_ ? dispatcher_->wait(*submission_) : Result<void>(); }

Result<void> Descent::step(std::uint32_t step) {
    YOLK_TRY_VOID(settle());  // the recorder is free
    recorder_->begin();
    recorder_->barrier(Barrier::TransferToCompute);
    recorder_->barrier(Barrier::ComputeToCompute);
    update_.record(*recorder_, learning_rate_at(options_, step), step);
    recorder_->barrier(Barrier::ComputeToTransfer);
    recorder_->copy(skipped_, skipped_on_host_);
    recorder_->barrier(Barrier::ToHost);
    YOLK_TRY(submission_, dispatcher_->submit(*recorder_));
    return {};
}

Result<std::uint64_t> Descent::take_skipped() {
    if (!submission_) return std::uint64_t{0};
    YOLK_TRY_VOID(settle());
    YOLK_TRY_VOID(skipped_on_host_.invalidate());
    std::uint32_t now = 0;
    std::memcpy(&now, BufferView(skipped_on_host_).mapped().data(), sizeof(now));
    return std::uint64_t{now - std::exchange(skipped_before_, now)};
}

Result<std::vector<float>> Descent::state() const {
    YOLK_TRY_VOID(settle());
    std::vector<float> values(state_.size_bytes() / sizeof(float));
    if (!values.empty()) YOLK_TRY_VOID(dispatcher_->download(state_, std::as_writable_bytes(std::span(values))));
    return values;
}

}  // namespace yolk::hyper
