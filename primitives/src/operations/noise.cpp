// SPDX-License-Identifier: Apache-2.0
#include "yolk/noise.hpp"

#include <array>

#include "operation_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/core/check.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_noise = abi::noise;

std::uint64_t noise_blocks(const NoiseDesc& desc) noexcept {
    return std::uint64_t{ceil_div(desc.element_count, kNoiseElementsPerBlock)} * desc.pair_count;
}

ViewShape noise_view(const NoiseDesc& desc) {
    return {.extents = {{"pairs", desc.pair_count}, {"elements", desc.element_count}},
            .dtype = desc.format == NoiseFormat::I32 ? DType::I32 : DType::F32};
}

std::vector<Knob<NoiseConfig>> noise_knobs(const DeviceInfo& /*info*/, const NoiseDesc& /*desc*/) {
    return {{"workgroup_size", &NoiseConfig::workgroup_size, workgroup_sizes()},
            {"blocks_per_invocation", &NoiseConfig::blocks_per_invocation, {1, 2, 3, 4, 5, 6, 7, 8}}};
}

NoiseConfig noise_heuristic(const DeviceInfo& info, const NoiseDesc& desc) {
    const auto [workgroup, items] = streaming_default(info, noise_blocks(desc));
    return {.workgroup_size = workgroup, .blocks_per_invocation = items};
}

Result<PipelinesOf<NoiseDesc>> build_noise(const Device& device, const NoiseDesc& desc) {
    const std::array constants{
        SpecConstant{abi_noise::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_noise::kSpecBlocksPerInvocation, desc.config->blocks_per_invocation},
    };
    return device.pipeline(desc.format == NoiseFormat::I32 ? kernels::kNoiseI32 : kernels::kNoiseF32, constants);
}

void record_noise(Recorder& recorder, const BindingsOf<NoiseDesc>& binding, const NoiseDesc& desc,
                  const NoiseStream& stream) noexcept {
    YOLK_ASSERT(stream.parameter <= kMaxParameterId);
    recorder.dispatch(
        binding,
        {
            .seed_low = static_cast<std::uint32_t>(stream.seed),
            .seed_high = static_cast<std::uint32_t>(stream.seed >> 32U),
            .parameter_and_domain = stream.parameter | (static_cast<std::uint32_t>(stream.domain) << 24U),
            .first_pair = stream.pair,
            .time = stream.time,
            .element_count = desc.element_count,
            .pair_count = desc.pair_count,
        },
        grid_of(noise_blocks(desc), std::uint64_t{desc.config->workgroup_size} * desc.config->blocks_per_invocation,
                kNoiseBlockCost));
}

}  // namespace

template <>
const Operation<NoiseDesc>& operation_of<NoiseDesc>() {
    using Desc = NoiseDesc;
    using Views = NoiseViews;
    static const Operation<Desc> kOperation{
        .name = "noise",
        .fields = {"noise",
                   {extent<&Desc::element_count>("elements"), extent<&Desc::pair_count>("pairs"),
                    variant<&Desc::format>("format")}},
        .views = {{"out", ViewRole::Output, &Views::out, &noise_view}},
        .knobs = &noise_knobs,
        .heuristic = &noise_heuristic,
        .build = &build_noise,
        .record = &record_noise,
    };
    return kOperation;
}
template class Plan<NoiseDesc>;

}  // namespace yolk
