// SPDX-License-Identifier: Apache-2.0
#include "yolk/rearrange.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "operation_plan.hpp"
#include "rearrange_fields.hpp"
#include "rearrange_layout.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_ra = abi::rearrange;

// A load, a store, and a division of the place for each dimension.
constexpr std::uint64_t kRearrangeCost = 32;
// A load, a store and four divisions of indices.
constexpr std::uint64_t kTiledCost = 16;

std::uint64_t elements_of(const RearrangeDesc& desc) {
    std::uint64_t count = desc.members;
    for (const RearrangeDimension& dimension : desc.dimensions)
        count *= dimension.extent;  // fits, as views are checked
    return count;
}

/// The largest index of the source that a dimension reaches; -1 where it reaches none.
std::int64_t largest_index(const RearrangeDimension& dimension) {
    const std::int64_t last = std::int64_t{dimension.source_extent} - 1;
    const std::int64_t steps = std::int64_t{dimension.extent} - 1;
    const std::int64_t start = dimension.start, step = dimension.step;
    std::int64_t index = start;
    if (step > 0) index += step * std::clamp<std::int64_t>((last - start) / step, 0, steps);
    if (step < 0 && start > last) index += step * std::min((start - last - step - 1) / -step, steps);
    return index > last ? -1 : std::max<std::int64_t>(index, -1);
}

Result<void> check_rearrange(const RearrangeDesc& desc) {
    if (desc.dimensions.empty() || desc.dimensions.size() > kRearrangeDimensions)
        return bad_input("[rearrange] was given {} dimensions; 1 to {} are allowed.", desc.dimensions.size(),
                         kRearrangeDimensions);
    constexpr std::int64_t kLimit = std::int64_t{1} << 31U;
    bool reaches = true;
    std::uint64_t last = 0;
    for (std::size_t k = 0; k < desc.dimensions.size(); ++k) {
        const RearrangeDimension& dimension = desc.dimensions[k];
        if (dimension.extent == 0) return {};
        const std::int64_t end = dimension.start + std::int64_t{dimension.step} * (std::int64_t{dimension.extent} - 1);
        if (dimension.source_extent >= kLimit || end >= kLimit || end < -kLimit)
            return bad_input(
                "Dimension {} of [rearrange] goes from {} to {} in a source of {}; indices and extents of the source "
                "must be below 2^31 in size.",
                k, dimension.start, end, dimension.source_extent);
        const std::int64_t index = largest_index(dimension);
        reaches = reaches && index >= 0;
        if (index >= 0) last += static_cast<std::uint64_t>(index) * dimension.stride;
    }
    if (!reaches || last < desc.source_elements) return {};
    return bad_input(
        "[rearrange] reads element {} of its source, which has {} per member; give strides and extents that stay "
        "within.",
        last, desc.source_elements);
}

ViewShape rearrange_source_view(const RearrangeDesc& desc) {
    ViewShape shape{.extents = {}, .dtype = DType::U32, .used = desc.source_elements != 0};
    if (!desc.shared_source) shape.extents.push_back({"members", desc.members});
    shape.extents.push_back({"source_elements", desc.source_elements});
    return shape;
}
ViewShape rearranged_view(const RearrangeDesc& desc) {
    ViewShape shape{.extents = {{"members", desc.members}}, .dtype = DType::U32};
    for (const RearrangeDimension& dimension : desc.dimensions) shape.extents.push_back({"extent", dimension.extent});
    return shape;
}

bool is_empty_rearrange(const RearrangeDesc& desc) {
    return desc.members == 0 ||
           std::ranges::find(desc.dimensions, 0U, &RearrangeDimension::extent) != desc.dimensions.end();
}

bool may_take_quads(const RearrangeDesc& desc) { return is_empty_rearrange(desc) || rows_are_quads(layout_of(desc)); }
bool may_take_tiles(const RearrangeDesc& desc) { return !is_empty_rearrange(desc) && are_transposed(layout_of(desc)); }

std::vector<Knob<RearrangeConfig>> rearrange_knobs(const DeviceInfo& /*info*/, const RearrangeDesc& desc) {
    const bool tiled = may_take_tiles(desc);
    const std::vector<std::uint32_t> none{0}, either{0, 1}, sides{0, 8, 16, 32, 64};
    return {{"workgroup_size", &RearrangeConfig::workgroup_size, workgroup_sizes()},
            {"loads_per_invocation", &RearrangeConfig::loads_per_invocation, {1, 2, 4, 8}},
            {"elements_per_load", &RearrangeConfig::elements_per_load, {1, kQuad}},
            {"tile_rows", &RearrangeConfig::tile_rows, tiled ? sides : none},
            {"tile_columns", &RearrangeConfig::tile_columns, tiled ? sides : none},
            {"staged", &RearrangeConfig::staged, tiled ? either : none},
            {"padding", &RearrangeConfig::padding, tiled ? either : none}};
}

std::uint32_t tile_words(const RearrangeConfig& config) {
    return config.tile_rows * (config.tile_columns + config.padding);
}

Result<void> legal_tiles(const DeviceInfo& info, const RearrangeConfig& config) {
    if ((config.tile_rows == 0) != (config.tile_columns == 0))
        return bad_input("The tiles of [rearrange] are {} x {}; give both sides, or 0 for both.", config.tile_rows,
                         config.tile_columns);
    if (config.tile_rows == 0) {
        if (config.staged == 0 && config.padding == 0) return {};
        return bad_input("[rearrange] was given staged {} and padding {} without tiles; use 0, or give tile_rows.",
                         config.staged, config.padding);
    }
    if (config.loads_per_invocation != 1 || config.elements_per_load != 1)
        return bad_input(
            "[rearrange] was given tiles, loads_per_invocation {} and elements_per_load {}; with tiles both are 1.",
            config.loads_per_invocation, config.elements_per_load);
    if (config.staged == 0) {
        if (config.padding == 0) return {};
        return bad_input("padding of [rearrange] is 1, but nothing is staged; use padding 0 or staged 1.");
    }
    const std::uint64_t bytes = std::uint64_t{tile_words(config)} * kElementBytes;
    if (bytes <= info.limits.max_shared_memory_size) return {};
    return bad_input("The tile of [rearrange] needs {} bytes of shared memory; the device has {}.", bytes,
                     info.limits.max_shared_memory_size);
}

Result<void> legal_rearrange(const DeviceInfo& info, const RearrangeDesc& desc, const RearrangeConfig& config) {
    YOLK_TRY_VOID(legal_tiles(info, config));
    if (config.elements_per_load == 1 || may_take_quads(desc)) return {};
    return bad_input(
        "elements_per_load of [rearrange] is 4, but the output's rows, as far as they merge, are not multiples of 4; "
        "use 1.");
}

// Tiles of narrow matrices would be mostly empty. Where the cache is large and shared memory is ordinary memory,
// staging only copies twice.
std::optional<RearrangeConfig> tiled_default(const DeviceInfo& info, const RearrangeDesc& desc) {
    if (!may_take_tiles(desc)) return {};
    constexpr std::uint32_t kLeastSide = 16;
    const RearrangeLayout layout = layout_of(desc);
    if (std::min(layout.steps[0].extent, layout.steps[1].extent) < kLeastSide) return {};
    if (info.kind == DeviceKind::Cpu)
        return RearrangeConfig{.workgroup_size = 16, .tile_rows = 16, .tile_columns = 32, .staged = 0, .padding = 0};
    return RearrangeConfig{.workgroup_size = 256, .tile_rows = 32, .tile_columns = 32, .staged = 1, .padding = 1};
}

RearrangeConfig rearrange_heuristic(const DeviceInfo& info, const RearrangeDesc& desc) {
    if (const std::optional<RearrangeConfig> tiled = tiled_default(info, desc)) return *tiled;
    const std::uint32_t width = may_take_quads(desc) ? kQuad : 1;
    const auto [workgroup, loads] = streaming_default(info, elements_of(desc) / width);
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

Result<PipelinesOf<RearrangeDesc>> build_tiles(const Device& device, const RearrangeConfig& config) {
    const std::array constants{
        SpecConstant{abi_ra::kSpecWorkgroupSize, config.workgroup_size},
        SpecConstant{abi_ra::kSpecTileRows, config.tile_rows},
        SpecConstant{abi_ra::kSpecTileColumns, config.tile_columns},
        SpecConstant{abi_ra::kSpecPadding, config.padding},
        SpecConstant{abi_ra::kSpecTileWords, tile_words(config)},
    };
    return device.pipeline(config.staged == 0 ? kernels::kRearrangeTiles : kernels::kRearrangeTilesStaged, constants);
}

Result<PipelinesOf<RearrangeDesc>> build_rearrange(const Device& device, const RearrangeDesc& desc) {
    if (desc.config->tile_rows != 0) return build_tiles(device, *desc.config);
    const RearrangeLayout layout = layout_of(desc);
    std::uint32_t checked = 0;
    for (std::uint32_t k = 0; k < layout.rank; ++k) checked |= layout.steps[k].is_checked ? 1U << k : 0U;
    const std::array constants{
        SpecConstant{abi_ra::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_ra::kSpecLoadsPerInvocation, desc.config->loads_per_invocation},
        SpecConstant{abi_ra::kSpecRank, layout.rank},
        SpecConstant{abi_ra::kSpecChecked, checked},
        SpecConstant{abi_ra::kSpecHasOuter, layout.has_outer ? 1U : 0U},
    };
    if (desc.config->elements_per_load == 1) return device.pipeline(kernels::kRearrange, constants);
    return device.pipeline(sources_are_quads(layout) ? kernels::kRearrangeQuads : kernels::kRearrangeApart, constants);
}

abi_ra::Params params_of(const RearrangeDesc& desc) {
    const RearrangeLayout layout = layout_of(desc);
    const auto& [d0, d1, d2, d3, d4] = layout.steps;
    // clang-format off
    return {
        .unit_count = static_cast<std::uint32_t>(elements_of(desc) / desc.config->elements_per_load),
        .outer_stride = layout.outer_stride,
        .first = layout.first,
        .fill = std::bit_cast<std::uint32_t>(desc.fill),
        .extent0 = d0.extent, .source0 = d0.source_extent, .start0 = d0.start, .step0 = d0.step, .stride0 = d0.stride,
        .extent1 = d1.extent, .source1 = d1.source_extent, .start1 = d1.start, .step1 = d1.step, .stride1 = d1.stride,
        .extent2 = d2.extent, .source2 = d2.source_extent, .start2 = d2.start, .step2 = d2.step, .stride2 = d2.stride,
        .extent3 = d3.extent, .source3 = d3.source_extent, .start3 = d3.start, .step3 = d3.step, .stride3 = d3.stride,
        .extent4 = d4.extent, .source4 = d4.source_extent, .start4 = d4.start, .step4 = d4.step, .stride4 = d4.stride,
    };
    // clang-format on
}

// Where everything is fill, the source may have nothing to bind: what stands in for it is never read.
Result<BindingsOf<RearrangeDesc>> bind_rearrange(const Device& device, const RearrangeDesc& desc,
                                                 const PipelinesOf<RearrangeDesc>& pipeline,
                                                 const RearrangeViews& views, const BufferView& /*scratch*/) {
    RearrangeDispatch dispatch{.binding = {}, .params = params_of(desc)};
    YOLK_TRY(dispatch.binding,
             device.bind(pipeline, std::array{desc.source_elements == 0 ? views.out : views.source, views.out}));
    return dispatch;
}

LinearGrid grid_of_tiles(const abi_ra::Params& params, const RearrangeConfig& config) {
    const std::uint64_t tiles = std::uint64_t{ceil_div(params.extent0, config.tile_rows)} *
                                ceil_div(params.extent1, config.tile_columns) * params.extent2;
    return grid_of(tiles, 1, kTiledCost * config.tile_rows * config.tile_columns);
}

void record_rearrange(Recorder& recorder, const BindingsOf<RearrangeDesc>& dispatch,
                      const RearrangeDesc& desc) noexcept {
    const RearrangeConfig& config = *desc.config;
    if (config.tile_rows != 0)
        return recorder.dispatch(dispatch.binding, dispatch.params, grid_of_tiles(dispatch.params, config));
    recorder.dispatch(
        dispatch.binding, dispatch.params,
        grid_of(dispatch.params.unit_count, std::uint64_t{config.workgroup_size} * config.loads_per_invocation,
                kRearrangeCost * config.elements_per_load));
}

}  // namespace

template <>
const Operation<RearrangeDesc>& operation_of<RearrangeDesc>() {
    using Desc = RearrangeDesc;
    using Views = RearrangeViews;
    static const Operation<Desc> kOperation{
        .name = "rearrange",
        .fields = {"rearrange", rearrange_fields()},
        .views = {{"source", ViewRole::Input, &Views::source, &rearrange_source_view},
                  {"out", ViewRole::Output, &Views::out, &rearranged_view}},
        .knobs = &rearrange_knobs,
        .legal = &legal_rearrange,
        .heuristic = &rearrange_heuristic,
        .check = &check_rearrange,
        .is_empty = &is_empty_rearrange,
        .build = &build_rearrange,
        .bind = &bind_rearrange,
        .record = &record_rearrange,
    };
    return kOperation;
}
template class Plan<RearrangeDesc>;

}  // namespace yolk
