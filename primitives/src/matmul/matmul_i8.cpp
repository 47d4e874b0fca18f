// SPDX-License-Identifier: Apache-2.0
#include "yolk/matmul_i8.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "matmul_i8_units.hpp"
#include "operation_plan.hpp"
#include "yolk/internal/abi/matmul_i8.h"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_i8 = abi::matmul_i8;

namespace {

constexpr std::uint32_t kBytesPerWord = 4;
/// Sums of an invocation; above, drivers spill. Not kMaxSums: in one unit with matmul's files that would hide matmul's.
constexpr std::uint32_t kMaxSumsI8 = 64;

struct Rows {
    std::uint64_t count = 0;
    std::uint64_t length = 0;  ///< in elements
    std::uint32_t alignment = 1;
    std::uint64_t element_bytes = 1;
};

/// Replaces kDense, and returns the bytes that the view must have.
Result<std::uint64_t> resolve_rows(RowsLayout& layout, const Rows& rows, std::uint32_t batch, const char* name) {
    const std::uint64_t length = round_up(rows.length, rows.alignment);
    if (layout.stride == kDense)
        layout.stride = static_cast<std::uint32_t>(std::min<std::uint64_t>(length, kDense - 1));
    if (rows.count > 1 && layout.stride < length) {
        return bad_input("The stride of {} of [matmul_i8] is {}; its rows have {} elements. Give at least that.", name,
                         layout.stride, length);
    }
    const std::uint64_t dense = rows.count * layout.stride;
    std::uint64_t batch_stride = layout.batch_stride == kDense ? dense : layout.batch_stride;
    if (batch <= 1) batch_stride = 0;
    if (layout.offset % rows.alignment != 0 || layout.stride % rows.alignment != 0 ||
        batch_stride % rows.alignment != 0) {
        return bad_input("The offset and strides of {} of [matmul_i8] are {}, {} and {}; they must be multiples of {}.",
                         name, layout.offset, layout.stride, batch_stride, rows.alignment);
    }
    if (rows.count == 0 || rows.length == 0 || batch == 0) {
        layout.batch_stride = 0;
        return std::uint64_t{0};
    }
    const std::uint64_t elements =
        layout.offset + (batch - 1) * batch_stride + (rows.count - 1) * layout.stride + length;
    const std::uint64_t most = UINT32_MAX / rows.element_bytes;
    if (std::max({elements, batch_stride, dense}) > most) {
        return bad_input(
            "{} of [matmul_i8] reaches to element {}; at most {} are allowed in a view. Use smaller sizes or several "
            "plans.",
            name, elements, most);
    }
    layout.batch_stride = static_cast<std::uint32_t>(batch_stride);
    return elements * rows.element_bytes;
}

Result<void> check_written_rows(const MatmulI8Desc& desc) {
    const std::uint64_t matrix = desc.m == 0 ? 0 : std::uint64_t{desc.m - 1} * desc.out.stride + desc.n;
    if (desc.batch <= 1 || desc.out.batch_stride >= matrix) return {};
    return bad_input("The batch stride of out of [matmul_i8] is {}; its matrices have {} elements. Give at least that.",
                     desc.out.batch_stride, matrix);
}

/// A description without kDense, and the bytes that each view must have.
struct RowsOfViews {
    MatmulI8Desc desc;
    std::uint64_t a_bytes = 0;
    std::uint64_t b_bytes = 0;
    std::uint64_t out_bytes = 0;
};

Result<RowsOfViews> lay_out_matmul_i8(const MatmulI8Desc& desc) {
    RowsOfViews layout{.desc = desc};
    MatmulI8Desc& d = layout.desc;
    YOLK_TRY(layout.a_bytes, resolve_rows(d.a, {d.m, d.k, kBytesPerWord, 1}, d.batch, "a"));
    YOLK_TRY(layout.b_bytes, resolve_rows(d.b, {d.n, d.k, kBytesPerWord, 1}, d.batch, "b"));
    YOLK_TRY(layout.out_bytes, resolve_rows(d.out, {d.m, d.n, 1, 4}, d.batch, "out"));
    if (layout.out_bytes == 0) layout.a_bytes = layout.b_bytes = 0;
    if (layout.out_bytes != 0) YOLK_TRY_VOID(check_written_rows(d));
    return layout;
}

/// Without kDense; as it is where a plan of it is refused anyway.
MatmulI8Desc resolved_i8(const MatmulI8Desc& desc) {
    const Result<RowsOfViews> layout = lay_out_matmul_i8(desc);
    return layout ? layout->desc : desc;
}

Result<void> legal_matmul_i8(const DeviceInfo& info, const MatmulI8Desc& desc, const MatmulI8Config& c) {
    if (is_on_matrix_units(c)) {
        YOLK_TRY_VOID(i8_block(info, resolved_i8(desc), c));
        return {};
    }
    if (c.workgroup_size % c.lanes_n != 0) return bad_input("lanes_n must divide workgroup_size.");
    if (c.tile_m * c.tile_n > kMaxSumsI8) return bad_input("An invocation may have {} sums.", kMaxSumsI8);
    if (c.dot == kI8Instruction && !path_is_open(info, LowPrecisionPath::IntegerDot))
        return bad_input("The path int8-dot is closed on this device; dot must be 0.");
    return {};
}

Result<void> check_matmul_i8(const MatmulI8Desc& desc) {
    if (desc.k > kMaxI8Depth) {
        return bad_input(
            "k of [matmul_i8] is {}; above {} a sum may overflow. Split k over several plans and add their results.",
            desc.k, kMaxI8Depth);
    }
    YOLK_TRY_VOID(lay_out_matmul_i8(desc));
    return {};
}

/// Of a description that check_matmul_i8 has accepted.
template <std::uint64_t RowsOfViews::*kBytes>
ViewShape rows_view_i8(const MatmulI8Desc& desc) {
    const Result<RowsOfViews> layout = lay_out_matmul_i8(desc);
    return {.extents = {{"words", layout ? (*layout).*kBytes / kBytesPerWord : 0}}, .dtype = DType::I32};
}

Result<void> check_matmul_i8_loops(const Device& device, const MatmulI8Desc& desc, std::uint64_t cost) {
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    if (cost <= budget) return {};
    return unsupported(
        "The loops of one invocation may cost {} on this device; [matmul_i8] needs {} for a k of {}. Use a smaller k.",
        budget, cost, desc.k);
}

abi_i8::Params matmul_i8_params(const MatmulI8Desc& desc) noexcept {
    const MatmulI8Desc d = lay_out_matmul_i8(desc)->desc;  // the plan has accepted it
    const std::uint32_t rest = d.k % kBytesPerWord;
    return {.m = d.m,
            .n = d.n,
            .words = ceil_div(d.k, kBytesPerWord),
            .last_mask = rest == 0 ? UINT32_MAX : (1U << (8 * rest)) - 1,
            .batch = d.batch,
            .a_offset = d.a.offset / kBytesPerWord,
            .a_stride = d.a.stride / kBytesPerWord,
            .a_batch_stride = d.a.batch_stride / kBytesPerWord,
            .b_offset = d.b.offset / kBytesPerWord,
            .b_stride = d.b.stride / kBytesPerWord,
            .b_batch_stride = d.b.batch_stride / kBytesPerWord,
            .out_offset = d.out.offset,
            .out_stride = d.out.stride,
            .out_batch_stride = d.out.batch_stride};
}

/// Bytes that are unpacked are multiplied as whichever integers a compiler takes.
ArithmeticUnit matmul_i8_unit(const MatmulI8Desc& /*desc*/, const MatmulI8Config& config) {
    return config.dot == 1 ? ArithmeticUnit::IntegerDot : ArithmeticUnit::Other;
}

MatmulI8Config matmul_i8_heuristic(const DeviceInfo& info, const MatmulI8Desc& desc) {
    MatmulI8Config config;
    if (info.kind == DeviceKind::Cpu) {
        config = {.workgroup_size = 8, .lanes_n = 8, .tile_m = 8, .tile_n = 8};  // docs/kernels/matmul_i8.md
        if (desc.m < 8) config.tile_m = desc.m < 4 ? 1 : 4;
    } else if (const auto on_units = i8_config_on_units(info, resolved_i8(desc))) {
        return *on_units;
    }
    if (info.features.integer_dot_accelerated && path_is_open(info, LowPrecisionPath::IntegerDot))
        config.dot = kI8Instruction;
    return config;
}

std::vector<Knob<MatmulI8Config>> matmul_i8_knobs(const DeviceInfo& info, const MatmulI8Desc& desc) {
    const bool units = fits_matrix_units(info, resolved_i8(desc));
    using Values = std::vector<std::uint32_t>;
    return {{"workgroup_size", &MatmulI8Config::workgroup_size, workgroup_sizes()},
            {"lanes_n", &MatmulI8Config::lanes_n, units ? Values{1, 2, 4, 8, 16, 32} : Values{1, 4, 8, 16, 32}},
            {"tile_m", &MatmulI8Config::tile_m, {1, 2, 4, 8, 16}},
            {"tile_n", &MatmulI8Config::tile_n, {1, 2, 4, 8}},
            {"dot", &MatmulI8Config::dot, units ? Values{0, 1, 2, 3} : Values{0, 1}}};
}

}  // namespace

struct MatmulI8Pipelines {
    PipelineOf<abi_i8::Params> product;
    I8Block block;  ///< of a workgroup
};

struct MatmulI8Bindings {
    BindingOf<abi_i8::Params> product;
    I8Block block;
};

namespace {

Result<void> build_on_units(const Device& device, const MatmulI8Desc& desc, MatmulI8Pipelines& made) {
    const MatmulI8Config& config = *desc.config;
    const MatmulI8Desc resolved = resolved_i8(desc);
    YOLK_TRY(made.block, i8_block(device.info(), resolved, config));
    YOLK_TRY_VOID(check_matmul_i8_loops(device, desc, i8_units_loop_cost(device.info(), resolved, config, made.block)));
    YOLK_TRY(made.product,
             device.pipeline(i8_units_kernel(device.info()), i8_units_constants(device.info(), config, made.block)));
    return {};
}

Result<void> build_in_lanes(const Device& device, const MatmulI8Desc& desc, MatmulI8Pipelines& made) {
    const MatmulI8Config& config = *desc.config;
    made.block = {.rows = config.workgroup_size / config.lanes_n * config.tile_m,
                  .columns = config.lanes_n * config.tile_n};
    YOLK_TRY_VOID(check_matmul_i8_loops(
        device, desc,
        loop_cost(ceil_div(desc.k, kBytesPerWord)) + loop_cost(std::uint64_t{config.tile_m} * config.tile_n)));
    const std::array<SpecConstant, 4> constants{{{abi_i8::kSpecWorkgroupSize, config.workgroup_size},
                                                 {abi_i8::kSpecTileM, config.tile_m},
                                                 {abi_i8::kSpecTileN, config.tile_n},
                                                 {abi_i8::kSpecLanesN, config.lanes_n}}};
    const auto& kernel = config.dot == kI8Instruction ? kernels::kMatmulI8Dot : kernels::kMatmulI8Unpacked;
    YOLK_TRY(made.product, device.pipeline(kernel, constants));
    return {};
}

Result<PipelinesOf<MatmulI8Desc>> build_matmul_i8(const Device& device, const MatmulI8Desc& desc) {
    auto made = std::make_shared<MatmulI8Pipelines>();
    YOLK_TRY_VOID(is_on_matrix_units(*desc.config) ? build_on_units(device, desc, *made)
                                                   : build_in_lanes(device, desc, *made));
    return PipelinesOf<MatmulI8Desc>(std::move(made));
}

Result<BindingsOf<MatmulI8Desc>> bind_matmul_i8(const Device& device, const MatmulI8Desc& /*desc*/,
                                                const PipelinesOf<MatmulI8Desc>& made, const MatmulI8Views& views,
                                                const BufferView& /*scratch*/) {
    auto bound = std::make_shared<MatmulI8Bindings>();
    bound->block = made->block;
    // A binding may not be empty; with a k of 0 nothing is read.
    const auto or_out = [&](const BufferView& view) { return view.empty() ? views.out : view; };
    const std::array all{or_out(views.a), or_out(views.b), views.out};
    YOLK_TRY(bound->product, device.bind(made->product, all));
    return BindingsOf<MatmulI8Desc>(std::move(bound));
}

void record_matmul_i8(Recorder& recorder, const BindingsOf<MatmulI8Desc>& bound, const MatmulI8Desc& desc) noexcept {
    const std::uint64_t rows = bound->block.rows;
    const std::uint64_t columns = bound->block.columns;
    recorder.dispatch(bound->product, matmul_i8_params(desc),
                      LinearGrid{.groups = ceil_div<std::uint64_t>(desc.m, rows) *
                                           ceil_div<std::uint64_t>(desc.n, columns) * desc.batch,
                                 .cost_per_group = rows * columns * (std::uint64_t{desc.k} + 1)});
}

}  // namespace

template <>
const Operation<MatmulI8Desc>& operation_of<MatmulI8Desc>() {
    using Desc = MatmulI8Desc;
    using Views = MatmulI8Views;
    static const Operation<Desc> kOperation{
        .name = "matmul_i8",
        .fields = {"matmul_i8",
                   {extent<&Desc::m>("m"), extent<&Desc::n>("n"), extent<&Desc::k>("k"),
                    extent<&Desc::batch>("batch")}},
        .views = {{"a", ViewRole::Input, &Views::a, &rows_view_i8<&RowsOfViews::a_bytes>},
                  {"b", ViewRole::Input, &Views::b, &rows_view_i8<&RowsOfViews::b_bytes>},
                  {"out", ViewRole::Output, &Views::out, &rows_view_i8<&RowsOfViews::out_bytes>}},
        .knobs = &matmul_i8_knobs,
        .legal = &legal_matmul_i8,
        .heuristic = &matmul_i8_heuristic,
        .unit = &matmul_i8_unit,
        .check = &check_matmul_i8,
        .build = &build_matmul_i8,
        .bind = &bind_matmul_i8,
        .record = &record_matmul_i8,
    };
    return kOperation;
}
template class Plan<MatmulI8Desc>;

}  // namespace yolk
