// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/transpose.hpp"

#include <array>

#include "operation_plan.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_tr = abi::transpose;

// A load, a store and four divisions of indices.
constexpr std::uint64_t kTransposeCost = 16;

std::uint32_t tile_words(const TransposeConfig& config) {
    return config.tile_rows * (config.tile_columns + config.padding);
}

ViewShape source_view(const TransposeDesc& desc) {
    return {{{"members", desc.members}, {"rows", desc.rows}, {"columns", desc.columns}}, DType::U32};
}
ViewShape transposed_view(const TransposeDesc& desc) {
    return {{{"members", desc.members}, {"columns", desc.columns}, {"rows", desc.rows}}, DType::U32};
}

std::vector<Knob<TransposeConfig>> transpose_knobs(const DeviceInfo& /*info*/, const TransposeDesc& /*desc*/) {
    const std::vector<std::uint32_t> sides{8, 16, 32, 64};
    return {{"workgroup_size", &TransposeConfig::workgroup_size, workgroup_sizes()},
            {"tile_rows", &TransposeConfig::tile_rows, sides},
            {"tile_columns", &TransposeConfig::tile_columns, sides},
            {"staged", &TransposeConfig::staged, {0, 1}},
            {"padding", &TransposeConfig::padding, {0, 1}}};
}

Result<void> legal_transpose(const DeviceInfo& info, const TransposeDesc& /*desc*/, const TransposeConfig& config) {
    if (config.staged == 0) {
        if (config.padding == 0) return {};
        return bad_input("padding of [transpose] is 1, but nothing is staged; use padding 0 or staged 1.");
    }
    const std::uint64_t bytes = tile_words(config) * kElementBytes;
    if (bytes <= info.limits.max_shared_memory_size) return {};
    return bad_input("The tile of [transpose] needs {} bytes of shared memory; the device has {}.", bytes,
                     info.limits.max_shared_memory_size);
}

// Where the cache is large and shared memory is ordinary memory, staging only copies twice.
TransposeConfig transpose_heuristic(const DeviceInfo& info, const TransposeDesc& /*desc*/) {
    if (info.kind == DeviceKind::Cpu) return {.workgroup_size = 16, .tile_rows = 16, .staged = 0, .padding = 0};
    return {};
}

Result<PipelinesOf<TransposeDesc>> build_transpose(const Device& device, const TransposeDesc& desc) {
    const std::array constants{
        SpecConstant{abi_tr::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_tr::kSpecTileRows, desc.config->tile_rows},
        SpecConstant{abi_tr::kSpecTileColumns, desc.config->tile_columns},
        SpecConstant{abi_tr::kSpecPadding, desc.config->padding},
        SpecConstant{abi_tr::kSpecTileWords, tile_words(*desc.config)},
    };
    return device.pipeline(desc.config->staged == 0 ? kernels::kTransposeDirect : kernels::kTransposeStaged, constants);
}

void record_transpose(Recorder& recorder, const BindingsOf<TransposeDesc>& binding,
                      const TransposeDesc& desc) noexcept {
    const TransposeConfig& config = *desc.config;
    const std::uint64_t tiles = std::uint64_t{ceil_div(desc.rows, config.tile_rows)} *
                                ceil_div(desc.columns, config.tile_columns) * desc.members;
    recorder.dispatch(binding, {.members = desc.members, .rows = desc.rows, .columns = desc.columns},
                      grid_of(tiles, 1, kTransposeCost * config.tile_rows * config.tile_columns));
}

}  // namespace

template <>
const Operation<TransposeDesc>& operation_of<TransposeDesc>() {
    using Desc = TransposeDesc;
    using Views = TransposeViews;
    static const Operation<Desc> kOperation{
        .name = "transpose",
        .fields = {"transpose",
                   {extent<&Desc::members>("members"), extent<&Desc::rows>("rows"), extent<&Desc::columns>("columns")}},
        .views = {{"source", ViewRole::Input, &Views::source, &source_view},
                  {"out", ViewRole::Output, &Views::out, &transposed_view}},
        .knobs = &transpose_knobs,
        .legal = &legal_transpose,
        .heuristic = &transpose_heuristic,
        .build = &build_transpose,
        .record = &record_transpose,
    };
    return kOperation;
}
template class Plan<TransposeDesc>;

}  // namespace yolk
