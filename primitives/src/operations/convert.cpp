// SPDX-License-Identifier: Apache-2.0
#include "yolk/convert.hpp"

#include <array>

#include "operation_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

constexpr std::uint64_t kCostPerWord = 64;

Result<void> check_convert(const ConvertDesc& desc) {
    if ((desc.from == FloatFormat::F32) != (desc.to == FloatFormat::F32)) return {};
    return bad_input(
        "[convert] was asked for {} to {}; one of the two must be f32, the other f16 or bf16. Convert by way of f32.",
        to_string(desc.from), to_string(desc.to));
}

ViewShape in_view(const ConvertDesc& desc) { return floats_view(desc.from, "count", desc.count); }
ViewShape out_view(const ConvertDesc& desc) { return floats_view(desc.to, "count", desc.count); }

std::vector<Knob<ConvertConfig>> convert_knobs(const DeviceInfo& /*info*/, const ConvertDesc& /*desc*/) {
    return {{"workgroup_size", &ConvertConfig::workgroup_size, workgroup_sizes()},
            {"words_per_invocation", &ConvertConfig::words_per_invocation, {1, 2, 4, 8}}};
}

ConvertConfig convert_heuristic(const DeviceInfo& info, const ConvertDesc& desc) {
    const auto [workgroup, items] = streaming_default(info, desc.count / 2);
    return {.workgroup_size = workgroup, .words_per_invocation = items};
}

Result<PipelinesOf<ConvertDesc>> build_convert(const Device& device, const ConvertDesc& desc) {
    const bool narrow = desc.from == FloatFormat::F32;
    const std::array constants{
        SpecConstant{abi::convert::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi::convert::kSpecWordsPerInvocation, desc.config->words_per_invocation},
        SpecConstant{abi::convert::kSpecFormat, static_cast<std::uint32_t>(narrow ? desc.to : desc.from)}};
    return device.pipeline(narrow ? kernels::kConvertNarrow : kernels::kConvertWiden, constants);
}

void record_convert(Recorder& recorder, const BindingsOf<ConvertDesc>& binding, const ConvertDesc& desc) noexcept {
    const auto words = ceil_div<std::uint64_t>(desc.count, 2);
    recorder.dispatch(
        binding, {.count = desc.count},
        grid_of(words, std::uint64_t{desc.config->workgroup_size} * desc.config->words_per_invocation, kCostPerWord));
}

}  // namespace

template <>
const Operation<ConvertDesc>& operation_of<ConvertDesc>() {
    using Desc = ConvertDesc;
    using Views = ConvertViews;
    static const Operation<Desc> kOperation{
        .name = "convert",
        .fields = {"convert", {extent<&Desc::count>("count"), variant<&Desc::from>("from"), variant<&Desc::to>("to")}},
        .views = {{"in", ViewRole::Input, &Views::in, &in_view}, {"out", ViewRole::Output, &Views::out, &out_view}},
        .knobs = &convert_knobs,
        .heuristic = &convert_heuristic,
        .check = &check_convert,
        .build = &build_convert,
        .record = &record_convert,
    };
    return kOperation;
}
template class Plan<ConvertDesc>;

}  // namespace yolk
