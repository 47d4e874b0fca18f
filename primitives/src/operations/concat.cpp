// SPDX-License-Identifier: Apache-2.0
#include "yolk/concat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "operation_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {

namespace abi_cc = abi::concat;

namespace {

// A load, a store and three divisions of indices.
constexpr std::uint64_t kConcatLoadCost = 16;

std::uint64_t extent_of(const ConcatDesc& desc) {
    std::uint64_t extent = 0;
    for (const ConcatPart& part : desc.parts) extent += part.extent;  // 2^32 parts would not fit in memory
    return extent;
}

bool parts_are_quads(const ConcatDesc& desc) {
    return std::ranges::all_of(
        desc.parts, [&](const ConcatPart& part) { return std::uint64_t{part.extent} * desc.inner % kQuad == 0; });
}

Result<void> legal_concat(const DeviceInfo& /*info*/, const ConcatDesc& desc, const ConcatConfig& config) {
    if (config.elements_per_load == 1 || parts_are_quads(desc)) return {};
    return bad_input(
        "elements_per_load of [concat] is 4, but the extent * inner of a part is not a multiple of 4; use 1.");
}

std::vector<Knob<ConcatConfig>> concat_knobs(const DeviceInfo& /*info*/, const ConcatDesc& /*desc*/) {
    return {{"workgroup_size", &ConcatConfig::workgroup_size, workgroup_sizes()},
            {"loads_per_invocation", &ConcatConfig::loads_per_invocation, {1, 2, 4, 8}},
            {"elements_per_load", &ConcatConfig::elements_per_load, {1, kQuad}}};
}

ConcatConfig concat_heuristic(const DeviceInfo& info, const ConcatDesc& desc) {
    const std::uint32_t width = parts_are_quads(desc) ? kQuad : 1;
    const std::uint64_t rows = row_count(desc.members, desc.outer);
    const auto [workgroup, loads] = streaming_default(info, rows * (extent_of(desc) * desc.inner / width));
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

Result<void> check_concat(const ConcatDesc& desc) {
    if (desc.parts.empty()) return bad_input("[concat] was given no parts; there must be at least one.");
    if (desc.split && std::ranges::any_of(desc.parts, &ConcatPart::shared))
        return bad_input("A part of [split] is shared, but every member has its own; leave `shared` to concat.");
    return {};
}

ViewShape whole_view(const ConcatDesc& desc) {
    return {.extents = {{"members", desc.members},
                        {"outer", desc.outer},
                        {"extent", extent_of(desc)},
                        {"inner", desc.inner}},
            .role = desc.split ? ViewRole::Input : ViewRole::Output};
}
std::vector<ViewShape> part_views(const ConcatDesc& desc) {
    std::vector<ViewShape> shapes;
    for (const ConcatPart& part : desc.parts) {
        // Without members there is nothing to copy a shared part to.
        const std::uint32_t members = part.shared ? std::min(desc.members, 1U) : desc.members;
        shapes.push_back(
            {.extents = {{"members", members}, {"outer", desc.outer}, {"extent", part.extent}, {"inner", desc.inner}},
             .role = desc.split ? ViewRole::Output : ViewRole::Input});
    }
    return shapes;
}

std::string_view concat_label(const ConcatDesc& desc) { return desc.split ? "split" : "concat"; }

bool is_empty_concat(const ConcatDesc& desc) {
    return desc.members == 0 || desc.outer == 0 || desc.inner == 0 || extent_of(desc) == 0;
}

Result<PipelinesOf<ConcatDesc>> build_concat(const Device& device, const ConcatDesc& desc) {
    const std::array constants{
        SpecConstant{abi_cc::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_cc::kSpecLoadsPerInvocation, desc.config->loads_per_invocation},
    };
    return device.pipeline(desc.config->elements_per_load == 1 ? kernels::kConcat : kernels::kConcatQuads, constants);
}

Result<BindingsOf<ConcatDesc>> bind_concat(const Device& device, const ConcatDesc& desc,
                                           const PipelinesOf<ConcatDesc>& pipeline, const ConcatViews& views,
                                           const BufferView& /*scratch*/) {
    std::vector<ConcatCopy> copies;
    const ConcatConfig& config = *desc.config;
    const std::uint32_t width = config.elements_per_load;
    const auto units = [width](std::uint64_t elements) { return static_cast<std::uint32_t>(elements / width); };
    const std::uint32_t runs = desc.members * desc.outer;
    const std::uint32_t stride = units(extent_of(desc) * desc.inner);
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < desc.parts.size(); ++i) {
        const ConcatPart& part = desc.parts[i];
        if (part.extent == 0) continue;
        const std::uint32_t length = units(std::uint64_t{part.extent} * desc.inner);
        abi_cc::Params params{
            .run_count = runs,
            .run_length = length,
            .source_runs = part.shared ? desc.outer : runs,
            .source_stride = length,
            .source_first = 0,
            .target_stride = stride,
            .target_first = first,
        };
        if (desc.split) {
            std::swap(params.source_stride, params.target_stride);
            std::swap(params.source_first, params.target_first);
        }
        const BufferView& source = desc.split ? views.whole : views.parts[i];
        const BufferView& target = desc.split ? views.parts[i] : views.whole;
        YOLK_TRY(auto binding, device.bind(pipeline, std::array{source, target}));
        const LinearGrid grid =
            grid_of(std::uint64_t{runs} * length, std::uint64_t{config.workgroup_size} * config.loads_per_invocation,
                    kConcatLoadCost * width);
        copies.push_back({std::move(binding), params, grid});
        first += length;
    }
    return copies;
}

void record_concat(Recorder& recorder, const BindingsOf<ConcatDesc>& copies, const ConcatDesc& /*desc*/) noexcept {
    for (const ConcatCopy& copy : copies) recorder.dispatch(copy.binding, copy.params, copy.grid);
}

/// "3-5s-4": the parts' extents, `s` behind a shared one.
std::string print_parts(const ConcatDesc& desc) {
    std::string text;
    for (const ConcatPart& part : desc.parts)
        text += fmt::format("{}{}{}", text.empty() ? "" : "-", part.extent, part.shared ? "s" : "");
    return text;
}
bool parse_parts(ConcatDesc& desc, std::string_view text) {
    std::vector<ConcatPart> parts;
    while (true) {
        const std::size_t end = std::min(text.find('-'), text.size());
        std::string_view word = text.substr(0, end);
        ConcatPart part{.extent = 0, .shared = word.ends_with('s')};
        if (part.shared) word.remove_suffix(1);
        if (!detail::parse_number(word, part.extent)) return false;
        parts.push_back(part);
        if (end == text.size()) break;
        text.remove_prefix(end + 1);
    }
    desc.parts = std::move(parts);
    return true;
}

}  // namespace

template <>
const Operation<ConcatDesc>& operation_of<ConcatDesc>() {
    using Desc = ConcatDesc;
    using Views = ConcatViews;
    static const Operation<Desc> kOperation{
        .name = "concat",
        .fields = {"concat",
                   {extent<&Desc::members>("members"), extent<&Desc::outer>("outer"), extent<&Desc::inner>("inner"),
                    Field<Desc>{.info = {.name = "parts",
                                         .role = FieldRole::Extent,
                                         .allowed = "extents joined by -, such as 3-5s-4, with s for a shared part",
                                         .fallback = {},
                                         .is_list = true},
                                .print = &print_parts,
                                .parse = &parse_parts},
                    variant<&Desc::split>("split")}},
        .views = {{.name = "whole", .view = &Views::whole, .shape = &whole_view},
                  {.name = "parts", .list = &Views::parts, .list_shapes = &part_views}},
        .label = &concat_label,
        .knobs = &concat_knobs,
        .legal = &legal_concat,
        .heuristic = &concat_heuristic,
        .check = &check_concat,
        .is_empty = &is_empty_concat,
        .build = &build_concat,
        .bind = &bind_concat,
        .record = &record_concat,
    };
    return kOperation;
}
template class Plan<ConcatDesc>;

}  // namespace yolk
