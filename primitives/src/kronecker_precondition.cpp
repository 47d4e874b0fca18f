// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/kronecker_precondition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "block_trace.hpp"
#include "block_windows.hpp"
#include "curvature_plan.hpp"
#include "plan_checks.hpp"
#include "row_plan.hpp"
#include "tuned_plan.hpp"
#include "yolk/abi/kronecker_precondition.h"
#include "yolk/primitives/block_inverse.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_k = abi::kronecker_precondition;

static_assert(kKroneckerInFailed == abi_k::kInFailed && kKroneckerOutFailed == abi_k::kOutFailed);
static_assert(static_cast<std::uint32_t>(BlockStatus::Damped) == abi_k::kLargestInverted);

/// Of the small kernels: a word per block, or an element.
constexpr std::uint64_t kDampingCost = 64;

MatmulDesc side_product(std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t blocks) {
    MatmulDesc product{.m = m, .n = n, .k = k, .batch = blocks};
    product.determinism = Determinism::Exact;
    return product;
}
/// S_out^-1 dW, and that times S_in^-1.
MatmulDesc left_product_of(const KroneckerPreconditionDesc& d) {
    return side_product(d.n_out, d.n_in, d.n_out, d.blocks);
}
MatmulDesc right_product_of(const KroneckerPreconditionDesc& d) {
    return side_product(d.n_out, d.n_in, d.n_in, d.blocks);
}

}  // namespace

ConfigSpace<MatmulConfig> kronecker_precondition_space(const DeviceInfo& info, const KroneckerPreconditionDesc& desc) {
    return product_space("kronecker_precondition", info, {left_product_of(desc), right_product_of(desc)},
                         {.variant = fmt::format("f32, factors {}", static_cast<std::uint32_t>(desc.factors)),
                          .extents = {desc.n_out, desc.n_in, desc.blocks}});
}

MatmulConfig default_kronecker_precondition_config(const DeviceInfo& info, const KroneckerPreconditionDesc& desc) {
    return default_product_config(info, left_product_of(desc), right_product_of(desc));
}

/// One of the two factors.
struct FactorPlan {
    std::uint32_t n = 0;
    std::uint64_t matrix_bytes = 0;
    std::uint64_t inverse_offset = 0;  ///< of scratch
    BlockInversePlan inverse;
};

struct KroneckerPreconditionPlan::Impl {
    const Device* device = nullptr;
    KroneckerPreconditionDesc desc;
    std::uint64_t step_bytes = 0;
    std::uint64_t status_bytes = 0;
    std::uint32_t pair_stride = 0;
    std::uint64_t product_offset = 0;
    std::uint64_t means_offset = 0;
    std::uint64_t dampings_offset = 0;
    std::uint64_t statuses_offset = 0;
    std::uint64_t residuals_offset = 0;
    std::uint64_t inverse_scratch_offset = 0;  ///< one after the other uses it
    std::uint64_t inverse_scratch_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    std::array<FactorPlan, 2> factors;  ///< S_in, S_out
    MatmulPlan left, right;
    BlockTracePlan trace;
    PipelineOf<abi_k::Params> damping, status, zero;

    [[nodiscard]] bool inverts() const noexcept { return desc.factors == KroneckerFactors::Covariances; }
    [[nodiscard]] std::uint64_t pair_bytes() const noexcept { return 2 * sizeof(float) * pair_stride; }
    [[nodiscard]] Result<void> measure();
    [[nodiscard]] Result<void> make_products();
    BlockWindows windows;
    /// A plan for each window, where there are several; then the rest is unused.
    std::vector<KroneckerPreconditionPlan> parts;
    std::uint64_t words_offset = 0;  ///< of scratch: a window's status

    [[nodiscard]] Result<void> make_inverses();
    void lay_out();
    [[nodiscard]] Result<void> make_parts();
    [[nodiscard]] Result<void> bind_parts(BoundKroneckerPrecondition::Impl& bound,
                                          const KroneckerPreconditionViews& views, const BufferView& scratch) const;
};

struct BoundKroneckerPrecondition::Impl {
    std::vector<BoundWindow<BoundKroneckerPrecondition>> parts{};
    KroneckerPreconditionDesc desc;
    bool is_empty = true;
    BoundMatmul left, right;
    std::array<BoundBlockTrace, 2> traces;
    std::array<BoundBlockInverse, 2> inverses;
    BindingOf<abi_k::Params> damping, status, zero;
    std::uint32_t pair_stride = 0;
};

KroneckerPreconditionPlan::KroneckerPreconditionPlan() noexcept = default;
KroneckerPreconditionPlan::~KroneckerPreconditionPlan() = default;
KroneckerPreconditionPlan::KroneckerPreconditionPlan(KroneckerPreconditionPlan&&) noexcept = default;
KroneckerPreconditionPlan& KroneckerPreconditionPlan::operator=(KroneckerPreconditionPlan&&) noexcept = default;
BoundKroneckerPrecondition::BoundKroneckerPrecondition() noexcept = default;
BoundKroneckerPrecondition::~BoundKroneckerPrecondition() = default;
BoundKroneckerPrecondition::BoundKroneckerPrecondition(BoundKroneckerPrecondition&&) noexcept = default;
BoundKroneckerPrecondition& BoundKroneckerPrecondition::operator=(BoundKroneckerPrecondition&&) noexcept = default;

MemoryNeeds KroneckerPreconditionPlan::scratch() const noexcept { return {.size_bytes = impl_->scratch_bytes}; }

namespace {

Result<void> check_kronecker_precondition(const KroneckerPreconditionDesc& desc) {
    YOLK_TRY_VOID(check_range(desc.n_in, 0, kMaxBlockSize, "n_in of [kronecker_precondition]"));
    YOLK_TRY_VOID(check_range(desc.n_out, 0, kMaxBlockSize, "n_out of [kronecker_precondition]"));
    return check_range(static_cast<std::uint64_t>(desc.factors), 0,
                       static_cast<std::uint64_t>(KroneckerFactors::Inverses),
                       "the kind of factors of [kronecker_precondition]");
}

/// Bytes per block of S_in, S_out and dW.
struct BlockBytes {
    std::uint64_t in = 0, out = 0, step = 0;
};
BlockBytes block_bytes_of(const KroneckerPreconditionDesc& desc) noexcept {
    const std::uint64_t in = desc.n_in;
    const std::uint64_t out = desc.n_out;
    return {.in = sizeof(float) * in * in, .out = sizeof(float) * out * out, .step = sizeof(float) * in * out};
}

}  // namespace

Result<void> KroneckerPreconditionPlan::Impl::measure() {
    YOLK_TRY(step_bytes, binding_bytes(*device, {desc.blocks, desc.n_out, desc.n_in},
                                       "the gradient view of [kronecker_precondition]"));
    factors[0].n = desc.n_in;
    factors[1].n = desc.n_out;
    for (FactorPlan& factor : factors) {
        YOLK_TRY(factor.matrix_bytes, binding_bytes(*device, {desc.blocks, factor.n, factor.n},
                                                    "a factor's view of [kronecker_precondition]"));
        if (step_bytes == 0) factor.matrix_bytes = 0;
    }
    status_bytes = step_bytes == 0 || !inverts() ? 0 : sizeof(std::uint32_t) * desc.blocks;
    pair_stride = static_cast<std::uint32_t>(round_up(desc.blocks, kViewAlignment / sizeof(float)));
    return {};
}

Result<void> KroneckerPreconditionPlan::Impl::make_products() {
    const MatmulConfig config = *desc.config;
    YOLK_TRY_VOID(kronecker_precondition_space(device->info(), desc).check(config));
    if (step_bytes == 0) return {};
    MatmulDesc of_left = left_product_of(desc);
    MatmulDesc of_right = right_product_of(desc);
    of_left.config = of_right.config = config;
    YOLK_TRY(left, plan_matmul(*device, of_left));
    YOLK_TRY(right, plan_matmul(*device, of_right));
    return {};
}

Result<void> KroneckerPreconditionPlan::Impl::make_inverses() {
    if (step_bytes == 0 || !inverts()) return {};
    for (FactorPlan& factor : factors) {
        YOLK_TRY(factor.inverse,
                 plan_block_inverse(*device,
                                    {.n = factor.n, .blocks = desc.blocks, .damping_per_block = true, .retries = 0}));
        inverse_scratch_bytes = std::max(inverse_scratch_bytes, factor.inverse.scratch().size_bytes);
    }
    YOLK_TRY(trace, plan_block_trace(*device));
    const std::array constants{SpecConstant{abi_k::kSpecWorkgroupSize, kElementWorkgroup}};
    YOLK_TRY(damping, device->pipeline(kernels::kKroneckerDamping, constants));
    YOLK_TRY(status, device->pipeline(kernels::kKroneckerStatus, constants));
    YOLK_TRY(zero, device->pipeline(kernels::kKroneckerZero, constants));
    return {};
}

void KroneckerPreconditionPlan::Impl::lay_out() {
    ScratchPieces pieces;
    product_offset = pieces.add(step_bytes);
    if (step_bytes != 0 && inverts()) {
        for (FactorPlan& factor : factors) factor.inverse_offset = pieces.add(factor.matrix_bytes);
        for (std::uint64_t* offset : {&means_offset, &dampings_offset, &statuses_offset, &residuals_offset})
            *offset = pieces.add(pair_bytes());
        inverse_scratch_offset = pieces.add(inverse_scratch_bytes);
    }
    scratch_bytes = pieces.size_bytes();
}

Result<void> KroneckerPreconditionPlan::Impl::make_parts() {
    std::uint64_t largest = 0;
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        KroneckerPreconditionDesc part = desc;
        part.blocks = windows.blocks_of(w);
        YOLK_TRY(KroneckerPreconditionPlan planned, plan_kronecker_precondition(*device, part));
        largest = std::max(largest, planned.impl_->scratch_bytes);
        parts.push_back(std::move(planned));
    }
    ScratchPieces pieces;
    (void)pieces.add(largest);
    if (inverts()) words_offset = pieces.add(sizeof(std::uint32_t) * windows.per_window);
    scratch_bytes = pieces.size_bytes();
    return {};
}

Result<KroneckerPreconditionPlan> plan_kronecker_precondition(const Device& device,
                                                              const KroneckerPreconditionDesc& desc) {
    YOLK_TRY_VOID(check_kronecker_precondition(desc));
    const BlockBytes bytes = block_bytes_of(desc);
    YOLK_TRY(const BlockWindows windows, cut_blocks(device, desc.blocks, {bytes.in, bytes.out, bytes.step},
                                                    {2 * sizeof(float)}, "[kronecker_precondition]"));
    if (!desc.config && windows.is_one())
        return plan_tuned(device, desc, kronecker_precondition_space(device.info(), desc),
                          default_kronecker_precondition_config(device.info(), desc), &plan_kronecker_precondition);
    auto impl = std::make_unique<KroneckerPreconditionPlan::Impl>();
    impl->device = &device;
    impl->desc = desc;
    impl->windows = windows;
    if (impl->windows.is_one()) {
        YOLK_TRY_VOID(impl->measure());
        YOLK_TRY_VOID(impl->make_products());
        YOLK_TRY_VOID(impl->make_inverses());
        impl->lay_out();
    } else {
        YOLK_TRY_VOID(impl->make_parts());
    }
    KroneckerPreconditionPlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

namespace {

/// Of the two halves of a pair's piece, one per factor.
BufferView half_of(const BufferView& pair, std::size_t factor, std::uint64_t size_bytes) {
    return piece_of(pair, factor * pair.size_bytes / 2, size_bytes);
}

}  // namespace

Result<void> KroneckerPreconditionPlan::Impl::bind_parts(BoundKroneckerPrecondition::Impl& bound,
                                                         const KroneckerPreconditionViews& views,
                                                         const BufferView& scratch) const {
    const BlockBytes bytes = block_bytes_of(desc);
    const std::uint64_t words = inverts() && bytes.step != 0 ? sizeof(std::uint32_t) * desc.blocks : 0;
    const bool is_empty = bytes.step == 0;
    YOLK_TRY_VOID(check_views(
        *device, "[kronecker_precondition]",
        {{.view = views.factor_out,
          .needed_bytes = is_empty ? 0 : bytes.out * desc.blocks,
          .name = "factor_out",
          .in_pieces = true},
         {.view = views.factor_in,
          .needed_bytes = is_empty ? 0 : bytes.in * desc.blocks,
          .name = "factor_in",
          .in_pieces = true},
         {.view = views.gradient, .needed_bytes = bytes.step * desc.blocks, .name = "gradient", .in_pieces = true}},
        {{.view = views.step, .needed_bytes = bytes.step * desc.blocks, .name = "step", .in_pieces = true},
         {.view = views.status, .needed_bytes = words, .name = "status", .in_pieces = true},
         {.view = scratch, .needed_bytes = scratch_bytes, .name = "scratch", .in_pieces = true}}));
    if (is_empty) return {};
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        const BufferView statuses =
            words == 0 ? BufferView{} : piece_of(scratch, words_offset, sizeof(std::uint32_t) * windows.blocks_of(w));
        YOLK_TRY(BoundKroneckerPrecondition one,
                 parts[w].bind({.factor_out = windows.of(views.factor_out, w, bytes.out),
                                .factor_in = windows.of(views.factor_in, w, bytes.in),
                                .gradient = windows.of(views.gradient, w, bytes.step),
                                .step = windows.of(views.step, w, bytes.step),
                                .status = statuses},
                               piece_of(scratch, 0, parts[w].impl_->scratch_bytes)));
        BoundWindow<BoundKroneckerPrecondition> window{.bound = std::move(one)};
        if (words != 0) window.copies.push_back({statuses, windows.of(views.status, w, sizeof(std::uint32_t))});
        bound.parts.push_back(std::move(window));
    }
    return {};
}

Result<BoundKroneckerPrecondition> KroneckerPreconditionPlan::bind(const KroneckerPreconditionViews& views,
                                                                   const BufferView& scratch) const {
    const Impl& plan = *impl_;
    const KroneckerPreconditionDesc& desc = plan.desc;
    if (!plan.parts.empty()) {
        BoundKroneckerPrecondition windowed;
        windowed.impl_ = std::make_unique<BoundKroneckerPrecondition::Impl>();
        YOLK_TRY_VOID(plan.bind_parts(*windowed.impl_, views, scratch));
        return windowed;
    }
    YOLK_TRY_VOID(
        check_views(*plan.device, "[kronecker_precondition]",
                    {{.view = views.factor_out, .needed_bytes = plan.factors[1].matrix_bytes, .name = "factor_out"},
                     {.view = views.factor_in, .needed_bytes = plan.factors[0].matrix_bytes, .name = "factor_in"},
                     {.view = views.gradient, .needed_bytes = plan.step_bytes, .name = "gradient"}},
                    {{.view = views.step, .needed_bytes = plan.step_bytes, .name = "step"},
                     {.view = views.status, .needed_bytes = plan.status_bytes, .name = "status"},
                     {.view = scratch, .needed_bytes = plan.scratch_bytes, .name = "scratch", .in_pieces = true}}));
    BoundKroneckerPrecondition result;
    result.impl_ = std::make_unique<BoundKroneckerPrecondition::Impl>();
    BoundKroneckerPrecondition::Impl& bound = *result.impl_;
    bound.desc = desc;
    bound.is_empty = plan.step_bytes == 0;
    bound.pair_stride = plan.pair_stride;
    if (bound.is_empty) return result;
    const std::array given{views.factor_in, views.factor_out};
    std::array inverses = given;
    if (plan.inverts()) {
        const auto pair = [&](std::uint64_t offset) { return piece_of(scratch, offset, plan.pair_bytes()); };
        const BufferView means = pair(plan.means_offset);
        const BufferView dampings = pair(plan.dampings_offset);
        const BufferView statuses = pair(plan.statuses_offset);
        const BufferView residuals = pair(plan.residuals_offset);
        const std::uint64_t word_bytes = plan.status_bytes;
        for (std::size_t i = 0; i < 2; ++i) {
            const FactorPlan& factor = plan.factors[i];
            inverses[i] = piece_of(scratch, factor.inverse_offset, factor.matrix_bytes);
            const auto weight = static_cast<float>(1.0 / factor.n);
            YOLK_TRY(bound.traces[i],
                     plan.trace.bind(given[i], half_of(means, i, word_bytes), desc.blocks, factor.n, weight));
            YOLK_TRY(bound.inverses[i], factor.inverse.bind({.in = given[i],
                                                             .damping = half_of(dampings, i, word_bytes),
                                                             .out = inverses[i],
                                                             .status = half_of(statuses, i, word_bytes),
                                                             .residual = half_of(residuals, i, word_bytes)},
                                                            piece_of(scratch, plan.inverse_scratch_offset,
                                                                     factor.inverse.scratch().size_bytes)));
        }
        const std::array all{means, dampings, statuses, views.status, views.step};
        YOLK_TRY(bound.damping, plan.device->bind(plan.damping, all));
        YOLK_TRY(bound.status, plan.device->bind(plan.status, all));
        YOLK_TRY(bound.zero, plan.device->bind(plan.zero, all));
    }
    const BufferView product = piece_of(scratch, plan.product_offset, plan.step_bytes);
    YOLK_TRY(bound.left, plan.left.bind({.a = inverses[1], .b = views.gradient, .out = product}));
    YOLK_TRY(bound.right, plan.right.bind({.a = product, .b = inverses[0], .out = views.step}));
    return result;
}

void BoundKroneckerPrecondition::record(Recorder& recorder, float damping) const noexcept {
    const Impl& bound = *impl_;
    record_windows(recorder, bound.parts,
                   [&](const BoundKroneckerPrecondition& part) noexcept { part.record(recorder, damping); });
    if (bound.is_empty) return;
    const ScopedLabel label(recorder, "kronecker_precondition");
    const KroneckerPreconditionDesc& desc = bound.desc;
    const bool inverts = desc.factors == KroneckerFactors::Covariances;
    const bool is_valid = std::isfinite(damping) && damping >= 0.0F;
    // The host's square root is correctly rounded everywhere.
    const abi_k::Params params{.blocks = desc.blocks,
                               .pair_stride = bound.pair_stride,
                               .block_elements = desc.n_out * desc.n_in,
                               .is_valid = is_valid ? 1U : 0U,
                               .root_damping = is_valid ? std::sqrt(damping) : 0.0F};
    if (inverts) {
        for (const BoundBlockTrace& trace : bound.traces) trace.record(recorder);
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(bound.damping, params, grid_of(desc.blocks, kElementWorkgroup, kDampingCost));
        for (const BoundBlockInverse& inverse : bound.inverses) {
            recorder.barrier(Barrier::ComputeToCompute);
            inverse.record(recorder);
        }
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(bound.status, params, grid_of(desc.blocks, kElementWorkgroup, 1));
    }
    bound.left.record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    bound.right.record(recorder);
    if (!inverts) return;
    recorder.barrier(Barrier::ComputeToCompute);
    const std::uint64_t elements = std::uint64_t{desc.blocks} * params.block_elements;
    recorder.dispatch(bound.zero, params, grid_of(elements, kElementWorkgroup, 1));
}

}  // namespace yolk
