// SPDX-License-Identifier: Apache-2.0
#include "yolk/covariance.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "block_trace.hpp"
#include "curvature_plan.hpp"
#include "matmul_layout.hpp"
#include "operation_plan.hpp"
#include "yolk/internal/abi/covariance.h"
#include "yolk/internal/shaders/catalogue.hpp"

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
    YOLK_TRY_VOID(check_damping(desc.damping, "damping of [covariance]"));
    if (desc.stride != kDense && desc.stride < desc.n) {
        return bad_input("The stride of x of [covariance] is {}; its rows have {} elements. Give at least that.",
                         desc.stride, desc.n);
    }
    if (desc.average && !(desc.decay >= 0.0F && desc.decay < 1.0F)) {
        return bad_input("decay of [covariance] is {}; it must be at least 0 and below 1.", desc.decay);
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

bool is_damped(const CovarianceDesc& desc) noexcept { return desc.damping_kind != CovarianceDamping::None; }
bool is_relative(const CovarianceDesc& desc) noexcept { return desc.damping_kind == CovarianceDamping::Relative; }

ProductPair covariance_products(const CovarianceDesc& desc) {
    const MatmulDesc product = samples_product(desc);
    return {product, product};
}

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

void move_covariance(CovarianceDesc& desc, std::uint32_t first_block) {
    desc.offset = window_of_x(desc, first_block).offset;
}
std::uint64_t begin_of_x(const CovarianceDesc& desc, std::uint32_t first_block) {
    return window_of_x(desc, first_block).view_offset;
}
/// Of X: a block, or from one to the next where that is more, and what lies before the first in its view.
std::uint64_t block_of_x(const CovarianceDesc& desc) {
    if (desc.block_stride == 0 || desc.n == 0) return 0;
    const std::uint64_t stride = desc.stride == kDense ? desc.n : desc.stride;
    return kElementBytes * std::max(block_stride_of(desc), desc.samples * stride) + kViewAlignment;
}

/// Nothing where building it is refused.
ViewShape x_view(const CovarianceDesc& desc) {
    const Result<MatmulLayout> layout = lay_out_matmul(samples_product(desc));
    return {{{"elements", layout && desc.n != 0 && desc.blocks != 0 ? layout->b_bytes / kElementBytes : 0}}};
}
ViewShape covariance_view(const CovarianceDesc& desc) {
    return {.extents = {{"blocks", desc.blocks}, {"n", desc.n}, {"n", desc.n}},
            .role = desc.average ? ViewRole::InOut : ViewRole::Output};
}
ViewShape damped_view(const CovarianceDesc& desc) {
    return {.extents = {{"blocks", desc.blocks}, {"n", desc.n}, {"n", desc.n}}, .used = is_damped(desc)};
}
ViewShape left_out_view(const CovarianceDesc& desc) {
    return {.extents = {{"blocks", desc.n == 0 ? 0U : desc.blocks}},
            .dtype = DType::U32,
            .used = desc.average && desc.reports_left_out};
}

}  // namespace

struct CovariancePipelines {
    std::uint64_t sums_bytes = 0;        ///< of scratch, at its beginning: with an average
    std::uint64_t sums_trace_bytes = 0;  ///< of scratch: with an average
    std::uint64_t sums_trace_offset = 0;
    std::uint64_t shift_bytes = 0;  ///< of scratch: for relative damping
    std::uint64_t shift_offset = 0;
    std::uint64_t scratch_bytes = 0;
    MatmulPlan product;
    BlockTracePlan trace;
    PipelineOf<abi_c::Params> average;
    PipelineOf<abi_c::Params> damp;
};

struct CovarianceBindings {
    BoundMatmul product;
    std::optional<BoundBlockTrace> sums_trace;
    BindingOf<abi_c::Params> average;
    std::optional<BoundBlockTrace> trace;
    std::optional<BindingOf<abi_c::Params>> damp;
    LinearGrid grid{};
};

namespace {

Result<PipelinesOf<CovarianceDesc>> build_covariance(const Device& device, const CovarianceDesc& desc) {
    auto made = std::make_shared<CovariancePipelines>();
    Result<MatmulLayout> layout = lay_out_matmul(samples_product(desc));
    if (!layout) return std::move(layout).error().while_doing("planning [covariance]");
    made->sums_bytes = desc.average ? kElementBytes * desc.blocks * desc.n * desc.n : 0;
    made->sums_trace_bytes = desc.average ? kElementBytes * desc.blocks : 0;
    made->shift_bytes = is_relative(desc) ? kElementBytes * desc.blocks : 0;
    ScratchPieces pieces;
    (void)pieces.add(made->sums_bytes);
    made->sums_trace_offset = pieces.add(made->sums_trace_bytes);
    made->shift_offset = pieces.add(made->shift_bytes);
    made->scratch_bytes = pieces.size_bytes();
    MatmulDesc of_product = samples_product(desc);
    of_product.config = *desc.config;
    YOLK_TRY(made->product, plan_matmul(device, of_product));
    const SpecConstant workgroup{abi_c::kSpecWorkgroupSize, kElementWorkgroup};
    const std::array of_average{workgroup, SpecConstant{abi_c::kSpecAverages, desc.average ? 1U : 0U},
                                SpecConstant{abi_c::kSpecReports, desc.reports_left_out ? 1U : 0U}};
    const std::array of_damp{workgroup, SpecConstant{abi_c::kSpecRelative, is_relative(desc) ? 1U : 0U}};
    YOLK_TRY(made->average, device.pipeline(kernels::kCovarianceAverage, of_average));
    if (is_relative(desc) || desc.average) {
        YOLK_TRY(made->trace, plan_block_trace(device));
    }
    if (is_damped(desc)) {
        YOLK_TRY(made->damp, device.pipeline(kernels::kCovarianceDamp, of_damp));
    }
    return PipelinesOf<CovarianceDesc>(std::move(made));
}

MemoryNeeds covariance_scratch(const CovarianceDesc& /*desc*/, const PipelinesOf<CovarianceDesc>& made) {
    return {.size_bytes = made->scratch_bytes};
}

Result<BindingsOf<CovarianceDesc>> bind_covariance(const Device& device, const CovarianceDesc& desc,
                                                   const PipelinesOf<CovarianceDesc>& made,
                                                   const CovarianceViews& views, const BufferView& scratch) {
    auto bound = std::make_shared<CovarianceBindings>();
    const BufferView sums = desc.average ? piece_of(scratch, 0, made->sums_bytes) : views.covariance;
    const BufferView shift =
        is_relative(desc) ? piece_of(scratch, made->shift_offset, made->shift_bytes) : views.covariance;
    // Of no samples X has no bytes; matmul does not look at it, then.
    YOLK_TRY(bound->product, made->product.bind({.a = views.x, .b = views.x, .out = sums}));
    // A binding may not be empty; what a kernel does not touch is bound to something that is there.
    const BufferView damped = is_damped(desc) ? views.damped : views.covariance;
    const BufferView sums_trace =
        desc.average ? piece_of(scratch, made->sums_trace_offset, made->sums_trace_bytes) : views.covariance;
    const BufferView left_out = views.left_out.empty() ? views.covariance : views.left_out;
    const std::array all{sums, views.covariance, shift, damped, sums_trace, left_out};
    YOLK_TRY(bound->average, device.bind(made->average, all));
    if (desc.average) {
        YOLK_TRY(bound->sums_trace, made->trace.bind(sums, sums_trace, desc.blocks, desc.n, 1.0F));
    }
    if (is_relative(desc)) {
        const auto weight = static_cast<float>(static_cast<double>(desc.damping) / desc.n);
        YOLK_TRY(bound->trace, made->trace.bind(views.covariance, shift, desc.blocks, desc.n, weight));
    }
    if (is_damped(desc)) {
        YOLK_TRY(bound->damp, device.bind(made->damp, all));
    }
    bound->grid = grid_of(std::uint64_t{desc.blocks} * desc.n * desc.n, kElementWorkgroup, 1);
    return BindingsOf<CovarianceDesc>(std::move(bound));
}

void record_covariance(Recorder& recorder, const BindingsOf<CovarianceDesc>& bound, const CovarianceDesc& desc,
                       OrDefault<bool> first) noexcept {
    const abi_c::Params params = covariance_params(desc, first.value);
    bound->product.record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    if (bound->sums_trace) {
        bound->sums_trace->record(recorder);
        recorder.barrier(Barrier::ComputeToCompute);
    }
    recorder.dispatch(bound->average, params, bound->grid);
    if (bound->trace) {
        recorder.barrier(Barrier::ComputeToCompute);
        bound->trace->record(recorder);
    }
    if (bound->damp) {
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(*bound->damp, params, bound->grid);
    }
}

}  // namespace

template <>
const Operation<CovarianceDesc>& operation_of<CovarianceDesc>() {
    using Desc = CovarianceDesc;
    using Views = CovarianceViews;
    using OfProduct = Products<Desc, &covariance_products>;
    static const Operation<Desc> kOperation{
        .name = "covariance",
        .fields = {"covariance",
                   {extent<&Desc::n>("n").from(0, kMaxBlockSize), extent<&Desc::samples>("samples"),
                    extent<&Desc::blocks>("blocks"), variant<&Desc::average>("average"),
                    variant<&Desc::damping_kind>("damping").in_no_key()}},
        .views =
            {{.name = "x", .role = ViewRole::Input, .view = &Views::x, .shape = &x_view, .window_begin = &begin_of_x},
             {"covariance", ViewRole::Output, &Views::covariance, &covariance_view},
             {"damped", ViewRole::Output, &Views::damped, &damped_view},
             {"left_out", ViewRole::Output, &Views::left_out, &left_out_view}},
        .knobs = &OfProduct::knobs,
        .legal = &OfProduct::legal,
        .heuristic = &OfProduct::heuristic,
        .check = &check_covariance,
        .blocks = {.count = &Desc::blocks, .other_bytes = &block_of_x, .move = &move_covariance},
        .scratch_in_pieces = true,
        .build = &build_covariance,
        .scratch = &covariance_scratch,
        .bind = &bind_covariance,
        .record = &record_covariance,
    };
    return kOperation;
}
template class Plan<CovarianceDesc>;

}  // namespace yolk
