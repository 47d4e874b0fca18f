// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "matmul_formats.hpp"
#include "matmul_layout.hpp"
#include "plan_checks.hpp"
#include "tuned_plan.hpp"
#include "yolk/abi/matmul.h"
#include "yolk/core/shape.hpp"
#include "yolk/primitives/convert.hpp"
#include "yolk/runtime/loop_budget.hpp"
#include "yolk/shaders/catalogue.hpp"

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
    const std::uint64_t tail =
        loop_cost(std::uint64_t{config.tile_m} * config.tile_n) + (config.staged == 1 ? 0 : loop_cost(config.block_k));
    const std::uint64_t blocks = iterations_within(budget > tail ? budget - tail : 0);
    if (blocks == 0) {
        return unsupported(fmt::format("The loops of one invocation may cost {} on this device; [matmul] needs {}.",
                                       budget, tail + loop_cost(1)));
    }
    const std::uint64_t most = UINT32_MAX / config.block_k - 1;
    return static_cast<std::uint32_t>(std::min(blocks, most) * config.block_k);
}

const Kernel<abi_mm::Params>& matmul_kernel(const MatmulDesc& desc, const MatmulConfig& config) {
    const bool exact = desc.determinism == Determinism::Exact;
    if (has_16bit_operands(desc)) return formats_kernel(desc, config);
    if (config.staged == 1) return exact ? kernels::kMatmulStagedExact : kernels::kMatmulStagedFast;
    if (config.texel == 1) return exact ? kernels::kMatmulTexelExact : kernels::kMatmulTexelFast;
    if (config.uniform == 1) return exact ? kernels::kMatmulUniformExact : kernels::kMatmulUniformFast;
    return exact ? kernels::kMatmulDirectExact : kernels::kMatmulDirectFast;
}

abi_mm::Params whole_params(const MatmulDesc& d) {
    return {.m = d.m,
            .n = d.n,
            .k = d.k,
            .batch = d.batch,
            .a_offset = d.a.offset,
            .a_stride = d.a.stride,
            .a_batch_stride = d.a.batch_stride,
            .b_offset = d.b.offset,
            .b_stride = d.b.stride,
            .b_batch_stride = d.b.batch_stride,
            .out_offset = d.out.offset,
            .out_stride = d.out.stride,
            .out_batch_stride = d.out.batch_stride,
            .bias_offset = d.bias_offset,
            .bias_batch_stride = d.bias_per_matrix ? d.n : 0,
            .residual_offset = d.residual.offset,
            .residual_stride = d.residual.stride,
            .residual_batch_stride = d.residual.batch_stride,
            .first_k = 0,
            .end_k = d.k,
            .split_count = 1,
            .split_k = d.k};
}

}  // namespace

struct MatmulPlan::Impl {
    const Device* device = nullptr;
    MatmulLayout layout;
    MatmulConfig config;
    std::uint32_t chunk = 0;  ///< of k, for one dispatch
    PipelineOf<abi_mm::Params> product;
    PipelineOf<abi_mm::Params> combine;  ///< split-K, and k = 0
    std::optional<ConvertPlan> narrow;   ///< of an out of 16 bits

    [[nodiscard]] Result<void> make_product();
    /// All but the rounding of an out of 16 bits: `views.out` is fp32, `scratch` the partial sums'.
    [[nodiscard]] Result<void> bind_sums(const MatmulViews& views, const BufferView& scratch,
                                         BoundMatmul::Impl& bound) const;
    /// Sums pass through scratch: split-K, and matrix units' where they are not what out holds.
    [[nodiscard]] bool is_split() const noexcept {
        const bool units = config.cooperative == 1 && !writes_out_directly(layout.desc);
        return (config.split_k > 1 || units) && layout.desc.k > 0;
    }
    [[nodiscard]] std::uint64_t sums_bytes() const noexcept {
        const MatmulDesc& d = layout.desc;
        return layout.is_empty() ? 0 : kElementBytes * d.batch * d.m * d.n;
    }
    [[nodiscard]] std::uint64_t partial_bytes() const noexcept {
        return is_split() ? config.split_k * sums_bytes() : 0;
    }
    /// The sums of an out of 16 bits come first.
    [[nodiscard]] std::uint64_t partial_offset() const noexcept {
        return narrow ? round_up(sums_bytes(), kViewAlignment) : 0;
    }
};

struct BoundMatmul::Impl {
    std::vector<BindingOf<abi_mm::Params>> bindings;
    std::vector<MatmulPiece> pieces;
    std::optional<BoundConvert> narrow;
};

MatmulPlan::MatmulPlan() noexcept = default;
MatmulPlan::~MatmulPlan() = default;
MatmulPlan::MatmulPlan(MatmulPlan&&) noexcept = default;
MatmulPlan& MatmulPlan::operator=(MatmulPlan&&) noexcept = default;
BoundMatmul::BoundMatmul() noexcept = default;
BoundMatmul::~BoundMatmul() = default;
BoundMatmul::BoundMatmul(BoundMatmul&&) noexcept = default;
BoundMatmul& BoundMatmul::operator=(BoundMatmul&&) noexcept = default;

MemoryNeeds MatmulPlan::scratch() const noexcept {
    return {.size_bytes = impl_->partial_offset() + impl_->partial_bytes()};
}
const MatmulConfig& MatmulPlan::config() const noexcept { return impl_->config; }

namespace {

Result<void> check_bindings(const Device& device, const MatmulLayout& layout) {
    YOLK_TRY_VOID(check_binding_size(device, layout.a_bytes, "the a view of [matmul]"));
    YOLK_TRY_VOID(check_binding_size(device, layout.b_bytes, "the b view of [matmul]"));
    YOLK_TRY_VOID(check_binding_size(device, layout.out_bytes, "the out view of [matmul]"));
    YOLK_TRY_VOID(check_binding_size(device, layout.bias_bytes, "the bias view of [matmul]"));
    return check_binding_size(device, layout.residual_bytes, "the residual view of [matmul]");
}

std::vector<SpecConstant> matmul_constants(const MatmulDesc& desc, const MatmulConfig& config, std::uint32_t chunk) {
    const bool split = config.split_k > 1;
    // Windows of rows are multiples of block_m, but for the last one.
    const bool ragged = desc.m % config.block_m != 0 || desc.n % config.block_n != 0;
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
            {abi_mm::kSpecFormatB, static_cast<std::uint32_t>(desc.b.format)}};
}

Result<PipelineOf<abi_mm::Params>> combine_pipeline(const Device& device, const MatmulDesc& desc) {
    const std::array<SpecConstant, 4> constants{{{abi_mm::kSpecWorkgroupSize, kCombineWorkgroup},
                                                 {abi_mm::kSpecBias, desc.has_bias ? 1U : 0U},
                                                 {abi_mm::kSpecActivation, static_cast<std::uint32_t>(desc.activation)},
                                                 {abi_mm::kSpecResidual, desc.has_residual ? 1U : 0U}}};
    return device.pipeline(kernels::kMatmulCombine, constants);
}

}  // namespace

Result<void> MatmulPlan::Impl::make_product() {
    const MatmulDesc& desc = layout.desc;
    if (config.cooperative == 1) {
        const CooperativeShape shape = cooperative_shape(device->info()).value_or(CooperativeShape{});
        YOLK_TRY(const std::uint64_t budget, loop_budget(*device));
        YOLK_TRY(chunk, cooperative_chunk(budget, desc, config, shape));
        YOLK_TRY(product, device->pipeline(cooperative_kernel(shape), cooperative_constants(desc, config, shape)));
        return {};
    }
    YOLK_TRY(chunk, matmul_chunk(*device, config));
    YOLK_TRY(product, device->pipeline(matmul_kernel(desc, config), matmul_constants(desc, config, chunk)));
    return {};
}

Result<MatmulPlan> plan_matmul(const Device& device, const MatmulDesc& desc) {
    auto impl = std::make_unique<MatmulPlan::Impl>();
    impl->device = &device;
    YOLK_TRY(impl->layout, lay_out_matmul(desc));
    YOLK_TRY_VOID(check_bindings(device, impl->layout));
    YOLK_TRY_VOID(loop_budget(device));  // has the self-checks made that usable_info() knows
    const DeviceInfo info = device.usable_info();
    if (!desc.config)
        return plan_tuned(device, desc, matmul_space(info, desc), default_matmul_config(info, desc), &plan_matmul);
    impl->config = *desc.config;
    YOLK_TRY_VOID(matmul_space(info, desc).check(impl->config));
    const MatmulDesc& resolved = impl->layout.desc;
    if (!impl->layout.is_empty()) {
        if (resolved.k > 0) {
            YOLK_TRY_VOID(impl->make_product());
        }
        if (resolved.k == 0 || impl->is_split()) {
            YOLK_TRY(impl->combine, combine_pipeline(device, resolved));
        }
        YOLK_TRY_VOID(check_binding_size(device, impl->partial_bytes(), "the scratch of [matmul]"));
        if (resolved.out.format != FloatFormat::F32) {
            YOLK_TRY_VOID(check_binding_size(device, impl->sums_bytes(), "the scratch of [matmul]"));
            const auto count = static_cast<std::uint32_t>(impl->sums_bytes() / kElementBytes);
            YOLK_TRY(impl->narrow, plan_convert(device, {.count = count, .to = resolved.out.format}));
        }
    }
    MatmulPlan plan;
    plan.impl_ = std::move(impl);
    return plan;
}

namespace {

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
            const std::uint64_t first = d.a.offset + std::uint64_t{z} * d.a.batch_stride +
                                        (d.a.transposed ? row : std::uint64_t{row} * d.a.stride);
            const std::uint64_t window_offset = first * kElementBytes / kViewAlignment * kViewAlignment;
            p.m = std::min(rows, d.m - row);
            p.batch = 1;
            p.a_offset = static_cast<std::uint32_t>(first - window_offset / kElementBytes);
            p.b_offset += z * d.b.batch_stride;
            p.out_offset += z * d.out.batch_stride + row * d.out.stride;
            p.bias_offset += z * p.bias_batch_stride;
            p.residual_offset += z * d.residual.batch_stride + row * d.residual.stride;
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
        fmt::format("A split of [matmul] has {} steps of k; this device's loops allow {}. Use a larger "
                    "split_k or none.",
                    params.split_k, chunk));
}

/// The dispatch that writes the partial sums, dense and one behind the other.
MatmulPiece splits_of(const abi_mm::Params& params, const MatmulConfig& config) {
    MatmulPiece piece{.params = params};
    piece.params.out_offset = 0;
    piece.params.out_stride = params.n;
    piece.params.out_batch_stride = params.m * params.n;
    piece.grid = {.groups = groups_of(piece.params, config),
                  .cost_per_group = std::uint64_t{config.block_m} * config.block_n * params.split_k};
    return piece;
}

}  // namespace

Result<BoundMatmul> MatmulPlan::bind(const MatmulViews& views, const BufferView& scratch) const {
    const MatmulLayout& layout = impl_->layout;
    YOLK_TRY_VOID(check_views(*impl_->device, "[matmul]",
                              {{.view = views.a, .needed_bytes = layout.a_bytes, .name = "a"},
                               {.view = views.b, .needed_bytes = layout.b_bytes, .name = "b"},
                               {.view = views.bias, .needed_bytes = layout.bias_bytes, .name = "bias"},
                               {.view = views.residual, .needed_bytes = layout.residual_bytes, .name = "residual"}},
                              {{.view = views.out, .needed_bytes = layout.out_bytes, .name = "out"},
                               {.view = scratch, .needed_bytes = this->scratch().size_bytes, .name = "scratch"}}));
    BoundMatmul result;
    result.impl_ = std::make_unique<BoundMatmul::Impl>();
    if (layout.is_empty()) return result;
    if (!impl_->narrow) {
        YOLK_TRY_VOID(impl_->bind_sums(views, scratch, *result.impl_));
        return result;
    }
    const BufferView sums = scratch.part(0, impl_->sums_bytes());
    const BufferView partials = scratch.part(impl_->partial_offset(), impl_->partial_bytes());
    YOLK_TRY(result.impl_->narrow, impl_->narrow->bind({.in = sums, .out = views.out}));
    MatmulViews into_sums = views;
    into_sums.out = sums;
    YOLK_TRY_VOID(impl_->bind_sums(into_sums, partials, *result.impl_));
    return result;
}

Result<void> MatmulPlan::Impl::bind_sums(const MatmulViews& views, const BufferView& scratch,
                                         BoundMatmul::Impl& bound) const {
    const MatmulDesc& d = layout.desc;
    // A binding may not be empty; what a kernel does not read is bound to something that is there.
    const auto or_out = [&](const BufferView& view) { return view.empty() ? views.out : view; };
    // The space sees to it that no kernel reads single elements past a texel buffer's.
    const std::uint64_t most =
        config.texel == 1 ? kElementBytes * device->info().limits.max_texel_buffer_elements : UINT64_MAX;
    const auto scalars_of = [most](const BufferView& view) { return view.part(0, std::min(view.size_bytes, most)); };
    const auto add_binding = [&](const PipelineOf<abi_mm::Params>& pipeline, const BufferView& a,
                                 const BufferView& out) -> Result<void> {
        const BufferView b = or_out(views.b);
        const std::array all{scalars_of(a), scalars_of(b), out, or_out(views.bias), or_out(views.residual), a, b};
        YOLK_TRY(BindingOf<abi_mm::Params> binding, device->bind(pipeline, all));
        bound.bindings.push_back(std::move(binding));
        return {};
    };
    if (config.uniform == 1 && d.k > 0) {
        for (const auto& [piece, window] : matmul_windows(d, config, views.a)) {
            YOLK_TRY_VOID(add_binding(product, window, views.out));
            add_chunks(bound.pieces, piece, config, chunk);
        }
        // All first chunks, then all second ones: one barrier for each chunk.
        std::ranges::stable_sort(bound.pieces, {}, [](const MatmulPiece& piece) { return piece.params.first_k; });
        return {};
    }
    if (d.k > 0 && !is_split()) {
        YOLK_TRY_VOID(add_binding(product, views.a, views.out));
        add_chunks(bound.pieces, {.params = whole_params(d)}, config, chunk);
        return {};
    }
    abi_mm::Params params = whole_params(d);
    params.split_count = 0;
    if (is_split()) {
        YOLK_TRY_VOID(add_binding(product, views.a, scratch));
        YOLK_TRY_VOID(cut_into_splits(params, config, chunk));
        bound.pieces.push_back(splits_of(params, config));
    }
    YOLK_TRY_VOID(add_binding(combine, is_split() ? scratch : views.out, views.out));
    bound.pieces.push_back(
        {.binding = bound.bindings.size() - 1,
         .after_barrier = is_split(),
         .params = params,
         .grid = grid_of(std::uint64_t{d.batch} * d.m * d.n, kCombineWorkgroup, 1 + params.split_count)});
    return {};
}

void BoundMatmul::record(Recorder& recorder) const noexcept {
    if (impl_->pieces.empty()) return;
    const ScopedLabel label(recorder, "matmul");
    std::uint32_t chunk_first_k = 0;
    bool barrier_done = false;
    for (const MatmulPiece& piece : impl_->pieces) {
        if (piece.params.first_k != chunk_first_k) barrier_done = false;
        chunk_first_k = piece.params.first_k;
        if (piece.after_barrier && !barrier_done) {
            recorder.barrier(Barrier::ComputeToCompute);
            barrier_done = true;
        }
        recorder.dispatch(impl_->bindings[piece.binding], piece.params, piece.grid);
    }
    if (!impl_->narrow) return;
    recorder.barrier(Barrier::ComputeToCompute);
    impl_->narrow->record(recorder);
}

}  // namespace yolk
