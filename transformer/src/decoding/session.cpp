// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <utility>

#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/core/shape.hpp"

namespace yolk::transformer {
namespace {

constexpr std::uint32_t kMostTogether = 1U << 16U;

}  // namespace

Result<DecoderSession::Step*> DecoderSession::step_of(std::uint32_t tokens) {
    std::unique_ptr<Step>& step = steps_[tokens];
    if (step != nullptr) return step.get();
    auto made = std::make_unique<Step>(Step{.parameters = parameters_});
    YOLK_TRY_VOID(add_step_groups(made->parameters, graph_.config(), tokens, places_));
    YOLK_TRY(hyper::TracedExample traced, trace_step(graph_, made->parameters, tokens, places_));
    made->traced.push_back(std::move(traced));
    YOLK_TRY(Dispatcher* const dispatcher, devices_.dispatcher());
    // A step reads all weights, so that as many members as fit into memory share that, whatever the caches hold.
    YOLK_TRY(made->evaluator,
             hyper::PopulationEvaluator::create(
                 {.devices = *dispatcher}, made->traced, made->parameters,
                 {.max_batch_size = kMostTogether, .determinism = determinism_, .plain_outputs = true}));
    step = std::move(made);
    return step.get();
}

Result<void> DecoderSession::begin(const hyper::Perturbations& around) {
    around_ = &around;
    YOLK_TRY(Dispatcher* const dispatcher, devices_.dispatcher());
    if (around.members > most_members_) {
        steps_.clear();
        const std::uint64_t bytes = state_bytes(around.members) * 2 * graph_.config().layers;
        state_ = {};
        most_members_ = 0;
        YOLK_TRY(state_, dispatcher->device().create_buffer({.size_bytes = bytes, .label = "keys and values"}));
        most_members_ = around.members;
    }
    // Places that were never written are hidden, and yet a NaN there would count: 0 times NaN is NaN.
    return dispatcher->upload(state_, std::vector<std::byte>(state_.size_bytes()));
}

std::uint64_t DecoderSession::state_bytes(std::uint32_t members) const {
    const DecoderConfig& config = graph_.config();
    const std::uint64_t each = std::uint64_t{config.key_heads} * places_ * config.head_width;
    return round_up(sizeof(float) * each * members, kViewAlignment);
}

Result<std::vector<float>> DecoderSession::read(std::span<const std::uint32_t> ids, std::uint32_t each,
                                                std::span<const std::uint32_t> starts) {
    YOLK_TRY(Step* const step, step_of(each));
    hyper::OwnValues own{
        .given = {{.group = StepGroups::kIds, .values = {}}, {.group = StepGroups::kStart, .values = {}}}};
    for (std::size_t m = 0; m < around_->members; ++m) {
        const auto mine = ids.subspan(m * each, each);
        own.given[0].values.push_back(hyper::Tensor::vector(std::vector<float>(mine.begin(), mine.end())));
        own.given[1].values.push_back(hyper::Tensor::vector({static_cast<float>(starts[m])}));
    }
    const DecoderConfig& config = graph_.config();
    const std::uint64_t elements = std::uint64_t{config.key_heads} * places_ * config.head_width;
    const std::uint64_t bytes = sizeof(float) * elements * around_->members;
    for (std::uint32_t i = 0; i < 2 * config.layers; ++i)
        own.carried.push_back(
            {.group = StepGroups::remembered(i), .values = BufferView(state_, state_bytes(most_members_) * i, bytes)});
    YOLK_TRY(hyper::PopulationOutputs outputs, step->evaluator->evaluate(*around_, own));
    if (outputs.plain.empty()) return failed_work("The decoder did not run on the device.");
    return std::move(outputs.plain.elements);
}

}  // namespace yolk::transformer
