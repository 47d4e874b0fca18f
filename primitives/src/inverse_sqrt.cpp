// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/inverse_sqrt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "block_trace.hpp"
#include "block_windows.hpp"
#include "curvature_plan.hpp"
#include "plan_checks.hpp"
#include "row_plan.hpp"
#include "tuned_plan.hpp"
#include "yolk/abi/inverse_sqrt.h"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace abi_i = abi::inverse_sqrt;

/// One dispatch that all iterations make, but for the buffers that change places.
struct InverseSqrtStage {
    BindingOf<abi_i::Params> binding;
    LinearGrid grid{};
};

namespace {

constexpr std::uint32_t kMaxIterations = 256;

MatmulDesc block_product(const InverseSqrtDesc& desc) {
    return {.m = desc.n,
            .n = desc.n,
            .k = desc.n,
            .batch = desc.blocks,
            .a = {},
            .b = {},
            .out = {},
            .residual = {},
            .determinism = Determinism::Exact};
}

Result<void> check_inverse_sqrt(const InverseSqrtDesc& desc) {
    YOLK_TRY_VOID(check_range(desc.n, 0, kMaxBlockSize, "n of [inverse_sqrt]"));
    YOLK_TRY_VOID(check_damping(desc.damping, "damping of [inverse_sqrt]"));
    YOLK_TRY_VOID(check_range(desc.max_iterations, 1, kMaxIterations, "max_iterations of [inverse_sqrt]"));
    if (desc.tolerance >= 0x1p-20F && desc.tolerance <= 0.25F) return {};
    return bad_input(
        fmt::format("tolerance of [inverse_sqrt] is {}; it must be from 2^-20 (9.5e-7) to 1/4.", desc.tolerance));
}

}  // namespace

ConfigSpace<MatmulConfig> inverse_sqrt_space(const DeviceInfo& info, const InverseSqrtDesc& desc) {
    const MatmulDesc product = block_product(desc);
    return product_space("inverse_sqrt", info, {product, product},
                         {.variant = "f32", .extents = {desc.n, desc.blocks}});
}

MatmulConfig default_inverse_sqrt_config(const DeviceInfo& info, const InverseSqrtDesc& desc) {
    const MatmulDesc product = block_product(desc);
    return default_product_config(info, product, product);
}

struct InverseSqrtPlan::Impl {
    const Device* device = nullptr;
    InverseSqrtDesc desc;
    RowConfig rows;  ///< of the kernels on rows
    std::uint64_t matrix_bytes = 0;
    std::uint64_t word_bytes = 0;                   ///< of status and residual
    std::array<std::uint64_t, 5> matrix_offsets{};  ///< of scratch: Y twice, Z twice, Z Y
    std::uint64_t state_offset = 0;
    std::uint64_t row_sums_offset = 0;
    std::uint64_t scratch_bytes = 0;
    MatmulPlan product;
    BlockTracePlan trace;
    PipelineOf<abi_i::Params> norm, residual, start, decide, begin, direction, finish;

    BlockWindows windows;
    std::vector<InverseSqrtPlan> parts;  ///< a plan for each window, where there are several; then the rest is unused
    std::uint64_t words_offset = 0;      ///< of scratch: a window's status and residual; they come first

    [[nodiscard]] Result<void> lay_out();
    [[nodiscard]] Result<void> make_pipelines();
    [[nodiscard]] Result<void> make_parts();
    [[nodiscard]] Result<void> bind_parts(BoundInverseSqrt::Impl& bound, const InverseSqrtViews& views,
                                          const BufferView& scratch) const;
    [[nodiscard]] std::uint64_t state_bytes() const noexcept { return 3 * word_bytes; }
    [[nodiscard]] std::uint64_t row_sums_bytes() const noexcept { return word_bytes * desc.n; }
};

struct BoundInverseSqrt::Impl {
    std::vector<BoundWindow<BoundInverseSqrt>> parts{};
    InverseSqrtDesc desc;
    BoundBlockTrace trace;
    InverseSqrtStage norm, start, begin, residual, decide, direction, finish;
    /// By the parity of the iteration: Z Y, Y times the direction, the direction times Z.
    std::array<BoundMatmul, 2> residual_product, y_product, z_product;

    void record_iteration(Recorder& recorder, abi_i::Params params) const noexcept;
};

InverseSqrtPlan::InverseSqrtPlan() noexcept = default;
InverseSqrtPlan::~InverseSqrtPlan() = default;
InverseSqrtPlan::InverseSqrtPlan(InverseSqrtPlan&&) noexcept = default;
InverseSqrtPlan& InverseSqrtPlan::operator=(InverseSqrtPlan&&) noexcept = default;
BoundInverseSqrt::BoundInverseSqrt() noexcept = default;
BoundInverseSqrt::~BoundInverseSqrt() = default;
BoundInverseSqrt::BoundInverseSqrt(BoundInverseSqrt&&) noexcept = default;
BoundInverseSqrt& BoundInverseSqrt::operator=(BoundInverseSqrt&&) noexcept = default;

MemoryNeeds InverseSqrtPlan::scratch() const noexcept { return {.size_bytes = impl_->scratch_bytes}; }

Result<void> InverseSqrtPlan::Impl::lay_out() {
    YOLK_TRY(matrix_bytes, binding_bytes(*device, {desc.blocks, desc.n, desc.n}, "the in view of [inverse_sqrt]"));
    if (matrix_bytes == 0) return {};
    word_bytes = sizeof(float) * desc.blocks;
    ScratchPieces pieces;
    for (std::uint64_t& offset : matrix_offsets) offset = pieces.add(matrix_bytes);
    state_offset = pieces.add(state_bytes());
    row_sums_offset = pieces.add(row_sums_bytes());
    scratch_bytes = pieces.size_bytes();
    return {};
}

Result<void> InverseSqrtPlan::Impl::make_pipelines() {
    MatmulDesc of_product = block_product(desc);
    of_product.config = *desc.config;
    YOLK_TRY_VOID(inverse_sqrt_space(device->info(), desc).check(*of_product.config));
    if (matrix_bytes == 0) return {};
    YOLK_TRY(product, plan_matmul(*device, of_product));
    YOLK_TRY(trace, plan_block_trace(*device));
    rows = default_row_config(device->info());
    const std::array by_row{SpecConstant{abi_i::kSpecWorkgroupSize, row_workgroup_size(rows)}};
    const std::array by_element{SpecConstant{abi_i::kSpecWorkgroupSize, kElementWorkgroup}};
    const bool by_invocation = rows.row_per_invocation != 0;
    const auto row_kernel = [&](const Kernel<abi_i::Params>& of_group, const Kernel<abi_i::Params>& of_invocation) {
        return device->pipeline(by_invocation ? of_invocation : of_group, by_row);
    };
    YOLK_TRY(norm, row_kernel(kernels::kInverseSqrtNormByGroup, kernels::kInverseSqrtNormByInvocation));
    YOLK_TRY(residual, row_kernel(kernels::kInverseSqrtResidualByGroup, kernels::kInverseSqrtResidualByInvocation));
    YOLK_TRY(start, row_kernel(kernels::kInverseSqrtStartByGroup, kernels::kInverseSqrtStartByInvocation));
    YOLK_TRY(decide, row_kernel(kernels::kInverseSqrtDecideByGroup, kernels::kInverseSqrtDecideByInvocation));
    YOLK_TRY(begin, device->pipeline(kernels::kInverseSqrtBegin, by_element));
    YOLK_TRY(direction, device->pipeline(kernels::kInverseSqrtDirection, by_element));
    YOLK_TRY(finish, device->pipeline(kernels::kInverseSqrtFinish, by_element));
    return {};
}

Result<void> InverseSqrtPlan::Impl::make_parts() {
    std::uint64_t largest = 0;
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        InverseSqrtDesc part = desc;
        part.blocks = windows.blocks_of(w);
        YOLK_TRY(InverseSqrtPlan planned, plan_inverse_sqrt(*device, part));
        largest = std::max(largest, planned.impl_->scratch_bytes);
        parts.push_back(std::move(planned));
    }
    ScratchPieces pieces;
    (void)pieces.add(largest);
    words_offset = pieces.add(sizeof(float) * windows.per_window);
    (void)pieces.add(sizeof(float) * windows.per_window);
    scratch_bytes = pieces.size_bytes();
    return {};
}

Result<InverseSqrtPlan> plan_inverse_sqrt(const Device& device, const InverseSqrtDesc& desc) {
    YOLK_TRY_VOID(check_inverse_sqrt(desc));
    YOLK_TRY(const BlockWindows windows, cut_blocks(device, desc.blocks, {sizeof(float) * desc.n * desc.n},
                                                    {3 * sizeof(float), sizeof(float) * desc.n}, "[inverse_sqrt]"));
    if (!desc.config && windows.is_one())
        return plan_tuned(device, desc, inverse_sqrt_space(device.info(), desc),
                          default_inverse_sqrt_config(device.info(), desc), &plan_inverse_sqrt);
    auto impl = std::make_unique<InverseSqrtPlan::Impl>();
    impl->device = &device;
    impl->desc = desc;
    impl->windows = windows;
    if (impl->windows.is_one()) {
        YOLK_TRY_VOID(impl->lay_out());
        YOLK_TRY_VOID(impl->make_pipelines());
    } else {
        YOLK_TRY_VOID(impl->make_parts());
    }
    InverseSqrtPlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

Result<void> InverseSqrtPlan::Impl::bind_parts(BoundInverseSqrt::Impl& bound, const InverseSqrtViews& views,
                                               const BufferView& scratch) const {
    const std::uint64_t block = sizeof(float) * desc.n * desc.n;
    const std::uint64_t words = sizeof(float) * desc.blocks;
    YOLK_TRY_VOID(
        check_views(*device, "[inverse_sqrt]",
                    {{.view = views.in, .needed_bytes = block * desc.blocks, .name = "in", .in_pieces = true}},
                    {{.view = views.out, .needed_bytes = block * desc.blocks, .name = "out", .in_pieces = true},
                     {.view = views.status, .needed_bytes = words, .name = "status", .in_pieces = true},
                     {.view = views.residual, .needed_bytes = words, .name = "residual", .in_pieces = true},
                     {.view = scratch, .needed_bytes = scratch_bytes, .name = "scratch", .in_pieces = true}}));
    const std::uint64_t piece = round_up(sizeof(float) * windows.per_window, kViewAlignment);
    for (std::uint32_t w = 0; w < windows.count(); ++w) {
        const std::uint64_t window_words = sizeof(float) * windows.blocks_of(w);
        const BufferView statuses = piece_of(scratch, words_offset, window_words);
        const BufferView residuals = piece_of(scratch, words_offset + piece, window_words);
        YOLK_TRY(BoundInverseSqrt one, parts[w].bind({.in = windows.of(views.in, w, block),
                                                      .out = windows.of(views.out, w, block),
                                                      .status = statuses,
                                                      .residual = residuals},
                                                     piece_of(scratch, 0, parts[w].impl_->scratch_bytes)));
        bound.parts.push_back({.bound = std::move(one),
                               .copies = {{statuses, windows.of(views.status, w, sizeof(float))},
                                          {residuals, windows.of(views.residual, w, sizeof(float))}}});
    }
    return {};
}

Result<BoundInverseSqrt> InverseSqrtPlan::bind(const InverseSqrtViews& views, const BufferView& scratch) const {
    const Impl& plan = *impl_;
    const InverseSqrtDesc& desc = plan.desc;
    if (!plan.parts.empty()) {
        BoundInverseSqrt windowed;
        windowed.impl_ = std::make_unique<BoundInverseSqrt::Impl>();
        YOLK_TRY_VOID(plan.bind_parts(*windowed.impl_, views, scratch));
        return windowed;
    }
    YOLK_TRY_VOID(check_views(
        *plan.device, "[inverse_sqrt]", {{.view = views.in, .needed_bytes = plan.matrix_bytes, .name = "in"}},
        {{.view = views.out, .needed_bytes = plan.matrix_bytes, .name = "out"},
         {.view = views.status, .needed_bytes = plan.word_bytes, .name = "status"},
         {.view = views.residual, .needed_bytes = plan.word_bytes, .name = "residual"},
         {.view = scratch, .needed_bytes = plan.scratch_bytes, .name = "scratch", .in_pieces = true}}));
    BoundInverseSqrt result;
    result.impl_ = std::make_unique<BoundInverseSqrt::Impl>();
    BoundInverseSqrt::Impl& bound = *result.impl_;
    bound.desc = desc;
    if (plan.matrix_bytes == 0) return result;
    const auto matrix = [&](std::size_t i) { return piece_of(scratch, plan.matrix_offsets[i], plan.matrix_bytes); };
    const std::array y{matrix(0), matrix(1)};
    const std::array z{matrix(2), matrix(3)};
    const BufferView zy = matrix(4);
    const BufferView state = piece_of(scratch, plan.state_offset, plan.state_bytes());
    const BufferView row_sums = piece_of(scratch, plan.row_sums_offset, plan.row_sums_bytes());
    const auto damping = static_cast<float>(static_cast<double>(desc.damping) / desc.n);
    YOLK_TRY(bound.trace, plan.trace.bind(views.in, state, desc.blocks, desc.n, damping));

    const std::uint64_t elements = std::uint64_t{desc.blocks} * desc.n * desc.n;
    const LinearGrid by_element = grid_of(elements, kElementWorkgroup, 2);
    const LinearGrid by_block = row_grid(desc.blocks, desc.n, 1, plan.rows);
    const LinearGrid by_row = row_grid(std::uint64_t{desc.blocks} * desc.n, desc.n, 2, plan.rows);
    const auto add = [&](InverseSqrtStage& stage, const PipelineOf<abi_i::Params>& pipeline, const LinearGrid& grid,
                         const BufferView& read, const BufferView& first, const BufferView& second) -> Result<void> {
        stage.grid = grid;
        YOLK_TRY(stage.binding, plan.device->bind(pipeline, std::array{read, state, row_sums, views.status,
                                                                       views.residual, first, second}));
        return {};
    };
    YOLK_TRY_VOID(add(bound.norm, plan.norm, by_row, views.in, y[0], z[0]));
    YOLK_TRY_VOID(add(bound.start, plan.start, by_block, views.in, y[0], z[0]));
    YOLK_TRY_VOID(add(bound.begin, plan.begin, by_element, views.in, y[0], z[0]));
    YOLK_TRY_VOID(add(bound.residual, plan.residual, by_row, zy, y[0], z[0]));
    YOLK_TRY_VOID(add(bound.decide, plan.decide, by_block, zy, y[0], z[0]));
    YOLK_TRY_VOID(add(bound.direction, plan.direction, by_element, views.in, zy, z[0]));
    YOLK_TRY_VOID(add(bound.finish, plan.finish, by_element, z[desc.max_iterations % 2], views.out, y[0]));
    for (std::size_t from = 0; from < 2; ++from) {
        const std::size_t to = 1 - from;
        YOLK_TRY(bound.residual_product[from], plan.product.bind({.a = z[from], .b = y[from], .out = zy}));
        YOLK_TRY(bound.y_product[from], plan.product.bind({.a = y[from], .b = zy, .out = y[to]}));
        YOLK_TRY(bound.z_product[from], plan.product.bind({.a = zy, .b = z[from], .out = z[to]}));
    }
    return result;
}

void BoundInverseSqrt::Impl::record_iteration(Recorder& recorder, abi_i::Params params) const noexcept {
    const std::size_t from = (params.iteration - 1) % 2;
    residual_product[from].record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.dispatch(residual.binding, params, residual.grid);
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.dispatch(decide.binding, params, decide.grid);
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.dispatch(direction.binding, params, direction.grid);
    recorder.barrier(Barrier::ComputeToCompute);
    y_product[from].record(recorder);
    z_product[from].record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
}

void BoundInverseSqrt::record(Recorder& recorder) const noexcept {
    const Impl& bound = *impl_;
    const InverseSqrtDesc& desc = bound.desc;
    record_windows(recorder, bound.parts, [&](const BoundInverseSqrt& part) noexcept { part.record(recorder); });
    if (!bound.parts.empty() || desc.n == 0 || desc.blocks == 0) return;
    const ScopedLabel label(recorder, "inverse_sqrt");
    abi_i::Params params{.blocks = desc.blocks,
                         .n = desc.n,
                         .iteration = 0,
                         .one_over_n = static_cast<float>(1.0 / desc.n),
                         .tolerance = desc.tolerance};
    bound.trace.record(recorder);
    for (const InverseSqrtStage* stage : {&bound.norm, &bound.start, &bound.begin}) {
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(stage->binding, params, stage->grid);
    }
    recorder.barrier(Barrier::ComputeToCompute);
    while (params.iteration < desc.max_iterations) {
        ++params.iteration;
        bound.record_iteration(recorder, params);
    }
    recorder.dispatch(bound.finish.binding, params, bound.finish.grid);
}

}  // namespace yolk
