// SPDX-License-Identifier: Apache-2.0
#include "matmul_pieces.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace yolk {

namespace abi_mm = abi::matmul;

namespace {

constexpr std::uint64_t kMatmulWindowBytes = kElementBytes * abi_mm::kUniformElements;

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

}  // namespace

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

}  // namespace yolk
