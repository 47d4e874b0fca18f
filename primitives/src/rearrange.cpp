// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/rearrange.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "operation_plan.hpp"
#include "rearrange_fields.hpp"
#include "rearrange_layout.hpp"
#include "streaming_default.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_ra = abi::rearrange;

// A load, a store, and a division of the place for each dimension.
constexpr std::uint64_t kRearrangeCost = 32;

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

std::vector<Knob<RearrangeConfig>> rearrange_knobs(const DeviceInfo& /*info*/, const RearrangeDesc& /*desc*/) {
    return {{"workgroup_size", &RearrangeConfig::workgroup_size, workgroup_sizes()},
            {"loads_per_invocation", &RearrangeConfig::loads_per_invocation, {1, 2, 4, 8}},
            {"elements_per_load", &RearrangeConfig::elements_per_load, {1, kQuad}}};
}

bool is_empty_rearrange(const RearrangeDesc& desc) {
    return desc.members == 0 ||
           std::ranges::find(desc.dimensions, 0U, &RearrangeDimension::extent) != desc.dimensions.end();
}

bool may_take_quads(const RearrangeDesc& desc) { return is_empty_rearrange(desc) || rows_are_quads(layout_of(desc)); }

Result<void> legal_rearrange(const DeviceInfo& /*info*/, const RearrangeDesc& desc, const RearrangeConfig& config) {
    if (config.elements_per_load == 1 || may_take_quads(desc)) return {};
    return bad_input(
        "elements_per_load of [rearrange] is 4, but the output's rows, as far as they merge, are not multiples of 4; "
        "use 1.");
}

RearrangeConfig rearrange_heuristic(const DeviceInfo& info, const RearrangeDesc& desc) {
    const std::uint32_t width = may_take_quads(desc) ? kQuad : 1;
    const auto [workgroup, loads] = streaming_default(info, elements_of(desc) / width);
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

Result<PipelinesOf<RearrangeDesc>> build_rearrange(const Device& device, const RearrangeDesc& desc) {
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

void record_rearrange(Recorder& recorder, const BindingsOf<RearrangeDesc>& dispatch,
                      const RearrangeDesc& desc) noexcept {
    recorder.dispatch(dispatch.binding, dispatch.params,
                      grid_of(dispatch.params.unit_count,
                              std::uint64_t{desc.config->workgroup_size} * desc.config->loads_per_invocation,
                              kRearrangeCost * desc.config->elements_per_load));
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
