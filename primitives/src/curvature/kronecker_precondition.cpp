// SPDX-License-Identifier: Apache-2.0
#include "yolk/kronecker_precondition.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "block_trace.hpp"
#include "curvature_plan.hpp"
#include "operation_plan.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/internal/abi/kronecker_precondition.h"
#include "yolk/internal/shaders/catalogue.hpp"

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

ProductPair kronecker_products(const KroneckerPreconditionDesc& desc) {
    return {left_product_of(desc), right_product_of(desc)};
}

bool inverts(const KroneckerPreconditionDesc& desc) noexcept { return desc.factors == KroneckerFactors::Covariances; }

/// Without a gradient factors are not looked at.
std::uint32_t used_blocks(const KroneckerPreconditionDesc& desc) noexcept {
    return desc.n_out == 0 || desc.n_in == 0 ? 0 : desc.blocks;
}
ViewShape factor_out_view(const KroneckerPreconditionDesc& desc) {
    return {{{"blocks", used_blocks(desc)}, {"n_out", desc.n_out}, {"n_out", desc.n_out}}};
}
ViewShape factor_in_view(const KroneckerPreconditionDesc& desc) {
    return {{{"blocks", used_blocks(desc)}, {"n_in", desc.n_in}, {"n_in", desc.n_in}}};
}
ViewShape kronecker_step_view(const KroneckerPreconditionDesc& desc) {
    return {{{"blocks", desc.blocks}, {"n_out", desc.n_out}, {"n_in", desc.n_in}}};
}
ViewShape kronecker_status_view(const KroneckerPreconditionDesc& desc) {
    return {.extents = {{"blocks", used_blocks(desc)}}, .dtype = DType::U32, .used = inverts(desc)};
}
/// Of a pair's words in scratch.
std::uint64_t pair_words(const KroneckerPreconditionDesc& /*desc*/) { return 2 * kElementBytes; }

}  // namespace

/// One of the two factors.
struct FactorPlan {
    std::uint32_t n = 0;
    std::uint64_t matrix_bytes = 0;
    std::uint64_t inverse_offset = 0;  ///< of scratch
    BlockInversePlan inverse;
};

struct KroneckerPreconditionPipelines {
    std::uint64_t step_bytes = 0;
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

    [[nodiscard]] std::uint64_t pair_bytes() const noexcept { return 2 * sizeof(float) * pair_stride; }
};

struct KroneckerPreconditionBindings {
    BoundMatmul left, right;
    std::array<BoundBlockTrace, 2> traces;
    std::array<BoundBlockInverse, 2> inverses;
    BindingOf<abi_k::Params> damping, status, zero;
    std::uint32_t pair_stride = 0;
};

namespace {

Result<void> make_inverses(const Device& device, const KroneckerPreconditionDesc& desc,
                           KroneckerPreconditionPipelines& made) {
    for (FactorPlan& factor : made.factors) {
        YOLK_TRY(factor.inverse,
                 plan_block_inverse(device,
                                    {.n = factor.n, .blocks = desc.blocks, .damping_per_block = true, .retries = 0}));
        made.inverse_scratch_bytes = std::max(made.inverse_scratch_bytes, factor.inverse.scratch().size_bytes);
    }
    YOLK_TRY(made.trace, plan_block_trace(device));
    const std::array constants{SpecConstant{abi_k::kSpecWorkgroupSize, kElementWorkgroup}};
    YOLK_TRY(made.damping, device.pipeline(kernels::kKroneckerDamping, constants));
    YOLK_TRY(made.status, device.pipeline(kernels::kKroneckerStatus, constants));
    YOLK_TRY(made.zero, device.pipeline(kernels::kKroneckerZero, constants));
    return {};
}

void lay_out_factors(const KroneckerPreconditionDesc& desc, KroneckerPreconditionPipelines& made) {
    ScratchPieces pieces;
    made.product_offset = pieces.add(made.step_bytes);
    if (inverts(desc)) {
        for (FactorPlan& factor : made.factors) factor.inverse_offset = pieces.add(factor.matrix_bytes);
        for (std::uint64_t* offset :
             {&made.means_offset, &made.dampings_offset, &made.statuses_offset, &made.residuals_offset})
            *offset = pieces.add(made.pair_bytes());
        made.inverse_scratch_offset = pieces.add(made.inverse_scratch_bytes);
    }
    made.scratch_bytes = pieces.size_bytes();
}

Result<PipelinesOf<KroneckerPreconditionDesc>> build_kronecker(const Device& device,
                                                               const KroneckerPreconditionDesc& desc) {
    auto made = std::make_shared<KroneckerPreconditionPipelines>();
    made->step_bytes = kElementBytes * desc.blocks * desc.n_out * desc.n_in;
    made->pair_stride = static_cast<std::uint32_t>(round_up(desc.blocks, kViewAlignment / sizeof(float)));
    made->factors[0].n = desc.n_in;
    made->factors[1].n = desc.n_out;
    for (FactorPlan& factor : made->factors) factor.matrix_bytes = kElementBytes * desc.blocks * factor.n * factor.n;
    auto [of_left, of_right] = kronecker_products(desc);
    of_left.config = of_right.config = *desc.config;
    YOLK_TRY(made->left, plan_matmul(device, of_left));
    YOLK_TRY(made->right, plan_matmul(device, of_right));
    if (inverts(desc)) YOLK_TRY_VOID(make_inverses(device, desc, *made));
    lay_out_factors(desc, *made);
    return PipelinesOf<KroneckerPreconditionDesc>(std::move(made));
}

MemoryNeeds kronecker_scratch(const KroneckerPreconditionDesc& /*desc*/,
                              const PipelinesOf<KroneckerPreconditionDesc>& made) {
    return {.size_bytes = made->scratch_bytes};
}

/// Of the two halves of a pair's piece, one per factor.
BufferView half_of(const BufferView& pair, std::size_t factor, std::uint64_t size_bytes) {
    return piece_of(pair, factor * pair.size_bytes / 2, size_bytes);
}

Result<BindingsOf<KroneckerPreconditionDesc>> bind_kronecker(const Device& device,
                                                             const KroneckerPreconditionDesc& desc,
                                                             const PipelinesOf<KroneckerPreconditionDesc>& made,
                                                             const KroneckerPreconditionViews& views,
                                                             const BufferView& scratch) {
    auto bound = std::make_shared<KroneckerPreconditionBindings>();
    bound->pair_stride = made->pair_stride;
    const std::array given{views.factor_in, views.factor_out};
    std::array inverses = given;
    if (inverts(desc)) {
        const auto pair = [&](std::uint64_t offset) { return piece_of(scratch, offset, made->pair_bytes()); };
        const BufferView means = pair(made->means_offset);
        const BufferView dampings = pair(made->dampings_offset);
        const BufferView statuses = pair(made->statuses_offset);
        const BufferView residuals = pair(made->residuals_offset);
        const std::uint64_t word_bytes = kElementBytes * desc.blocks;
        for (std::size_t i = 0; i < 2; ++i) {
            const FactorPlan& factor = made->factors[i];
            inverses[i] = piece_of(scratch, factor.inverse_offset, factor.matrix_bytes);
            const auto weight = static_cast<float>(1.0 / factor.n);
            YOLK_TRY(bound->traces[i],
                     made->trace.bind(given[i], half_of(means, i, word_bytes), desc.blocks, factor.n, weight));
            YOLK_TRY(bound->inverses[i], factor.inverse.bind({.in = given[i],
                                                              .damping = half_of(dampings, i, word_bytes),
                                                              .out = inverses[i],
                                                              .status = half_of(statuses, i, word_bytes),
                                                              .residual = half_of(residuals, i, word_bytes)},
                                                             piece_of(scratch, made->inverse_scratch_offset,
                                                                      factor.inverse.scratch().size_bytes)));
        }
        const std::array all{means, dampings, statuses, views.status, views.step};
        YOLK_TRY(bound->damping, device.bind(made->damping, all));
        YOLK_TRY(bound->status, device.bind(made->status, all));
        YOLK_TRY(bound->zero, device.bind(made->zero, all));
    }
    const BufferView product = piece_of(scratch, made->product_offset, made->step_bytes);
    YOLK_TRY(bound->left, made->left.bind({.a = inverses[1], .b = views.gradient, .out = product}));
    YOLK_TRY(bound->right, made->right.bind({.a = product, .b = inverses[0], .out = views.step}));
    return BindingsOf<KroneckerPreconditionDesc>(std::move(bound));
}

void record_kronecker(Recorder& recorder, const BindingsOf<KroneckerPreconditionDesc>& bound,
                      const KroneckerPreconditionDesc& desc, float damping) noexcept {
    const bool is_valid = std::isfinite(damping) && damping >= 0.0F;
    // The host's square root is correctly rounded everywhere.
    const abi_k::Params params{.blocks = desc.blocks,
                               .pair_stride = bound->pair_stride,
                               .block_elements = desc.n_out * desc.n_in,
                               .is_valid = is_valid ? 1U : 0U,
                               .root_damping = is_valid ? std::sqrt(damping) : 0.0F};
    if (inverts(desc)) {
        for (const BoundBlockTrace& trace : bound->traces) trace.record(recorder);
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(bound->damping, params, grid_of(desc.blocks, kElementWorkgroup, kDampingCost));
        for (const BoundBlockInverse& inverse : bound->inverses) {
            recorder.barrier(Barrier::ComputeToCompute);
            inverse.record(recorder);
        }
        recorder.barrier(Barrier::ComputeToCompute);
        recorder.dispatch(bound->status, params, grid_of(desc.blocks, kElementWorkgroup, 1));
    }
    bound->left.record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    bound->right.record(recorder);
    if (!inverts(desc)) return;
    recorder.barrier(Barrier::ComputeToCompute);
    const std::uint64_t elements = std::uint64_t{desc.blocks} * params.block_elements;
    recorder.dispatch(bound->zero, params, grid_of(elements, kElementWorkgroup, 1));
}

}  // namespace

template <>
const Operation<KroneckerPreconditionDesc>& operation_of<KroneckerPreconditionDesc>() {
    using Desc = KroneckerPreconditionDesc;
    using Views = KroneckerPreconditionViews;
    using OfProducts = Products<Desc, &kronecker_products>;
    static const Operation<Desc> kOperation{
        .name = "kronecker_precondition",
        .fields = {"kronecker_precondition",
                   {extent<&Desc::n_out>("n_out").from(0, kMaxBlockSize),
                    extent<&Desc::n_in>("n_in").from(0, kMaxBlockSize), extent<&Desc::blocks>("blocks"),
                    variant<&Desc::factors>("factors")}},
        .views = {{"factor_out", ViewRole::Input, &Views::factor_out, &factor_out_view},
                  {"factor_in", ViewRole::Input, &Views::factor_in, &factor_in_view},
                  {"gradient", ViewRole::Input, &Views::gradient, &kronecker_step_view},
                  {"step", ViewRole::Output, &Views::step, &kronecker_step_view},
                  {"status", ViewRole::Output, &Views::status, &kronecker_status_view}},
        .knobs = &OfProducts::knobs,
        .legal = &OfProducts::legal,
        .heuristic = &OfProducts::heuristic,
        .blocks = {.count = &Desc::blocks, .other_bytes = &pair_words},
        .scratch_in_pieces = true,
        .build = &build_kronecker,
        .scratch = &kronecker_scratch,
        .bind = &bind_kronecker,
        .record = &record_kronecker,
    };
    return kOperation;
}
template class Plan<KroneckerPreconditionDesc>;

}  // namespace yolk
