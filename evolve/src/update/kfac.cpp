// SPDX-License-Identifier: Apache-2.0
#include "yolk/kfac.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "yolk/concat.hpp"
#include "yolk/covariance.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/kronecker_precondition.hpp"
#include "yolk/optimizer.hpp"
#include "yolk/rearrange.hpp"

namespace yolk::evolve {
namespace kfac_parts {

/// Where the parts of scratch begin, in bytes; empty parts take no room.
struct LayerScratch {
    std::uint64_t inputs = 0, gradient = 0, joined_step = 0, step = 0, bias_step = 0, of_plans = 0, end = 0;
};

/// A layer's plans. With `bias` the inputs get a column of ones, the gradients are joined, and the step is split.
struct LayerPlans {
    KfacLayer layer;
    std::uint32_t columns = 0;  ///< n_in, one more with `bias`
    std::optional<RearrangePlan> add_ones;
    std::optional<ConcatPlan> join, split;
    CovariancePlan average_in, average_out;
    KroneckerPreconditionPlan precondition;
    OptimizerPlan update;
    std::optional<OptimizerPlan> update_bias;
    LayerScratch scratch;
    std::uint64_t state_in = 0, state_out = 0;  ///< where in the state, in bytes
};

/// What a layer records, in this order, with barriers between.
struct BoundLayer {
    std::optional<BoundRearrange> add_ones;
    std::optional<BoundConcat> join, split;
    BoundCovariance average_in, average_out;
    BoundKroneckerPrecondition precondition;
    std::optional<BoundOptimizer> update, update_bias;
};

}  // namespace kfac_parts

namespace {

using kfac_parts::BoundLayer;
using kfac_parts::LayerPlans;
using kfac_parts::LayerScratch;

constexpr std::uint32_t kMostOfALayer = 1024;

/// A layer's words in the statuses, each at a multiple of kViewAlignment.
enum class StatusWord : std::uint32_t { Preconditioned, InputsLeftOut, DerivativesLeftOut, ElementsSkipped };
constexpr std::size_t kStatusWords = 4;
std::uint64_t status_offset(std::size_t layer, StatusWord word) {
    return kViewAlignment * (kStatusWords * layer + static_cast<std::size_t>(word));
}
std::uint32_t status_word(std::span<const std::byte> statuses, std::size_t layer, StatusWord word) {
    std::uint32_t value = 0;
    std::memcpy(&value, statuses.subspan(status_offset(layer, word), sizeof(value)).data(), sizeof(value));
    return value;
}

std::uint64_t aligned_floats(std::uint64_t count) { return round_up(4 * count, kViewAlignment); }

std::string work_on(const char* what, const KfacLayer& layer, std::size_t index) {
    return layer.label.empty() ? fmt::format("{} K-FAC of layer {}", what, index)
                               : fmt::format("{} K-FAC of layer '{}'", what, layer.label);
}

Result<void> check_kfac_layer(const KfacLayer& layer) {
    const std::uint32_t most_in = layer.bias ? kMostOfALayer - 1 : kMostOfALayer;
    if (layer.n_out == 0 || layer.n_out > kMostOfALayer || layer.n_in == 0 || layer.n_in > most_in) {
        return bad_input(
            "The layer has {} outputs and {} inputs{}; it may have 1 to {} outputs and 1 to {} inputs. Train larger "
            "layers with another optimizer.",
            layer.n_out, layer.n_in, layer.bias ? " and a bias apart" : "", kMostOfALayer, most_in);
    }
    if (layer.samples == 0) return bad_input("There are 0 samples; covariances need at least 1.");
    if (layer.inputs_stride != 0 && layer.inputs_stride < layer.n_in) {
        return bad_input("The inputs' stride is {}; it must be at least their {} columns, or 0 for that.",
                         layer.inputs_stride, layer.n_in);
    }
    return {};
}

/// [samples, n_in] to [samples, n_in + 1], the last column filled with 1.
RearrangeDesc with_ones(const KfacLayer& layer) {
    const std::uint32_t stride = layer.inputs_stride == 0 ? layer.n_in : layer.inputs_stride;
    const auto offset = static_cast<std::int32_t>(layer.inputs_offset);
    return {.dimensions = {{.extent = 1, .source_extent = layer.inputs_offset + 1, .start = offset, .stride = 1},
                           {.extent = layer.samples, .source_extent = layer.samples, .stride = stride},
                           {.extent = layer.n_in + 1, .source_extent = layer.n_in}},
            .source_elements = layer.inputs_offset + (layer.samples - 1) * stride + layer.n_in,
            .fill = 1.0F};
}

Result<void> plan_bias(const Device& device, LayerPlans& plans) {
    const KfacLayer& layer = plans.layer;
    if (!layer.bias) return {};
    const ConcatDesc parts{.outer = layer.n_out, .parts = {{.extent = layer.n_in}, {.extent = 1}}};
    YOLK_TRY(plans.add_ones, plan_rearrange(device, with_ones(layer)));
    YOLK_TRY(plans.join, plan_concat(device, parts));
    YOLK_TRY(plans.split, plan_split(device, parts));
    YOLK_TRY(plans.update_bias, plan_optimizer(device, {.element_count = layer.n_out, .counts_skipped = true}));
    return {};
}

LayerScratch lay_out(const LayerPlans& plans) {
    const KfacLayer& layer = plans.layer;
    std::uint64_t end = 0;
    const auto place = [&end](std::uint64_t floats) { return std::exchange(end, end + aligned_floats(floats)); };
    LayerScratch scratch;
    const std::uint64_t joined = layer.bias ? std::uint64_t{layer.n_out} * plans.columns : 0;
    scratch.inputs = place(layer.bias ? std::uint64_t{layer.samples} * plans.columns : 0);
    scratch.gradient = place(joined);
    scratch.joined_step = place(joined);
    scratch.step = place(std::uint64_t{layer.n_out} * layer.n_in);
    scratch.bias_step = place(layer.bias ? layer.n_out : 0);
    scratch.of_plans = end;
    scratch.end = end + std::max({plans.average_in.scratch().size_bytes, plans.average_out.scratch().size_bytes,
                                  plans.precondition.scratch().size_bytes});
    return scratch;
}

Result<LayerPlans> plan_layer(const Device& device, const KfacLayer& layer, float decay) {
    YOLK_TRY_VOID(check_kfac_layer(layer));
    LayerPlans plans;
    plans.layer = layer;
    plans.columns = layer.n_in + (layer.bias ? 1 : 0);
    YOLK_TRY_VOID(plan_bias(device, plans));
    CovarianceDesc in{
        .n = plans.columns, .samples = layer.samples, .average = true, .decay = decay, .reports_left_out = true};
    if (!layer.bias) in.offset = layer.inputs_offset;
    if (!layer.bias && layer.inputs_stride != 0) in.stride = layer.inputs_stride;
    YOLK_TRY(plans.average_in, plan_covariance(device, in));
    CovarianceDesc out = in;
    out.n = layer.n_out;
    out.offset = layer.derivatives_offset;
    out.stride = layer.derivatives_stride != 0 ? layer.derivatives_stride : kDense;
    YOLK_TRY(plans.average_out, plan_covariance(device, out));
    YOLK_TRY(plans.precondition, plan_kronecker_precondition(device, {.n_out = layer.n_out, .n_in = plans.columns}));
    YOLK_TRY(plans.update, plan_optimizer(device, {.element_count = layer.n_out * layer.n_in, .counts_skipped = true}));
    plans.scratch = lay_out(plans);
    return plans;
}

BufferView floats_at(const BufferView& scratch, std::uint64_t offset, std::uint64_t count) {
    return scratch.part(offset, 4 * count);
}

template <class Desc, class Views>
Result<Bound<Desc>> bind_plan(const Plan<Desc>& plan, const Views& views, const BufferView& scratch) {
    const std::uint64_t bytes = plan.scratch().size_bytes;
    return plan.bind(views, bytes == 0 ? BufferView{} : scratch.part(0, bytes));
}

Result<void> check_bias_views(const KfacLayer& layer, const KfacLayerViews& views) {
    if (layer.bias == !views.bias_gradient.empty() && (layer.bias || (views.bias.empty() && views.bias_step.empty())) &&
        (!layer.bias || (views.weights.empty() == views.bias.empty() && views.step.empty() == views.bias_step.empty())))
        return {};
    return bad_input(
        "The views of the bias do not go with the layer, which has {}: give bias_gradient where it has a bias, bias "
        "where there are weights as well, bias_step where there is a step; else leave them empty.",
        layer.bias ? "a bias apart" : "no bias apart");
}

/// The step's places: the caller's, or scratch.
struct StepViews {
    BufferView whole, weights, bias;
};
StepViews step_views(const LayerPlans& plans, const KfacLayerViews& views, const BufferView& scratch) {
    const KfacLayer& layer = plans.layer;
    StepViews steps;
    steps.weights = views.step.empty() ? floats_at(scratch, plans.scratch.step, std::uint64_t{layer.n_out} * layer.n_in)
                                       : views.step;
    steps.whole = steps.weights;
    if (!layer.bias) return steps;
    steps.whole = floats_at(scratch, plans.scratch.joined_step, std::uint64_t{layer.n_out} * plans.columns);
    steps.bias = views.bias_step.empty() ? floats_at(scratch, plans.scratch.bias_step, layer.n_out) : views.bias_step;
    return steps;
}

struct SharedViews {
    BufferView state, statuses, scratch;
    std::size_t layer = 0;

    [[nodiscard]] BufferView status(StatusWord word) const { return statuses.part(status_offset(layer, word), 4); }
};

Result<void> bind_bias(const LayerPlans& plans, const KfacLayerViews& views, const SharedViews& shared,
                       const StepViews& steps, BoundLayer& bound) {
    const BufferView& scratch = shared.scratch;
    const KfacLayer& layer = plans.layer;
    const BufferView inputs = floats_at(scratch, plans.scratch.inputs, std::uint64_t{layer.samples} * plans.columns);
    const BufferView gradient = floats_at(scratch, plans.scratch.gradient, std::uint64_t{layer.n_out} * plans.columns);
    YOLK_TRY(bound.add_ones, plans.add_ones->bind({.source = views.inputs, .out = inputs}));
    YOLK_TRY(bound.join,
             plans.join->bind({.whole = gradient, .parts = std::vector{views.gradient, views.bias_gradient}}));
    YOLK_TRY(bound.split, plans.split->bind({.whole = steps.whole, .parts = std::vector{steps.weights, steps.bias}}));
    if (views.bias.empty()) return {};
    YOLK_TRY(bound.update_bias, plans.update_bias->bind({.gradient = steps.bias,
                                                         .parameters = views.bias,
                                                         .state = {},
                                                         .skipped = shared.status(StatusWord::ElementsSkipped)}));
    return {};
}

Result<BoundLayer> bind_layer(const LayerPlans& plans, const KfacLayerViews& views, const SharedViews& shared) {
    const KfacLayer& layer = plans.layer;
    YOLK_TRY_VOID(check_bias_views(layer, views));
    const StepViews steps = step_views(plans, views, shared.scratch);
    BoundLayer bound;
    BufferView inputs = views.inputs;
    BufferView gradient = views.gradient;
    if (layer.bias) {
        YOLK_TRY_VOID(bind_bias(plans, views, shared, steps, bound));
        inputs = floats_at(shared.scratch, plans.scratch.inputs, std::uint64_t{layer.samples} * plans.columns);
        gradient = floats_at(shared.scratch, plans.scratch.gradient, std::uint64_t{layer.n_out} * plans.columns);
    }
    const BufferView scratch = shared.scratch.part(plans.scratch.of_plans, plans.scratch.end - plans.scratch.of_plans);
    const BufferView in = floats_at(shared.state, plans.state_in, std::uint64_t{plans.columns} * plans.columns);
    const BufferView out = floats_at(shared.state, plans.state_out, std::uint64_t{layer.n_out} * layer.n_out);
    YOLK_TRY(
        bound.average_in,
        bind_plan(plans.average_in,
                  CovarianceViews{.x = inputs, .covariance = in, .left_out = shared.status(StatusWord::InputsLeftOut)},
                  scratch));
    YOLK_TRY(bound.average_out, bind_plan(plans.average_out,
                                          CovarianceViews{.x = views.derivatives,
                                                          .covariance = out,
                                                          .left_out = shared.status(StatusWord::DerivativesLeftOut)},
                                          scratch));
    const KroneckerPreconditionViews factors{.factor_out = out,
                                             .factor_in = in,
                                             .gradient = gradient,
                                             .step = steps.whole,
                                             .status = shared.status(StatusWord::Preconditioned)};
    YOLK_TRY(bound.precondition, bind_plan(plans.precondition, factors, scratch));
    if (views.weights.empty()) return bound;
    YOLK_TRY(bound.update, plans.update.bind({.gradient = steps.weights,
                                              .parameters = views.weights,
                                              .state = {},
                                              .skipped = shared.status(StatusWord::ElementsSkipped)}));
    return bound;
}

void record_layer(Recorder& recorder, const BoundLayer& layer, const KfacStep& step) noexcept {
    const auto barrier = [&recorder] { recorder.barrier(Barrier::ComputeToCompute); };
    if (layer.add_ones) {
        layer.add_ones->record(recorder);
        layer.join->record(recorder);
        barrier();
    }
    layer.average_in.record(recorder, step.first);
    barrier();  // they share scratch
    layer.average_out.record(recorder, step.first);
    barrier();
    layer.precondition.record(recorder, step.damping);
    if (layer.split) {
        barrier();
        layer.split->record(recorder);
    }
    if (!layer.update) return;
    barrier();
    layer.update->record(recorder, step.learning_rate, 0);
    if (layer.update_bias) layer.update_bias->record(recorder, step.learning_rate, 0);
}

}  // namespace

struct KfacPlan::Impl {
    std::vector<kfac_parts::LayerPlans> layers;
    MemoryNeeds scratch{}, state{};
};
struct BoundKfac::Impl {
    BufferView statuses;
    std::vector<kfac_parts::BoundLayer> layers;
};

std::uint32_t kfac_status(std::span<const std::byte> statuses, std::size_t layer) {
    return status_word(statuses, layer, StatusWord::Preconditioned);
}

KfacSkipped kfac_skipped(std::span<const std::byte> statuses, std::size_t layer) {
    return {.inputs = status_word(statuses, layer, StatusWord::InputsLeftOut) != 0,
            .derivatives = status_word(statuses, layer, StatusWord::DerivativesLeftOut) != 0,
            .elements = status_word(statuses, layer, StatusWord::ElementsSkipped)};
}

Result<KfacPlan> KfacPlan::make(const Device& device, const KfacDesc& desc) {
    auto impl = std::make_shared<Impl>();
    for (std::size_t i = 0; i < desc.layers.size(); ++i) {
        Result<LayerPlans> plans = plan_layer(device, desc.layers[i], desc.decay);
        if (!plans) return std::move(plans).error().while_doing(work_on("planning", desc.layers[i], i));
        const std::uint64_t in = std::uint64_t{plans->columns} * plans->columns;
        const std::uint64_t out = std::uint64_t{plans->layer.n_out} * plans->layer.n_out;
        plans->state_in = impl->state.size_bytes;
        plans->state_out = plans->state_in + aligned_floats(in);
        impl->state.size_bytes = plans->state_out + aligned_floats(out);
        impl->scratch.size_bytes = std::max(impl->scratch.size_bytes, plans->scratch.end);
        impl->layers.push_back(*std::move(plans));
    }
    KfacPlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

MemoryNeeds KfacPlan::scratch() const noexcept { return impl_->scratch; }
MemoryNeeds KfacPlan::state() const noexcept { return impl_->state; }
std::uint64_t KfacPlan::statuses_bytes() const noexcept { return kViewAlignment * kStatusWords * impl_->layers.size(); }

Result<BoundKfac> KfacPlan::bind(const KfacViews& views, const BufferView& scratch) const {
    if (views.layers.size() != impl_->layers.size()) {
        return bad_input("K-FAC was planned for {} layers and is given views of {}; give each layer's.",
                         impl_->layers.size(), views.layers.size());
    }
    const std::uint64_t no_limit = ~std::uint64_t{0};  // its parts are bound, each on its own
    YOLK_TRY_VOID(check_view(views.state, impl_->state.size_bytes, no_limit, "the state view of [kfac]"));
    YOLK_TRY_VOID(check_view(views.statuses, statuses_bytes(), no_limit, "the statuses view of [kfac]"));
    YOLK_TRY_VOID(check_view(scratch, impl_->scratch.size_bytes, no_limit, "the scratch of [kfac]"));
    auto bound = std::make_shared<BoundKfac::Impl>();
    bound->statuses = views.statuses.empty() ? BufferView{} : views.statuses.part(0, statuses_bytes());
    std::vector<BufferView> written{views.state, views.statuses, scratch};
    std::vector<BufferView> read;
    for (std::size_t i = 0; i < views.layers.size(); ++i) {
        const KfacLayerViews& of = views.layers[i];
        Result<BoundLayer> layer = bind_layer(
            impl_->layers[i], of, {.state = views.state, .statuses = views.statuses, .scratch = scratch, .layer = i});
        if (!layer) return std::move(layer).error().while_doing(work_on("binding", impl_->layers[i].layer, i));
        bound->layers.push_back(*std::move(layer));
        for (const BufferView& view : {of.weights, of.bias, of.step, of.bias_step}) {
            if (!view.empty()) written.push_back(view);
        }
        for (const BufferView& view : {of.inputs, of.derivatives, of.gradient, of.bias_gradient}) {
            if (!view.empty()) read.push_back(view);
        }
    }
    std::erase_if(written, [](const BufferView& view) { return view.empty(); });
    YOLK_TRY_VOID(check_no_overlap(written, read, "[kfac]"));
    BoundKfac result;
    result.impl_ = std::move(bound);
    return result;
}

void BoundKfac::record(Recorder& recorder, const KfacStep& step) const noexcept {
    if (impl_->layers.empty()) return;
    const ScopedLabel label(recorder, "kfac");
    recorder.barrier(Barrier::ComputeToTransfer);
    recorder.barrier(Barrier::TransferToTransfer);
    recorder.fill(impl_->statuses, 0);  // skipped elements are added to it
    recorder.barrier(Barrier::TransferToCompute);
    bool is_first = true;
    for (const BoundLayer& layer : impl_->layers) {
        if (!std::exchange(is_first, false)) recorder.barrier(Barrier::ComputeToCompute);  // the scratch is shared
        record_layer(recorder, layer, step);
    }
}

}  // namespace yolk::evolve
