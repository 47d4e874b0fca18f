// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/covariance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "block_trace.hpp"
#include "block_windows.hpp"
#include "curvature_plan.hpp"
#include "matmul_layout.hpp"
#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/abi/covariance.h"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

namespace abi_c = abi::covariance;

/// X^T X: a is X, stored as its transpose, b is X. Equal bits on both sides of the diagonal, for a product does not
/// depend on the order of its factors.
MatmulDesc samples_product(const CovarianceDesc& desc) {
    MatmulDesc product{.m = desc.n, .n = desc.n, .k = desc.samples, .batch = desc.blocks};
    product.b = {.offset = desc.offset, .stride = desc.stride, .batch_stride = desc.block_stride};
    product.a = product.b;
    product.a.transposed = true;
    product.determinism = Determinism::Exact;
    return product;
}

Result<void> check_covariance(const CovarianceDesc& desc) {
    YOLK_TRY_VOID(check_range(desc.n, 0, kMaxBlockSize, "n of [covariance]"));
    YOLK_TRY_VOID(check_range(static_cast<std::uint64_t>(desc.damping_kind), 0,
                              static_cast<std::uint64_t>(CovarianceDamping::Absolute),
                              "the kind of damping of [covariance]"));
    YOLK_TRY_VOID(check_damping(desc.damping, "damping of [covariance]"));
    if (desc.stride != kDense && desc.stride < desc.n) {
        return bad_input(
            fmt::format("The stride of x of [covariance] is {}; its rows have {} elements. Give at least "
                        "that.",
                        desc.stride, desc.n));
    }
    if (desc.average && !(desc.decay >= 0.0F && desc.decay < 1.0F)) {
        return bad_input(fmt::format("decay of [covariance] is {}; it must be at least 0 and below 1.", desc.decay));
    }
    return {};
}

/// Of no samples there is no news: an average stays, and C without one is zero.
abi_c::Params covariance_params(const CovarianceDesc& desc, bool first) {
    const bool keeps_old = desc.average && !first;
    const double share = keeps_old ? 1.0 - static_cast<double>(desc.decay) : 1.0;
    return {.element_count = desc.blocks * desc.n * desc.n,
            .n = desc.n,
            .keeps_old = keeps_old ? 1U : 0U,
            .decay = desc.samples == 0 ? 1.0F : desc.decay,
            .weight = desc.samples == 0 ? 0.0F : static_cast<float>(share / desc.samples),
            .shift = desc.damping};
}

}  // namespace

ConfigSpace<MatmulConfig> covariance_space(const DeviceInfo& info, const CovarianceDesc& desc) {
    const MatmulDesc product = samples_product(desc);
    return product_space(
        "covariance", info, {product, product},
        {.variant = desc.average ? "f32, average" : "f32", .extents = {desc.n, desc.samples, desc.blocks}});
}

MatmulConfig default_covariance_config(const DeviceInfo& info, const CovarianceDesc& desc) {
    const MatmulDesc product = samples_product(desc);
    return default_product_config(info, product, product);
}

struct CovariancePlan::Impl {
    const Device* device = nullptr;
    CovarianceDesc desc;
    std::uint64_t x_bytes = 0;
    std::uint64_t matrix_bytes = 0;
    std::uint64_t sums_bytes = 0;   ///< of scratch: with an average
    std::uint64_t shift_bytes = 0;  ///< of scratch: for relative damping
    std::uint64_t sums_offset = 0;
    std::uint64_t shift_offset = 0;
    std::uint64_t scratch_bytes = 0;
    MatmulPlan product;
    BlockTracePlan trace;
    PipelineOf<abi_c::Params> average;
    PipelineOf<abi_c::Params> damp;

    [[nodiscard]] bool is_damped() const noexcept { return desc.damping_kind != CovarianceDamping::None; }
    [[nodiscard]] bool is_relative() const noexcept { return desc.damping_kind == CovarianceDamping::Relative; }
    BlockWindows windows;
    std::vector<CovariancePlan> parts;  ///< a plan for each window, where there are several; then the rest is unused

    [[nodiscard]] Result<void> lay_out();
    [[nodiscard]] Result<void> make_pipelines();
    [[nodiscard]] Result<void> make_parts();
    [[nodiscard]] Result<void> bind_parts(BoundCovariance::Impl& bound, const CovarianceViews& views,
                                          const BufferView& scratch) const;
};

struct BoundCovariance::Impl {
    std::vector<BoundWindow<BoundCovariance>> parts{};
    CovarianceDesc desc;
    BoundMatmul product;
    BindingOf<abi_c::Params> average;
    std::optional<BoundBlockTrace> trace;
    std::optional<BindingOf<abi_c::Params>> damp;
    LinearGrid grid{};
};

CovariancePlan::CovariancePlan() noexcept = default;
CovariancePlan::~CovariancePlan() = default;
CovariancePlan::CovariancePlan(CovariancePlan&&) noexcept = default;
CovariancePlan& CovariancePlan::operator=(CovariancePlan&&) noexcept = default;
BoundCovariance::BoundCovariance() noexcept = default;
BoundCovariance::~BoundCovariance() = default;
BoundCovariance::BoundCovariance(BoundCovariance&&) noexcept = default;
BoundCovariance& BoundCovariance::operator=(BoundCovariance&&) noexcept = default;

MemoryNeeds CovariancePlan::scratch() const noexcept { return {.size_bytes = impl_->scratch_bytes}; }

Result<void> CovariancePlan::Impl::lay_out() {
    YOLK_TRY(matrix_bytes, checked_bytes({desc.blocks, desc.n, desc.n}, sizeof(float), "a covariance of [covariance]"));
    YOLK_TRY_VOID(check_binding_size(*device, matrix_bytes, "the covariance view of [covariance]"));
    Result<MatmulLayout> layout = lay_out_matmul(samples_product(desc));
    if (!layout) return std::move(layout).error().while_doing("planning [covariance]");
    x_bytes = matrix_bytes == 0 ? 0 : layout->b_bytes;
    YOLK_TRY_VOID(check_binding_size(*device, x_bytes, "the x view of [covariance]"));
    ScratchPieces pieces;
    sums_bytes = desc.average ? matrix_bytes : 0;
    shift_bytes = is_relative() && matrix_bytes != 0 ? sizeof(float) * desc.blocks : 0;
    sums_offset = pieces.add(sums_bytes);
    shift_offset = pieces.add(shift_bytes);
    scratch_bytes = pieces.size_bytes();
    return {};
}

Result<void> CovariancePlan::Impl::make_pipelines() {
    MatmulDesc of_product = samples_product(desc);
    of_product.config = *desc.config;
    YOLK_TRY_VOID(covariance_space(device->info(), desc).check(*of_product.config));
    if (matrix_bytes == 0) return {};
    YOLK_TRY(product, plan_matmul(*device, of_product));
    const std::array constants{SpecConstant{abi_c::kSpecWorkgroupSize, kElementWorkgroup},
                               SpecConstant{abi_c::kSpecRelative, is_relative() ? 1U : 0U}};
    YOLK_TRY(average, device->pipeline(kernels::kCovarianceAverage, std::span(constants).first(1)));
    if (is_relative()) {
        YOLK_TRY(trace, plan_block_trace(*device));
    }
    if (is_damped()) {
        YOLK_TRY(damp, device->pipeline(kernels::kCovarianceDamp, constants));
    }
    return {};
}

namespace {

/// Elements from block to block of X, as the description says it.
std::uint64_t block_stride_of(const CovarianceDesc& desc) noexcept {
    if (desc.block_stride != kDense) return desc.block_stride;
    return std::uint64_t{desc.samples} * (desc.stride == kDense ? desc.n : desc.stride);
}

/// Of a window's blocks of X the first element, and the multiple of kViewAlignment before it, where its view begins.
struct WindowOfX {
    std::uint64_t view_offset = 0;  ///< bytes
    std::uint32_t offset = 0;       ///< elements, in that view
};
WindowOfX window_of_x(const CovarianceDesc& desc, std::uint64_t first_block) noexcept {
    const std::uint64_t first = desc.offset + first_block * block_stride_of(desc);
    constexpr std::uint64_t kAligned = kViewAlignment / sizeof(float);
    return {.view_offset = first / kAligned * kViewAlignment, .offset = static_cast<std::uint32_t>(first % kAligned)};
}

/// Of how many blocks' views a binding holds.
Result<BlockWindows> covariance_windows(const Device& device, const CovarianceDesc& desc) {
    const std::uint64_t matrix = sizeof(float) * desc.n * desc.n;
    const std::uint64_t stride = desc.stride == kDense ? desc.n : desc.stride;
    const std::uint64_t block = sizeof(float) * std::max(block_stride_of(desc), desc.samples * stride);
    const std::uint64_t x = desc.block_stride == 0 || desc.n == 0 ? 0 : block + kViewAlignment;
    return cut_blocks(device, desc.blocks, {matrix}, {x}, "[covariance]");
}

}  // namespace

Result<void> CovariancePlan::Impl::make_parts() {
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        CovarianceDesc part = desc;
        part.blocks = windows.blocks_of(w);
        part.offset = window_of_x(desc, windows.first_of(w)).offset;
        YOLK_TRY(CovariancePlan planned, plan_covariance(*device, part));
        scratch_bytes = std::max(scratch_bytes, planned.impl_->scratch_bytes);
        parts.push_back(std::move(planned));
    }
    return {};
}

Result<CovariancePlan> plan_covariance(const Device& device, const CovarianceDesc& desc) {
    YOLK_TRY_VOID(check_covariance(desc));
    YOLK_TRY(const BlockWindows windows, covariance_windows(device, desc));
    if (!desc.config && windows.is_one())
        return plan_tuned(device, desc, covariance_space(device.info(), desc),
                          default_covariance_config(device.info(), desc), &plan_covariance);
    auto impl = std::make_unique<CovariancePlan::Impl>();
    impl->device = &device;
    impl->desc = desc;
    impl->windows = windows;
    if (impl->windows.is_one()) {
        YOLK_TRY_VOID(impl->lay_out());
        YOLK_TRY_VOID(impl->make_pipelines());
    } else {
        YOLK_TRY_VOID(impl->make_parts());
    }
    CovariancePlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

Result<void> CovariancePlan::Impl::bind_parts(BoundCovariance::Impl& bound, const CovarianceViews& views,
                                              const BufferView& scratch) const {
    const std::uint64_t block = sizeof(float) * desc.n * desc.n;
    const WindowOfX last = window_of_x(desc, windows.first_of(windows.count() - 1));
    const std::uint64_t needed_x = last.view_offset + parts.back().impl_->x_bytes;
    YOLK_TRY_VOID(check_views(
        *device, "[covariance]", {{.view = views.x, .needed_bytes = needed_x, .name = "x", .in_pieces = true}},
        {{.view = views.covariance, .needed_bytes = block * desc.blocks, .name = "covariance", .in_pieces = true},
         {.view = views.damped,
          .needed_bytes = is_damped() ? block * desc.blocks : 0,
          .name = "damped",
          .in_pieces = true},
         {.view = scratch, .needed_bytes = scratch_bytes, .name = "scratch", .in_pieces = true}}));
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        const Impl& part = *parts[w].impl_;
        BufferView x;
        if (part.x_bytes != 0) {
            x = views.x.part(window_of_x(desc, windows.first_of(w)).view_offset, part.x_bytes);
        }
        YOLK_TRY(BoundCovariance one, parts[w].bind({.x = x,
                                                     .covariance = windows.of(views.covariance, w, block),
                                                     .damped = windows.of(views.damped, w, block)},
                                                    piece_of(scratch, 0, part.scratch_bytes)));
        bound.parts.push_back({.bound = std::move(one)});
    }
    return {};
}

Result<BoundCovariance> CovariancePlan::bind(const CovarianceViews& views, const BufferView& scratch) const {
    const Impl& plan = *impl_;
    const CovarianceDesc& desc = plan.desc;
    if (!plan.parts.empty()) {
        BoundCovariance result;
        result.impl_ = std::make_unique<BoundCovariance::Impl>();
        YOLK_TRY_VOID(plan.bind_parts(*result.impl_, views, scratch));
        return result;
    }
    const std::uint64_t damped_bytes = plan.is_damped() ? plan.matrix_bytes : 0;
    YOLK_TRY_VOID(
        check_views(*plan.device, "[covariance]", {{.view = views.x, .needed_bytes = plan.x_bytes, .name = "x"}},
                    {{.view = views.covariance, .needed_bytes = plan.matrix_bytes, .name = "covariance"},
                     {.view = views.damped, .needed_bytes = damped_bytes, .name = "damped"},
                     {.view = scratch, .needed_bytes = plan.scratch_bytes, .name = "scratch", .in_pieces = true}}));
    BoundCovariance result;
    result.impl_ = std::make_unique<BoundCovariance::Impl>();
    BoundCovariance::Impl& bound = *result.impl_;
    bound.desc = desc;
    if (plan.matrix_bytes == 0) return result;
    const BufferView sums = desc.average ? piece_of(scratch, plan.sums_offset, plan.sums_bytes) : views.covariance;
    const BufferView shift =
        plan.is_relative() ? piece_of(scratch, plan.shift_offset, plan.shift_bytes) : views.covariance;
    // Of no samples X has no bytes; matmul does not look at it, then.
    YOLK_TRY(bound.product, plan.product.bind({.a = views.x, .b = views.x, .out = sums}));
    // A binding may not be empty; what a kernel does not touch is bound to something that is there.
    const BufferView damped = plan.is_damped() ? views.damped : views.covariance;
    const std::array all{sums, views.covariance, shift, damped};
    YOLK_TRY(bound.average, plan.device->bind(plan.average, all));
    if (plan.is_relative()) {
        const auto weight = static_cast<float>(static_cast<double>(desc.damping) / desc.n);
        YOLK_TRY(bound.trace, plan.trace.bind(views.covariance, shift, desc.blocks, desc.n, weight));
    }
    if (plan.is_damped()) {
        YOLK_TRY(bound.damp, plan.device->bind(plan.damp, all));
    }
    bound.grid = grid_of(std::uint64_t{desc.blocks} * desc.n * desc.n, kElementWorkgroup, 1);
    return result;
}

void BoundCovariance::record(Recorder& recorder, bool first) const noexcept {
    const Impl& bound = *impl_;
    record_windows(recorder, bound.parts, [&](const BoundCovariance& part) noexcept { part.record(recorder, first); });
    if (bound.grid.groups == 0) return;
    const ScopedLabel label(recorder, "covariance");
    const abi_c::Params params = covariance_params(bound.desc, first);
    bound.product.record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.dispatch(bound.average, params, bound.grid);
    if (bound.trace) {
        recorder.barrier(Barrier::ComputeToCompute);
        bound.trace->record(recorder);
    }
    if (bound.damp) {
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(*bound.damp, params, bound.grid);
    }
}

}  // namespace yolk
