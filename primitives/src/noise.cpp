// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/noise.hpp"

#include <array>
#include <utility>

#include "plan_checks.hpp"
#include "streaming_default.hpp"
#include "tuned_plan.hpp"
#include "yolk/core/check.hpp"
#include "yolk/core/shape.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {

namespace {

std::uint64_t out_bytes(const NoiseDesc& desc) noexcept {
    return kElementBytes * desc.element_count * desc.pair_count;  // fits: plan_noise has checked it
}

}  // namespace

ConfigSpace<NoiseConfig> noise_space(const DeviceInfo& /*info*/, const NoiseDesc& desc) {
    return {
        "noise",
        {{"workgroup_size", &NoiseConfig::workgroup_size, workgroup_sizes()},
         {"blocks_per_invocation", &NoiseConfig::blocks_per_invocation, {1, 2, 3, 4, 5, 6, 7, 8}}},
        {},
        {.variant = desc.format == NoiseFormat::I32 ? "i32" : "f32", .extents = {desc.element_count, desc.pair_count}}};
}

NoiseConfig default_noise_config(const DeviceInfo& info, const NoiseDesc& desc) {
    const auto [workgroup, items] =
        streaming_default(info, std::uint64_t{ceil_div(desc.element_count, kNoiseElementsPerBlock)} * desc.pair_count);
    return {.workgroup_size = workgroup, .blocks_per_invocation = items};
}

Result<NoisePlan> plan_noise(const Device& device, const NoiseDesc& desc) {
    if (!desc.config)
        return plan_tuned(device, desc, noise_space(device.info(), desc), default_noise_config(device.info(), desc),
                          &plan_noise);
    YOLK_TRY_VOID(noise_space(device.info(), desc).check(*desc.config));
    YOLK_TRY(const std::uint64_t size_bytes,
             checked_bytes({desc.element_count, desc.pair_count}, kElementBytes, "the out view of [noise]"));
    YOLK_TRY_VOID(check_binding_size(device, size_bytes, "the out view of [noise]"));

    NoisePlan plan;
    plan.device_ = &device;
    plan.desc_ = desc;
    if (size_bytes == 0) return plan;
    const std::array constants{
        SpecConstant{abi::noise::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi::noise::kSpecBlocksPerInvocation, desc.config->blocks_per_invocation},
    };
    const auto& kernel = desc.format == NoiseFormat::I32 ? kernels::kNoiseI32 : kernels::kNoiseF32;
    YOLK_TRY(plan.pipeline_, device.pipeline(kernel, constants));
    return plan;
}

Result<BoundNoise> NoisePlan::bind(const NoiseViews& views, const BufferView& /*scratch*/) const {
    BoundNoise bound;
    bound.desc_ = desc_;
    const std::uint64_t size_bytes = out_bytes(desc_);
    YOLK_TRY_VOID(
        check_views(*device_, "[noise]", {}, {{.view = views.out, .needed_bytes = size_bytes, .name = "out"}}));
    if (size_bytes == 0) return bound;
    YOLK_TRY(bound.binding_, device_->bind(pipeline_, std::array{views.out}));
    return bound;
}

void BoundNoise::record(Recorder& recorder, const NoiseStream& stream) const noexcept {
    YOLK_ASSERT(stream.parameter <= kMaxParameterId);
    const std::uint64_t blocks =
        std::uint64_t{ceil_div(desc_.element_count, kNoiseElementsPerBlock)} * desc_.pair_count;
    if (blocks == 0) return;
    const ScopedLabel label(recorder, "noise");
    recorder.dispatch(binding_,
                      {
                          .seed_low = static_cast<std::uint32_t>(stream.seed),
                          .seed_high = static_cast<std::uint32_t>(stream.seed >> 32U),
                          .parameter_and_domain = stream.parameter | (static_cast<std::uint32_t>(stream.domain) << 24U),
                          .first_pair = stream.pair,
                          .time = stream.time,
                          .element_count = desc_.element_count,
                          .pair_count = desc_.pair_count,
                      },
                      grid_of(blocks, std::uint64_t{desc_.config->workgroup_size} * desc_.config->blocks_per_invocation,
                              kNoiseBlockCost));
}

}  // namespace yolk
