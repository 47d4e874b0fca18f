// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/concat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "plan_checks.hpp"
#include "streaming_default.hpp"
#include "tuned_plan.hpp"
#include "yolk/shaders/catalogue.hpp"

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

}  // namespace

ConfigSpace<ConcatConfig> concat_space(const DeviceInfo& /*info*/, const ConcatDesc& desc) {
    const auto legality = [quads = parts_are_quads(desc)](const ConcatConfig& config) -> Result<void> {
        if (config.elements_per_load == 1 || quads) return {};
        return bad_input(
            "elements_per_load of [concat] is 4, but the extent * inner of a part is not a multiple of 4; use 1.");
    };
    return {"concat",
            {{"workgroup_size", &ConcatConfig::workgroup_size, workgroup_sizes()},
             {"loads_per_invocation", &ConcatConfig::loads_per_invocation, {1, 2, 4, 8}},
             {"elements_per_load", &ConcatConfig::elements_per_load, {1, kQuad}}},
            legality,
            {.variant = fmt::format("f32, {} parts", desc.parts.size()),
             .extents = {desc.members, desc.outer, desc.inner, extent_of(desc)}}};
}

ConcatConfig default_concat_config(const DeviceInfo& info, const ConcatDesc& desc) {
    const std::uint32_t width = parts_are_quads(desc) ? kQuad : 1;
    const std::uint64_t rows = row_count(desc.members, desc.outer);
    const auto [workgroup, loads] = streaming_default(info, rows * (extent_of(desc) * desc.inner / width));
    return {.workgroup_size = workgroup, .loads_per_invocation = loads, .elements_per_load = width};
}

Result<ConcatPlan> plan_concat(const Device& device, const ConcatDesc& desc) {
    if (!desc.config) {
        return plan_tuned(device, desc, concat_space(device.info(), desc), default_concat_config(device.info(), desc),
                          &plan_concat);
    }
    return ConcatPlan::make(device, desc, false);
}

Result<ConcatPlan> plan_split(const Device& device, const ConcatDesc& desc) {
    if (std::ranges::any_of(desc.parts, &ConcatPart::shared))
        return bad_input("A part of [split] is shared, but every member has its own; leave `shared` to concat.");
    if (!desc.config) {
        return plan_tuned(device, desc, concat_space(device.info(), desc), default_concat_config(device.info(), desc),
                          &plan_split);
    }
    return ConcatPlan::make(device, desc, true);
}

Result<ConcatPlan> ConcatPlan::make(const Device& device, const ConcatDesc& desc, bool split) {
    if (desc.parts.empty()) return bad_input("[concat] was given no parts; there must be at least one.");
    ConcatPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    plan.config_ = *desc.config;
    plan.split_ = split;
    YOLK_TRY_VOID(concat_space(device.info(), desc).check(plan.config_));
    YOLK_TRY(plan.whole_bytes_, checked_bytes({desc.members, desc.outer, extent_of(desc), desc.inner}, kElementBytes,
                                              "the whole view of [concat]"));
    YOLK_TRY_VOID(check_binding_size(device, plan.whole_bytes_, "the whole view of [concat]"));
    if (plan.whole_bytes_ == 0) return plan;
    const std::array constants{
        SpecConstant{abi_cc::kSpecWorkgroupSize, plan.config_.workgroup_size},
        SpecConstant{abi_cc::kSpecLoadsPerInvocation, plan.config_.loads_per_invocation},
    };
    const auto& kernel = plan.config_.elements_per_load == 1 ? kernels::kConcat : kernels::kConcatQuads;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

// Fits: no part is larger than the whole.
std::uint64_t ConcatPlan::part_bytes(const ConcatPart& part) const noexcept {
    if (whole_bytes_ == 0) return 0;
    return kElementBytes * (part.shared ? 1 : desc_.members) * desc_.outer * part.extent * desc_.inner;
}

Result<void> ConcatPlan::check(const ConcatViews& views) const {
    if (views.parts.size() != desc_.parts.size())
        return bad_input(
            fmt::format("[concat] was given {} parts; it was planned for {}.", views.parts.size(), desc_.parts.size()));
    const std::uint64_t limit = device_->info().limits.max_storage_buffer_range;
    YOLK_TRY_VOID(check_view(views.whole, whole_bytes_, limit, "the whole view of [concat]"));
    for (std::size_t i = 0; i < views.parts.size(); ++i) {
        const std::string what = fmt::format("the parts[{}] view of [concat]", i);
        YOLK_TRY_VOID(check_view(views.parts[i], part_bytes(desc_.parts[i]), limit, what.c_str()));
    }
    const std::span whole(&views.whole, 1);
    return split_ ? check_no_overlap(views.parts, whole, "[split]") : check_no_overlap(whole, views.parts, "[concat]");
}

Result<BoundConcat> ConcatPlan::bind(const ConcatViews& views, const BufferView& /*scratch*/) const {
    YOLK_TRY_VOID(check(views));
    BoundConcat bound;
    const std::uint32_t width = config_.elements_per_load;
    const auto units = [width](std::uint64_t elements) { return static_cast<std::uint32_t>(elements / width); };
    const std::uint32_t runs = desc_.members * desc_.outer;
    const std::uint32_t stride = units(extent_of(desc_) * desc_.inner);
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < desc_.parts.size(); ++i) {
        const ConcatPart& part = desc_.parts[i];
        if (part_bytes(part) == 0) continue;
        const std::uint32_t length = units(std::uint64_t{part.extent} * desc_.inner);
        abi_cc::Params params{
            .run_count = runs,
            .run_length = length,
            .source_runs = part.shared ? desc_.outer : runs,
            .source_stride = length,
            .source_first = 0,
            .target_stride = stride,
            .target_first = first,
        };
        if (split_) {
            std::swap(params.source_stride, params.target_stride);
            std::swap(params.source_first, params.target_first);
        }
        const BufferView& source = split_ ? views.whole : views.parts[i];
        const BufferView& target = split_ ? views.parts[i] : views.whole;
        YOLK_TRY(auto binding, device_->bind(pipeline_, std::array{source, target}));
        const LinearGrid grid =
            grid_of(std::uint64_t{runs} * length, std::uint64_t{config_.workgroup_size} * config_.loads_per_invocation,
                    kConcatLoadCost * width);
        bound.copies_.push_back({std::move(binding), params, grid});
        first += length;
    }
    return bound;
}

void BoundConcat::record(Recorder& recorder) const noexcept {
    if (copies_.empty()) return;
    const ScopedLabel label(recorder, "concat");
    for (const Copy& copy : copies_) recorder.dispatch(copy.binding, copy.params, copy.grid);
}

}  // namespace yolk
