// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/perturbed_linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "plan_checks.hpp"
#include "yolk/core/check.hpp"
#include "yolk/core/noise.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/runtime/loop_budget.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace abi_pl = abi::perturbed_linear;

namespace {

constexpr std::uint32_t kMaxRank = 32;
constexpr std::uint32_t kMaxOutputsPerInvocation = 8;
constexpr std::uint64_t kElementBytes = 4;
constexpr std::uint64_t kMaxNoiseElements = 0xFFFFFFFFU;  // element indices are 32-bit words in the kernels

/// Everything that plan and bound plan share: sizes in bytes, and how many k one dispatch of each half may add.
struct Layout {
    PerturbedLinearDesc desc;
    std::uint64_t weights_bytes = 0;
    std::uint64_t input_bytes = 0;
    std::uint64_t output_bytes = 0;
    std::uint64_t projection_bytes = 0;
    std::uint32_t project_chunk = 0;
    std::uint32_t output_chunk = 0;

    [[nodiscard]] std::uint32_t instances() const noexcept { return desc.members * desc.rows; }
    [[nodiscard]] bool is_empty() const noexcept { return output_bytes == 0; }
};

Result<void> check_desc(const PerturbedLinearDesc& desc) {
    YOLK_TRY_VOID(check_range(desc.rank, 1, kMaxRank, "rank of [perturbed_linear]"));
    YOLK_TRY_VOID(check_range(desc.parameter.value, 0, kMaxParameterId, "parameter of [perturbed_linear]"));
    YOLK_TRY_VOID(
        check_range(desc.config.workgroup_size, 1, kMaxWorkgroupSize, "workgroup_size of [perturbed_linear]"));
    YOLK_TRY_VOID(check_range(desc.config.outputs_per_invocation, 1, kMaxOutputsPerInvocation,
                              "outputs_per_invocation of [perturbed_linear]"));
    const std::uint64_t rank = desc.rank;
    YOLK_TRY_VOID(check_range(desc.in * rank, 0, kMaxNoiseElements, "in * rank of [perturbed_linear]"));
    return check_range((desc.out + std::uint64_t{kMaxOutputsPerInvocation}) * rank, 0, kMaxNoiseElements,
                       "(out + 8) * rank of [perturbed_linear]");
}

Result<std::uint64_t> binding_bytes(const Device& device, std::initializer_list<std::uint64_t> extents,
                                    const char* what) {
    YOLK_TRY(const std::uint64_t size_bytes, checked_bytes(extents, kElementBytes, what));
    YOLK_TRY_VOID(check_binding_size(device, size_bytes, what));
    return size_bytes;
}

Result<void> measure(const Device& device, Layout& layout) {
    const PerturbedLinearDesc& d = layout.desc;
    YOLK_TRY(layout.output_bytes,
             binding_bytes(device, {d.members, d.rows, d.out}, "the output view of [perturbed_linear]"));
    if (layout.is_empty()) return {};
    YOLK_TRY(layout.weights_bytes, binding_bytes(device, {d.out, d.in}, "the weights view of [perturbed_linear]"));
    const std::uint64_t input_members = d.shared_input ? 1 : d.members;
    YOLK_TRY(layout.input_bytes,
             binding_bytes(device, {input_members, d.rows, d.in}, "the input view of [perturbed_linear]"));
    YOLK_TRY(layout.projection_bytes,
             binding_bytes(device, {d.members, d.rows, d.rank}, "the scratch of [perturbed_linear]"));
    return {};
}

/// Of one element of B: its share of a block of noise, and its product.
constexpr std::uint64_t kNoiseElementCost = kNoiseBlockCost / kNoiseElementsPerBlock + 1;

/// The largest multiple of 8 k (whole noise blocks) for one dispatch, where 8 k take `iterations_per_8` of one loop and
/// the other loops cost `reserved`.
Result<std::uint32_t> chunk_of(std::uint64_t budget, std::uint64_t reserved, std::uint64_t iterations_per_8) {
    const std::uint64_t iterations = iterations_within(budget > reserved ? budget - reserved : 0);
    const std::uint64_t chunk = iterations / iterations_per_8;
    if (chunk == 0) {
        return unsupported(
            fmt::format("The loops of one invocation may cost {} on this device; [perturbed_linear] needs {}. "
                        "Use a smaller rank or fewer outputs_per_invocation.",
                        budget, reserved + loop_cost(iterations_per_8)));
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk, 0x1FFFFFFFU) * 8);
}

/// By the loops as the shaders write them (their heads).
Result<void> split_loops(const Device& device, Layout& layout) {
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    const std::uint64_t rank = layout.desc.rank;
    YOLK_TRY(layout.project_chunk, chunk_of(budget, 2 * loop_cost(rank), rank));
    YOLK_TRY(layout.output_chunk, chunk_of(budget, kMaxOutputsPerInvocation * loop_cost(rank), 8));
    return {};
}

float scale_of(const PerturbedLinearDesc& desc, float sigma) noexcept {
    const double scale = static_cast<double>(sigma) / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance;
    return exact::exact_flush_operand(static_cast<float>(scale));
}

}  // namespace

struct PerturbedLinearPlan::Impl {
    const Device* device = nullptr;
    Layout layout;
    PipelineOf<abi_pl::Params> project;
    PipelineOf<abi_pl::Params> output;
};

struct BoundPerturbedLinear::Impl {
    Layout layout;
    BindingOf<abi_pl::Params> project;
    BindingOf<abi_pl::Params> output;
};

PerturbedLinearPlan::PerturbedLinearPlan() noexcept = default;
PerturbedLinearPlan::~PerturbedLinearPlan() = default;
PerturbedLinearPlan::PerturbedLinearPlan(PerturbedLinearPlan&&) noexcept = default;
PerturbedLinearPlan& PerturbedLinearPlan::operator=(PerturbedLinearPlan&&) noexcept = default;
BoundPerturbedLinear::BoundPerturbedLinear() noexcept = default;
BoundPerturbedLinear::~BoundPerturbedLinear() = default;
BoundPerturbedLinear::BoundPerturbedLinear(BoundPerturbedLinear&&) noexcept = default;
BoundPerturbedLinear& BoundPerturbedLinear::operator=(BoundPerturbedLinear&&) noexcept = default;

Result<PerturbedLinearPlan> plan_perturbed_linear(const Device& device, const PerturbedLinearDesc& desc) {
    YOLK_TRY_VOID(check_desc(desc));
    PerturbedLinearPlan plan;
    plan.impl_ = std::make_unique<PerturbedLinearPlan::Impl>();
    plan.impl_->device = &device;
    Layout& layout = plan.impl_->layout;
    layout.desc = desc;
    YOLK_TRY_VOID(measure(device, layout));
    if (layout.is_empty()) return plan;

    YOLK_TRY_VOID(split_loops(device, layout));
    const std::array constants{
        SpecConstant{abi_pl::kSpecWorkgroupSize, desc.config.workgroup_size},
        SpecConstant{abi_pl::kSpecRank, desc.rank},
        SpecConstant{abi_pl::kSpecOutputsPerInvocation, desc.config.outputs_per_invocation},
    };
    const auto project_constants = std::span(constants).first(2);
    YOLK_TRY(plan.impl_->project, device.pipeline(kernels::kPerturbedLinearProject, project_constants));
    YOLK_TRY(plan.impl_->output, device.pipeline(kernels::kPerturbedLinearOutput, constants));
    return plan;
}

MemoryNeeds PerturbedLinearPlan::scratch() const noexcept { return {.size_bytes = impl_->layout.projection_bytes}; }

Result<BoundPerturbedLinear> PerturbedLinearPlan::bind(const PerturbedLinearViews& views,
                                                       const BufferView& scratch) const {
    const Layout& layout = impl_->layout;
    YOLK_TRY_VOID(check_views(*impl_->device, "[perturbed_linear]",
                              {{.view = views.weights, .needed_bytes = layout.weights_bytes, .name = "weights"},
                               {.view = views.input, .needed_bytes = layout.input_bytes, .name = "input"}},
                              {{.view = views.output, .needed_bytes = layout.output_bytes, .name = "output"},
                               {.view = scratch, .needed_bytes = layout.projection_bytes, .name = "scratch"}}));
    BoundPerturbedLinear bound;
    bound.impl_ = std::make_unique<BoundPerturbedLinear::Impl>();
    bound.impl_->layout = layout;
    if (layout.is_empty()) return bound;
    // Where `in` is 0 nothing is read, but a binding may not be empty.
    const BufferView weights = layout.weights_bytes == 0 ? scratch : views.weights;
    const BufferView input = layout.input_bytes == 0 ? scratch : views.input;
    const std::array bindings{weights, input, scratch, views.output};
    YOLK_TRY(bound.impl_->project, impl_->device->bind(impl_->project, bindings));
    YOLK_TRY(bound.impl_->output, impl_->device->bind(impl_->output, bindings));
    return bound;
}

void BoundPerturbedLinear::record(Recorder& recorder, const NoiseTime& when, std::int32_t first_member) const noexcept {
    YOLK_ASSERT(first_member >= -1);
    const Layout& layout = impl_->layout;
    if (layout.is_empty()) return;
    const PerturbedLinearDesc& desc = layout.desc;
    abi_pl::Params params{
        .seed_low = static_cast<std::uint32_t>(when.seed),
        .seed_high = static_cast<std::uint32_t>(when.seed >> 32U),
        .parameter = desc.parameter.value,
        .time = when.time,
        .first_member = first_member,
        .instances = layout.instances(),
        .rows = desc.rows,
        .input_size = desc.in,
        .output_size = desc.out,
        .input_is_shared = desc.shared_input ? 1U : 0U,
        .first_k = 0,
        .end_k = 0,
        .scale = scale_of(desc, when.sigma),
    };
    // At least one dispatch, for `in` may be 0; a barrier between any two, since each continues what the last one
    // stored.
    const auto dispatch_chunks = [&](const BindingOf<abi_pl::Params>& binding, std::uint32_t chunk,
                                     std::uint64_t invocations, std::uint64_t cost_per_k) {
        const LinearGrid groups =
            grid_of(invocations, desc.config.workgroup_size, cost_per_k * std::min(chunk, desc.in));
        params.end_k = 0;
        do {
            params.first_k = params.end_k;
            params.end_k += std::min(chunk, desc.in - params.first_k);
            if (params.first_k != 0) recorder.barrier(Barrier::ComputeToCompute);
            recorder.dispatch(binding, params, groups);
        } while (params.end_k < desc.in);
    };
    const ScopedLabel label(recorder, "perturbed_linear");
    const std::uint64_t tiles = ceil_div(desc.out, desc.config.outputs_per_invocation);
    dispatch_chunks(impl_->project, layout.project_chunk, layout.instances(), desc.rank * kNoiseElementCost);
    recorder.barrier(Barrier::ComputeToCompute);
    dispatch_chunks(impl_->output, layout.output_chunk, layout.instances() * tiles, desc.config.outputs_per_invocation);
}

}  // namespace yolk
