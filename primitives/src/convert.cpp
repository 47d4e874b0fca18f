// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "plan_checks.hpp"
#include "streaming_default.hpp"
#include "tuned_plan.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

constexpr std::uint64_t kCostPerWord = 64;

}  // namespace

ConfigSpace<ConvertConfig> convert_space(const DeviceInfo& /*info*/, const ConvertDesc& desc) {
    return {"convert",
            {{"workgroup_size", &ConvertConfig::workgroup_size, workgroup_sizes()},
             {"words_per_invocation", &ConvertConfig::words_per_invocation, {1, 2, 4, 8}}},
            {},
            {.variant = fmt::format("{} to {}", to_string(desc.from), to_string(desc.to)), .extents = {desc.count}}};
}

ConvertConfig default_convert_config(const DeviceInfo& info, const ConvertDesc& desc) {
    const auto [workgroup, items] = streaming_default(info, desc.count / 2);
    return {.workgroup_size = workgroup, .words_per_invocation = items};
}

Result<ConvertPlan> plan_convert(const Device& device, const ConvertDesc& desc) {
    if ((desc.from == FloatFormat::F32) == (desc.to == FloatFormat::F32)) {
        return bad_input(
            fmt::format("[convert] was asked for {} to {}; one of the two must be f32, the other f16 or "
                        "bf16. Convert by way of f32.",
                        to_string(desc.from), to_string(desc.to)));
    }
    if (!desc.config)
        return plan_tuned(device, desc, convert_space(device.info(), desc), default_convert_config(device.info(), desc),
                          &plan_convert);
    YOLK_TRY_VOID(convert_space(device.info(), desc).check(*desc.config));
    YOLK_TRY_VOID(check_binding_size(device, float_bytes(desc.from, desc.count), "the in view of [convert]"));
    YOLK_TRY_VOID(check_binding_size(device, float_bytes(desc.to, desc.count), "the out view of [convert]"));
    ConvertPlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (desc.count == 0) return plan;
    const bool narrow = desc.from == FloatFormat::F32;
    const std::array constants{
        SpecConstant{abi::convert::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi::convert::kSpecWordsPerInvocation, desc.config->words_per_invocation},
        SpecConstant{abi::convert::kSpecFormat, static_cast<std::uint32_t>(narrow ? desc.to : desc.from)}};
    YOLK_TRY(plan.pipeline_, device.pipeline(narrow ? kernels::kConvertNarrow : kernels::kConvertWiden, constants));
    return plan;
}

Result<BoundConvert> ConvertPlan::bind(const ConvertViews& views, const BufferView& /*scratch*/) const {
    YOLK_TRY_VOID(check_views(
        *device_, "[convert]", {{.view = views.in, .needed_bytes = float_bytes(desc_.from, desc_.count), .name = "in"}},
        {{.view = views.out, .needed_bytes = float_bytes(desc_.to, desc_.count), .name = "out"}}));
    BoundConvert bound;
    bound.desc_ = desc_;
    if (desc_.count == 0) return bound;
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{views.in, views.out}));
    return bound;
}

void BoundConvert::record(Recorder& recorder) const noexcept {
    if (desc_.count == 0) return;
    const ScopedLabel label(recorder, "convert");
    const auto words = ceil_div<std::uint64_t>(desc_.count, 2);
    recorder.dispatch(
        binding_, {.count = desc_.count},
        grid_of(words, std::uint64_t{desc_.config->workgroup_size} * desc_.config->words_per_invocation, kCostPerWord));
}

}  // namespace yolk
