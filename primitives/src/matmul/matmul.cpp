// SPDX-License-Identifier: Apache-2.0
#include "yolk/matmul.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "matmul_cooperative.hpp"
#include "matmul_formats.hpp"
#include "matmul_layout.hpp"
#include "operation_plan.hpp"
#include "yolk/convert.hpp"
#include "yolk/internal/abi/matmul.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_mm = abi::matmul;

/// One dispatch: a range of rows, of matrices and of k.
struct MatmulPiece {
    std::size_t binding = 0;
    bool after_barrier = false;
    abi_mm::Params params{};
    LinearGrid grid{};
};

namespace {

constexpr std::uint32_t kCombineWorkgroup = 64;
constexpr std::uint64_t kMatmulWindowBytes = kElementBytes * abi_mm::kUniformElements;

/// k that one dispatch may add, in whole blocks, by the loops as the shaders write them (their heads).
Result<std::uint32_t> matmul_chunk(const Device& device, const MatmulConfig& config) {
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    const std::uint64_t sums = std::uint64_t{config.tile_m} * config.tile_n;
    const std::uint64_t tail =
        config.operand_path == kStagedOperands ? loop_cost(sums / 4) : loop_cost(sums) + loop_cost(config.block_k);
    const std::uint64_t blocks = iterations_within(budget > tail ? budget - tail : 0);
    if (blocks == 0) {
        return unsupported("The loops of one invocation may cost {} on this device; [matmul] needs {}.", budget,
                           tail + loop_cost(1));
    }
    const std::uint64_t most = UINT32_MAX / config.block_k - 1;
    return static_cast<std::uint32_t>(std::min(blocks, most) * config.block_k);
}

const Kernel<abi_mm::Params>& matmul_kernel(const MatmulDesc& desc, const MatmulConfig& config) {
    const bool exact = desc.determinism == Determinism::Exact;
    if (has_16bit_operands(desc)) return formats_kernel(desc, config);
    if (config.operand_path == kStagedOperands) return exact ? kernels::kMatmulStagedExact : kernels::kMatmulStagedFast;
    if (config.operand_path == kTexelOperands) return exact ? kernels::kMatmulTexelExact : kernels::kMatmulTexelFast;
    if (config.operand_path == kUniformOperand)
        return exact ? kernels::kMatmulUniformExact : kernels::kMatmulUniformFast;
    return exact ? kernels::kMatmulDirectExact : kernels::kMatmulDirectFast;
}

abi_mm::Params whole_params(const MatmulDesc& d) {
    return {.m = d.m,
            .n = d.n,
            .k = d.k,
            .batch = d.batch,
            .inner_batch = d.inner_batch,
            .a_offset = d.a.offset,
            .a_stride = d.a.stride,
            .a_batch_stride = d.a.batch_stride,
            .a_inner_stride = d.a.inner_stride,
            .b_offset = d.b.offset,
            .b_stride = d.b.stride,
            .b_batch_stride = d.b.batch_stride,
            .b_inner_stride = d.b.inner_stride,
            .out_offset = d.out.offset,
            .out_stride = d.out.stride,
            .out_batch_stride = d.out.batch_stride,
            .out_inner_stride = d.out.inner_stride,
            .bias_offset = d.bias_offset,
            .bias_batch_stride = d.bias_per_matrix ? d.n : 0,
            .residual_offset = d.residual.offset,
            .residual_stride = d.residual.stride,
            .residual_batch_stride = d.residual.batch_stride,
            .residual_inner_stride = d.residual.inner_stride,
            .first_k = 0,
            .end_k = d.k,
            .split_count = 1,
            .split_k = d.k};
}

}  // namespace

struct MatmulPipelines {
    MatmulLayout layout;
    MatmulConfig config;
    std::uint32_t chunk = 0;  ///< of k, for one dispatch
    PipelineOf<abi_mm::Params> product;
    PipelineOf<abi_mm::Params> combine;  ///< split-K, and k = 0
    std::optional<ConvertPlan> narrow;   ///< of an out of 16 bits

    /// Sums pass through scratch: split-K, and matrix units' where they are not what out holds.
    [[nodiscard]] bool is_split() const noexcept {
        const bool units = is_on_matrix_units(config) && !writes_out_directly(layout.desc);
        return (config.split_k > 1 || units) && layout.desc.k > 0;
    }
    [[nodiscard]] std::uint64_t sums_bytes() const noexcept {
        const MatmulDesc& d = layout.desc;
        return kElementBytes * d.batch * d.m * d.n;
    }
    [[nodiscard]] std::uint64_t partial_bytes() const noexcept {
        return is_split() ? config.split_k * sums_bytes() : 0;
    }
    /// The sums of an out of 16 bits come first.
    [[nodiscard]] std::uint64_t partial_offset() const noexcept {
        return narrow ? round_up(sums_bytes(), kViewAlignment) : 0;
    }
};

struct MatmulBindings {
    std::vector<BindingOf<abi_mm::Params>> bindings;
    std::vector<MatmulPiece> pieces;
    std::optional<BoundConvert> narrow;
};

namespace {

std::vector<SpecConstant> matmul_constants(const MatmulDesc& desc, const MatmulConfig& config, std::uint32_t chunk) {
    const bool split = config.split_k > 1;
    // Windows of rows are multiples of block_m, but for the last one.
    const bool ragged = desc.m % config.block_m != 0 || desc.n % config.block_n != 0;
    const bool vectors = !split && is_aligned(desc.out);
    return {{abi_mm::kSpecWorkgroupSize, config.workgroup_size},
            {abi_mm::kSpecBlockM, config.block_m},
            {abi_mm::kSpecBlockN, config.block_n},
            {abi_mm::kSpecBlockK, config.block_k},
            {abi_mm::kSpecTileM, config.tile_m},
            {abi_mm::kSpecTileN, config.tile_n},
            {abi_mm::kSpecVectorA, reads_vectors_of_a(desc, config) ? 1U : 0U},
            {abi_mm::kSpecVectorB, reads_vectors_of_b(desc, config) ? 1U : 0U},
            {abi_mm::kSpecTransposeA, desc.a.transposed ? 1U : 0U},
            {abi_mm::kSpecTransposeB, desc.b.transposed ? 1U : 0U},
            {abi_mm::kSpecBias, desc.has_bias && !split ? 1U : 0U},
            {abi_mm::kSpecActivation, split ? 0U : static_cast<std::uint32_t>(desc.activation)},
            {abi_mm::kSpecResidual, desc.has_residual && !split ? 1U : 0U},
            {abi_mm::kSpecPartial, split || chunk < desc.k ? 1U : 0U},
            {abi_mm::kSpecRagged, ragged ? 1U : 0U},
            {abi_mm::kSpecWholeK, desc.k % config.block_k == 0 ? 1U : 0U},
            {abi_mm::kSpecFormatA, static_cast<std::uint32_t>(desc.a.format)},
            {abi_mm::kSpecFormatB, static_cast<std::uint32_t>(desc.b.format)},
            {abi_mm::kSpecVectorOut, vectors ? 1U : 0U}};
}

Result<PipelineOf<abi_mm::Params>> combine_pipeline(const Device& device, const MatmulDesc& desc) {
    const std::array<SpecConstant, 4> constants{{{abi_mm::kSpecWorkgroupSize, kCombineWorkgroup},
                                                 {abi_mm::kSpecBias, desc.has_bias ? 1U : 0U},
                                                 {abi_mm::kSpecActivation, static_cast<std::uint32_t>(desc.activation)},
                                                 {abi_mm::kSpecResidual, desc.has_residual ? 1U : 0U}}};
    return device.pipeline(kernels::kMatmulCombine, constants);
}

Result<void> make_product(const Device& device, const DeviceInfo& info, MatmulPipelines& made) {
    const MatmulDesc& desc = made.layout.desc;
    const MatmulConfig& config = made.config;
    if (is_on_matrix_units(config)) {
        YOLK_TRY(const std::uint64_t budget, loop_budget(device));
        YOLK_TRY(made.chunk, cooperative_chunk(budget, info, desc, config));
        YOLK_TRY(made.product,
                 device.pipeline(cooperative_kernel(info, desc, config), cooperative_constants(info, desc, config)));
        return {};
    }
    YOLK_TRY(made.chunk, matmul_chunk(device, config));
    YOLK_TRY(made.product, device.pipeline(matmul_kernel(desc, config), matmul_constants(desc, config, made.chunk)));
    return {};
}

Result<PipelinesOf<MatmulDesc>> build_matmul(const Device& device, const MatmulDesc& desc) {
    auto made = std::make_shared<MatmulPipelines>();
    YOLK_TRY(made->layout, lay_out_matmul(desc));
    made->config = *desc.config;
    const MatmulDesc& resolved = made->layout.desc;
    if (resolved.k > 0) {
        YOLK_TRY_VOID(make_product(device, device.info(), *made));
    }
    if (resolved.k == 0 || made->is_split()) {
        YOLK_TRY(made->combine, combine_pipeline(device, resolved));
    }
    YOLK_TRY_VOID(check_binding_size(device, made->partial_bytes(), "the scratch of [matmul]"));
    if (resolved.out.format != FloatFormat::F32) {
        YOLK_TRY_VOID(check_binding_size(device, made->sums_bytes(), "the scratch of [matmul]"));
        const auto count = static_cast<std::uint32_t>(made->sums_bytes() / kElementBytes);
        YOLK_TRY(made->narrow, plan_convert(device, {.count = count, .to = resolved.out.format}));
    }
    return PipelinesOf<MatmulDesc>(std::move(made));
}

MemoryNeeds matmul_scratch(const MatmulDesc& /*desc*/, const PipelinesOf<MatmulDesc>& made) {
    return {.size_bytes = made->partial_offset() + made->partial_bytes()};
}

std::uint64_t groups_of(const abi_mm::Params& p, const MatmulConfig& c) {
    return std::uint64_t{ceil_div(p.m, c.block_m)} * ceil_div(p.n, c.block_n) * p.batch * p.split_count;
}

/// The same dispatch for each chunk of k, those after the first behind a barrier: they continue the sums in `out`.
void add_chunks(std::vector<MatmulPiece>& pieces, MatmulPiece piece, const MatmulConfig& config, std::uint32_t chunk) {
    abi_mm::Params& p = piece.params;
    const std::uint64_t block = std::uint64_t{config.block_m} * config.block_n;
    do {
        p.end_k = p.first_k + std::min(chunk, p.k - p.first_k);
        piece.grid = {.groups = groups_of(p, config), .cost_per_group = block * (p.end_k - p.first_k)};
        pieces.push_back(piece);
        piece.after_barrier = true;
        p.first_k = p.end_k;
    } while (p.first_k < p.k);
}

/// One piece per window of rows and matrix, and the window of a that it reads.
std::vector<std::pair<MatmulPiece, BufferView>> matmul_windows(const MatmulDesc& d, const MatmulConfig& config,
                                                               const BufferView& a) {
    std::vector<std::pair<MatmulPiece, BufferView>> windows;
    const std::uint32_t rows = uniform_window_rows(d, config);
    for (std::uint32_t z = 0; z < d.batch; ++z) {
        for (std::uint32_t row = 0; row < d.m; row += rows) {
            MatmulPiece piece{.binding = windows.size(), .params = whole_params(d)};
            abi_mm::Params& p = piece.params;
            const std::uint64_t first =
                first_element(d, d.a, z) + (d.a.transposed ? row : std::uint64_t{row} * d.a.stride);
            const std::uint64_t window_offset = first * kElementBytes / kViewAlignment * kViewAlignment;
            p.m = std::min(rows, d.m - row);
            p.batch = 1;
            p.a_offset = static_cast<std::uint32_t>(first - window_offset / kElementBytes);
            p.b_offset = static_cast<std::uint32_t>(first_element(d, d.b, z));
            p.out_offset = static_cast<std::uint32_t>(first_element(d, d.out, z) + row * d.out.stride);
            p.bias_offset += z * p.bias_batch_stride;
            p.residual_offset = static_cast<std::uint32_t>(first_element(d, d.residual, z) + row * d.residual.stride);
            windows.emplace_back(piece,
                                 a.part(window_offset, std::min(kMatmulWindowBytes, a.size_bytes - window_offset)));
        }
    }
    return windows;
}

/// Sets the splits of k: whole blocks each.
Result<void> cut_into_splits(abi_mm::Params& params, const MatmulConfig& config, std::uint32_t chunk) {
    params.split_k = static_cast<std::uint32_t>(round_up(ceil_div(params.k, config.split_k), config.block_k));
    params.split_count = ceil_div(params.k, params.split_k);
    if (params.split_k <= chunk) return {};
    return unsupported(
        "A split of [matmul] has {} steps of k; this device's loops allow {}. Use a larger split_k or none.",
        params.split_k, chunk);
}

/// The dispatch that writes the partial sums, dense and one behind the other.
MatmulPiece splits_of(const abi_mm::Params& params, const MatmulConfig& config) {
    MatmulPiece piece{.params = params};
    piece.params.out_offset = 0;
    piece.params.out_stride = params.n;
    piece.params.out_inner_stride = params.m * params.n;
    piece.params.out_batch_stride = params.inner_batch * params.m * params.n;
    piece.grid = {.groups = groups_of(piece.params, config),
                  .cost_per_group = std::uint64_t{config.block_m} * config.block_n * params.split_k};
    return piece;
}

/// All but the rounding of an out of 16 bits: `views.out` is fp32, `scratch` the partial sums'.
Result<void> bind_sums(const Device& device, const MatmulPipelines& made, const MatmulViews& views,
                       const BufferView& scratch, MatmulBindings& bound) {
    const MatmulConfig& config = made.config;
    const std::uint32_t chunk = made.chunk;
    const MatmulDesc& d = made.layout.desc;
    // A binding may not be empty; what a kernel does not read is bound to something that is there.
    const auto or_out = [&](const BufferView& view) { return view.empty() ? views.out : view; };
    // The space sees to it that no kernel reads single elements past a texel buffer's.
    const std::uint64_t most = config.operand_path == kTexelOperands
                                   ? kElementBytes * device.info().limits.max_texel_buffer_elements
                                   : UINT64_MAX;
    const auto scalars_of = [most](const BufferView& view) { return view.part(0, std::min(view.size_bytes, most)); };
    const auto add_binding = [&](const PipelineOf<abi_mm::Params>& pipeline, const BufferView& a,
                                 const BufferView& out) -> Result<void> {
        const BufferView b = or_out(views.b);
        const std::array all{scalars_of(a), scalars_of(b), out, or_out(views.bias), or_out(views.residual), a, b};
        YOLK_TRY(BindingOf<abi_mm::Params> binding, device.bind(pipeline, all));
        bound.bindings.push_back(std::move(binding));
        return {};
    };
    if (config.operand_path == kUniformOperand && d.k > 0) {
        for (const auto& [piece, window] : matmul_windows(d, config, views.a)) {
            YOLK_TRY_VOID(add_binding(made.product, window, views.out));
            add_chunks(bound.pieces, piece, config, chunk);
        }
        // All first chunks, then all second ones: one barrier for each chunk.
        std::ranges::stable_sort(bound.pieces, {}, [](const MatmulPiece& piece) { return piece.params.first_k; });
        return {};
    }
    if (d.k > 0 && !made.is_split()) {
        YOLK_TRY_VOID(add_binding(made.product, views.a, views.out));
        add_chunks(bound.pieces, {.params = whole_params(d)}, config, chunk);
        return {};
    }
    abi_mm::Params params = whole_params(d);
    params.split_count = 0;
    if (made.is_split()) {
        YOLK_TRY_VOID(add_binding(made.product, views.a, scratch));
        YOLK_TRY_VOID(cut_into_splits(params, config, chunk));
        bound.pieces.push_back(splits_of(params, config));
    }
    YOLK_TRY_VOID(add_binding(made.combine, made.is_split() ? scratch : views.out, views.out));
    bound.pieces.push_back(
        {.binding = bound.bindings.size() - 1,
         .after_barrier = made.is_split(),
         .params = params,
         .grid = grid_of(std::uint64_t{d.batch} * d.m * d.n, kCombineWorkgroup, 1 + params.split_count)});
    return {};
}

Result<BindingsOf<MatmulDesc>> bind_matmul(const Device& device, const MatmulDesc& /*desc*/,
                                           const PipelinesOf<MatmulDesc>& made, const MatmulViews& views,
                                           const BufferView& scratch) {
    auto bound = std::make_shared<MatmulBindings>();
    if (!made->narrow) {
        YOLK_TRY_VOID(bind_sums(device, *made, views, scratch, *bound));
        return BindingsOf<MatmulDesc>(std::move(bound));
    }
    MatmulViews into_sums = views;
    into_sums.out = scratch.part(0, made->sums_bytes());
    const BufferView partials = scratch.part(made->partial_offset(), made->partial_bytes());
    YOLK_TRY(bound->narrow, made->narrow->bind({.in = into_sums.out, .out = views.out}));
    YOLK_TRY_VOID(bind_sums(device, *made, into_sums, partials, *bound));
    return BindingsOf<MatmulDesc>(std::move(bound));
}

void record_matmul(Recorder& recorder, const BindingsOf<MatmulDesc>& bound, const MatmulDesc& /*desc*/) noexcept {
    std::uint32_t chunk_first_k = 0;
    bool barrier_done = false;
    for (const MatmulPiece& piece : bound->pieces) {
        if (piece.params.first_k != chunk_first_k) barrier_done = false;
        chunk_first_k = piece.params.first_k;
        if (piece.after_barrier && !barrier_done) {
            recorder.barrier(Barrier::ComputeToCompute);
            barrier_done = true;
        }
        recorder.dispatch(bound->bindings[piece.binding], piece.params, piece.grid);
    }
    if (!bound->narrow) return;
    recorder.barrier(Barrier::ComputeToCompute);
    bound->narrow->record(recorder);
}

/// Operands of 16 bits become fp32 on lanes.
ArithmeticUnit matmul_unit(const MatmulDesc& /*desc*/, const MatmulConfig& config) {
    return is_on_matrix_units(config) ? ArithmeticUnit::MatrixF16 : ArithmeticUnit::Fp32Lanes;
}

Result<void> check_matmul(const MatmulDesc& desc) {
    YOLK_TRY_VOID(lay_out_matmul(desc));
    return {};
}

/// Of a description that check_matmul has accepted.
template <std::uint64_t MatmulLayout::*kBytes>
ViewShape matmul_view(const MatmulDesc& desc) {
    const Result<MatmulLayout> layout = lay_out_matmul(desc);
    return {.extents = {{"words", layout ? (*layout).*kBytes / kElementBytes : 0}}, .dtype = DType::U32};
}

// Named, for clang-format 14 does not understand a lambda between angle brackets.
constexpr auto kATransposed = [](auto& desc) -> auto& { return desc.a.transposed; };
constexpr auto kBTransposed = [](auto& desc) -> auto& { return desc.b.transposed; };
constexpr auto kAFormat = [](auto& desc) -> auto& { return desc.a.format; };
constexpr auto kBFormat = [](auto& desc) -> auto& { return desc.b.format; };
constexpr auto kOutFormat = [](auto& desc) -> auto& { return desc.out.format; };

}  // namespace

template <>
const Operation<MatmulDesc>& operation_of<MatmulDesc>() {
    using Desc = MatmulDesc;
    using Views = MatmulViews;
    static const Operation<Desc> kOperation{
        .name = "matmul",
        .fields = {"matmul",
                   {extent<&Desc::m>("m"), extent<&Desc::n>("n"), extent<&Desc::k>("k"), extent<&Desc::batch>("batch"),
                    variant_at<Desc, kATransposed>("a_transposed"),
                    // As a layer's weights [out, in] are stored.
                    variant_at<Desc, kBTransposed>("transposed").otherwise("1"), variant_at<Desc, kAFormat>("a_format"),
                    variant_at<Desc, kBFormat>("b_format"), variant_at<Desc, kOutFormat>("out_format"),
                    variant<&Desc::has_residual>("residual").in_no_key(), variant<&Desc::determinism>("determinism")}},
        .views = {{"a", ViewRole::Input, &Views::a, &matmul_view<&MatmulLayout::a_bytes>},
                  {"b", ViewRole::Input, &Views::b, &matmul_view<&MatmulLayout::b_bytes>},
                  {"bias", ViewRole::Input, &Views::bias, &matmul_view<&MatmulLayout::bias_bytes>},
                  {"residual", ViewRole::Input, &Views::residual, &matmul_view<&MatmulLayout::residual_bytes>},
                  {"out", ViewRole::Output, &Views::out, &matmul_view<&MatmulLayout::out_bytes>}},
        .knobs = &matmul_knobs,
        .legal = &legal_matmul,
        .heuristic = &matmul_heuristic,
        .unit = &matmul_unit,
        .check = &check_matmul,
        .build = &build_matmul,
        .scratch = &matmul_scratch,
        .bind = &bind_matmul,
        .record = &record_matmul,
    };
    return kOperation;
}
template class Plan<MatmulDesc>;

}  // namespace yolk
