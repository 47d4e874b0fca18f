// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/matmul_i8.hpp"

#include <algorithm>
#include <array>

#include "operation_plan.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/runtime/loop_budget.hpp"
#include "yolk/shaders/catalogue.hpp"

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

Result<void> legal_matmul_i8(const DeviceInfo& info, const MatmulI8Desc& /*desc*/, const MatmulI8Config& c) {
    if (c.workgroup_size % c.lanes_n != 0) return bad_input("lanes_n must divide workgroup_size.");
    if (c.tile_m * c.tile_n > kMaxSumsI8) return bad_input("An invocation may have {} sums.", kMaxSumsI8);
    if (c.dot == 1 && !path_is_open(info, LowPrecisionPath::IntegerDot))
        return bad_input("The path int8-dot is closed on this device; dot must be 0.");
    return {};
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

Result<void> check_matmul_i8_loops(const Device& device, const MatmulI8Desc& desc, const MatmulI8Config& config) {
    YOLK_TRY(const std::uint64_t budget, loop_budget(device));
    const std::uint64_t cost =
        loop_cost(ceil_div(desc.k, kBytesPerWord)) + loop_cost(std::uint64_t{config.tile_m} * config.tile_n);
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
    }
    if (info.features.integer_dot_accelerated && path_is_open(info, LowPrecisionPath::IntegerDot)) config.dot = 1;
    return config;
}

std::vector<Knob<MatmulI8Config>> matmul_i8_knobs(const DeviceInfo& /*info*/, const MatmulI8Desc& /*desc*/) {
    return {{"workgroup_size", &MatmulI8Config::workgroup_size, workgroup_sizes()},
            {"lanes_n", &MatmulI8Config::lanes_n, {1, 4, 8, 16, 32}},
            {"tile_m", &MatmulI8Config::tile_m, {1, 2, 4, 8, 16}},
            {"tile_n", &MatmulI8Config::tile_n, {1, 2, 4, 8}},
            {"dot", &MatmulI8Config::dot, {0, 1}}};
}

Result<PipelinesOf<MatmulI8Desc>> build_matmul_i8(const Device& device, const MatmulI8Desc& desc) {
    const MatmulI8Config& config = *desc.config;
    YOLK_TRY_VOID(check_matmul_i8_loops(device, desc, config));
    const std::array<SpecConstant, 4> constants{{{abi_i8::kSpecWorkgroupSize, config.workgroup_size},
                                                 {abi_i8::kSpecTileM, config.tile_m},
                                                 {abi_i8::kSpecTileN, config.tile_n},
                                                 {abi_i8::kSpecLanesN, config.lanes_n}}};
    return device.pipeline(config.dot == 1 ? kernels::kMatmulI8Dot : kernels::kMatmulI8Unpacked, constants);
}

void record_matmul_i8(Recorder& recorder, const BindingsOf<MatmulI8Desc>& binding, const MatmulI8Desc& desc) noexcept {
    const MatmulI8Config& config = *desc.config;
    const std::uint64_t block_m = std::uint64_t{config.workgroup_size} / config.lanes_n * config.tile_m;
    const std::uint64_t block_n = std::uint64_t{config.lanes_n} * config.tile_n;
    recorder.dispatch(binding, matmul_i8_params(desc),
                      LinearGrid{.groups = ceil_div<std::uint64_t>(desc.m, block_m) *
                                           ceil_div<std::uint64_t>(desc.n, block_n) * desc.batch,
                                 .cost_per_group = block_m * block_n * (std::uint64_t{desc.k} + 1)});
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
        .record = &record_matmul_i8,
    };
    return kOperation;
}
template class Plan<MatmulI8Desc>;

}  // namespace yolk
