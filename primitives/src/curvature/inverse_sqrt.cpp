// SPDX-License-Identifier: Apache-2.0
#include "yolk/inverse_sqrt.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "block_trace.hpp"
#include "curvature_plan.hpp"
#include "operation_plan.hpp"
#include "row_plan.hpp"
#include "yolk/internal/abi/inverse_sqrt.h"
#include "yolk/internal/shaders/catalogue.hpp"

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
    YOLK_TRY_VOID(check_damping(desc.damping, "damping of [inverse_sqrt]"));
    if (desc.tolerance >= 0x1p-20F && desc.tolerance <= 0.25F) return {};
    return bad_input("tolerance of [inverse_sqrt] is {}; it must be from 2^-20 (9.5e-7) to 1/4.", desc.tolerance);
}

ProductPair inverse_sqrt_products(const InverseSqrtDesc& desc) { return {block_product(desc), block_product(desc)}; }

/// Of the state of a block, and of its row sums.
std::uint64_t scratch_words(const InverseSqrtDesc& desc) { return kElementBytes * std::max(3U, desc.n); }

ViewShape block_view(const InverseSqrtDesc& desc) { return {{{"blocks", desc.blocks}, {"n", desc.n}, {"n", desc.n}}}; }
ViewShape block_status_view(const InverseSqrtDesc& desc) {
    return {.extents = {{"blocks", desc.n == 0 ? 0 : desc.blocks}}, .dtype = DType::U32};
}
ViewShape block_residual_view(const InverseSqrtDesc& desc) { return {{{"blocks", desc.n == 0 ? 0 : desc.blocks}}}; }

}  // namespace

struct InverseSqrtPipelines {
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
};

struct InverseSqrtBindings {
    BoundBlockTrace trace;
    InverseSqrtStage norm, start, begin, residual, decide, direction, finish;
    /// By the parity of the iteration: Z Y, Y times the direction, the direction times Z.
    std::array<BoundMatmul, 2> residual_product, y_product, z_product;

    void record_iteration(Recorder& recorder, abi_i::Params params) const noexcept;
};

namespace {

void lay_out_scratch(const InverseSqrtDesc& desc, InverseSqrtPipelines& made) {
    made.word_bytes = kElementBytes * desc.blocks;
    made.matrix_bytes = made.word_bytes * desc.n * desc.n;
    ScratchPieces pieces;
    for (std::uint64_t& offset : made.matrix_offsets) offset = pieces.add(made.matrix_bytes);
    made.state_offset = pieces.add(3 * made.word_bytes);
    made.row_sums_offset = pieces.add(made.word_bytes * desc.n);
    made.scratch_bytes = pieces.size_bytes();
}

Result<PipelinesOf<InverseSqrtDesc>> build_inverse_sqrt(const Device& device, const InverseSqrtDesc& desc) {
    auto made = std::make_shared<InverseSqrtPipelines>();
    lay_out_scratch(desc, *made);
    MatmulDesc of_product = block_product(desc);
    of_product.config = *desc.config;
    YOLK_TRY(made->product, plan_matmul(device, of_product));
    YOLK_TRY(made->trace, plan_block_trace(device));
    made->rows = default_row_config(device.info());
    const std::array by_row{SpecConstant{abi_i::kSpecWorkgroupSize, row_workgroup_size(made->rows)}};
    const std::array by_element{SpecConstant{abi_i::kSpecWorkgroupSize, kElementWorkgroup}};
    const bool by_invocation = made->rows.row_per_invocation != 0;
    const auto row_kernel = [&](const Kernel<abi_i::Params>& of_group, const Kernel<abi_i::Params>& of_invocation) {
        return device.pipeline(by_invocation ? of_invocation : of_group, by_row);
    };
    YOLK_TRY(made->norm, row_kernel(kernels::kInverseSqrtNormByGroup, kernels::kInverseSqrtNormByInvocation));
    YOLK_TRY(made->residual,
             row_kernel(kernels::kInverseSqrtResidualByGroup, kernels::kInverseSqrtResidualByInvocation));
    YOLK_TRY(made->start, row_kernel(kernels::kInverseSqrtStartByGroup, kernels::kInverseSqrtStartByInvocation));
    YOLK_TRY(made->decide, row_kernel(kernels::kInverseSqrtDecideByGroup, kernels::kInverseSqrtDecideByInvocation));
    YOLK_TRY(made->begin, device.pipeline(kernels::kInverseSqrtBegin, by_element));
    YOLK_TRY(made->direction, device.pipeline(kernels::kInverseSqrtDirection, by_element));
    YOLK_TRY(made->finish, device.pipeline(kernels::kInverseSqrtFinish, by_element));
    return PipelinesOf<InverseSqrtDesc>(std::move(made));
}

MemoryNeeds inverse_sqrt_scratch(const InverseSqrtDesc& /*desc*/, const PipelinesOf<InverseSqrtDesc>& made) {
    return {.size_bytes = made->scratch_bytes};
}

Result<BindingsOf<InverseSqrtDesc>> bind_inverse_sqrt(const Device& device, const InverseSqrtDesc& desc,
                                                      const PipelinesOf<InverseSqrtDesc>& made,
                                                      const InverseSqrtViews& views, const BufferView& scratch) {
    auto bound = std::make_shared<InverseSqrtBindings>();
    const auto matrix = [&](std::size_t i) { return piece_of(scratch, made->matrix_offsets[i], made->matrix_bytes); };
    const std::array y{matrix(0), matrix(1)};
    const std::array z{matrix(2), matrix(3)};
    const BufferView zy = matrix(4);
    const BufferView state = piece_of(scratch, made->state_offset, 3 * made->word_bytes);
    const BufferView row_sums = piece_of(scratch, made->row_sums_offset, made->word_bytes * desc.n);
    const auto damping = static_cast<float>(static_cast<double>(desc.damping) / desc.n);
    YOLK_TRY(bound->trace, made->trace.bind(views.in, state, desc.blocks, desc.n, damping));

    const std::uint64_t elements = std::uint64_t{desc.blocks} * desc.n * desc.n;
    const LinearGrid by_element = grid_of(elements, kElementWorkgroup, 2);
    const LinearGrid by_block = row_grid(desc.blocks, desc.n, 1, made->rows);
    const LinearGrid by_row = row_grid(std::uint64_t{desc.blocks} * desc.n, desc.n, 2, made->rows);
    const auto add = [&](InverseSqrtStage& stage, const PipelineOf<abi_i::Params>& pipeline, const LinearGrid& grid,
                         const BufferView& read, const BufferView& first, const BufferView& second) -> Result<void> {
        stage.grid = grid;
        YOLK_TRY(stage.binding,
                 device.bind(pipeline, std::array{read, state, row_sums, views.status, views.residual, first, second}));
        return {};
    };
    YOLK_TRY_VOID(add(bound->norm, made->norm, by_row, views.in, y[0], z[0]));
    YOLK_TRY_VOID(add(bound->start, made->start, by_block, views.in, y[0], z[0]));
    YOLK_TRY_VOID(add(bound->begin, made->begin, by_element, views.in, y[0], z[0]));
    YOLK_TRY_VOID(add(bound->residual, made->residual, by_row, zy, y[0], z[0]));
    YOLK_TRY_VOID(add(bound->decide, made->decide, by_block, zy, y[0], z[0]));
    YOLK_TRY_VOID(add(bound->direction, made->direction, by_element, views.in, zy, z[0]));
    YOLK_TRY_VOID(add(bound->finish, made->finish, by_element, z[desc.max_iterations % 2], views.out, y[0]));
    for (std::size_t from = 0; from < 2; ++from) {
        const std::size_t to = 1 - from;
        YOLK_TRY(bound->residual_product[from], made->product.bind({.a = z[from], .b = y[from], .out = zy}));
        YOLK_TRY(bound->y_product[from], made->product.bind({.a = y[from], .b = zy, .out = y[to]}));
        YOLK_TRY(bound->z_product[from], made->product.bind({.a = zy, .b = z[from], .out = z[to]}));
    }
    return BindingsOf<InverseSqrtDesc>(std::move(bound));
}

}  // namespace

void InverseSqrtBindings::record_iteration(Recorder& recorder, abi_i::Params params) const noexcept {
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

namespace {

void record_inverse_sqrt(Recorder& recorder, const BindingsOf<InverseSqrtDesc>& bound,
                         const InverseSqrtDesc& desc) noexcept {
    abi_i::Params params{.blocks = desc.blocks,
                         .n = desc.n,
                         .iteration = 0,
                         .one_over_n = static_cast<float>(1.0 / desc.n),
                         .tolerance = desc.tolerance};
    bound->trace.record(recorder);
    for (const InverseSqrtStage* stage : {&bound->norm, &bound->start, &bound->begin}) {
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(stage->binding, params, stage->grid);
    }
    recorder.barrier(Barrier::ComputeToCompute);
    while (params.iteration < desc.max_iterations) {
        ++params.iteration;
        bound->record_iteration(recorder, params);
    }
    recorder.dispatch(bound->finish.binding, params, bound->finish.grid);
}

}  // namespace

template <>
const Operation<InverseSqrtDesc>& operation_of<InverseSqrtDesc>() {
    using Desc = InverseSqrtDesc;
    using Views = InverseSqrtViews;
    using OfProducts = Products<Desc, &inverse_sqrt_products>;
    static const Operation<Desc> kOperation{
        .name = "inverse_sqrt",
        .fields = {"inverse_sqrt",
                   {extent<&Desc::n>("n").from(0, kMaxBlockSize), extent<&Desc::blocks>("blocks"),
                    variant<&Desc::max_iterations>("max_iterations").from(1, kMaxIterations).in_no_key()}},
        .views = {{"in", ViewRole::Input, &Views::in, &block_view},
                  {"out", ViewRole::Output, &Views::out, &block_view},
                  {"status", ViewRole::Output, &Views::status, &block_status_view},
                  {"residual", ViewRole::Output, &Views::residual, &block_residual_view}},
        .knobs = &OfProducts::knobs,
        .legal = &OfProducts::legal,
        .heuristic = &OfProducts::heuristic,
        .check = &check_inverse_sqrt,
        .blocks = {.count = &Desc::blocks, .other_bytes = &scratch_words},
        .scratch_in_pieces = true,
        .build = &build_inverse_sqrt,
        .scratch = &inverse_sqrt_scratch,
        .bind = &bind_inverse_sqrt,
        .record = &record_inverse_sqrt,
    };
    return kOperation;
}
template class Plan<InverseSqrtDesc>;

}  // namespace yolk
