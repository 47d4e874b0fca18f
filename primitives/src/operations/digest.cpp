// SPDX-License-Identifier: Apache-2.0
#include "yolk/digest.hpp"

#include <array>

#include "operation_plan.hpp"
#include "streaming_default.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

namespace abi_digest = abi::digest;

constexpr std::uint32_t kDigestBlockWords = 4;

std::uint64_t digest_blocks(const DigestDesc& desc) noexcept {
    return ceil_div(std::uint64_t{desc.count}, std::uint64_t{kDigestBlockWords});
}

ViewShape digest_in(const DigestDesc& desc) { return {.extents = {{"count", desc.count}}, .dtype = DType::U32}; }
ViewShape digest_sums(const DigestDesc& /*desc*/) {
    return {.extents = {{"sums", abi_digest::kSumWords}}, .dtype = DType::U32};
}

std::vector<Knob<DigestConfig>> digest_knobs(const DeviceInfo& /*info*/, const DigestDesc& /*desc*/) {
    return {{"workgroup_size", &DigestConfig::workgroup_size, workgroup_sizes()},
            {"blocks_per_invocation", &DigestConfig::blocks_per_invocation, {1, 2, 4, 8, 16}}};
}

/// GPUs: workgroups that end in few atomic additions, and at least 256 of them before an invocation takes more blocks.
DigestConfig digest_heuristic(const DeviceInfo& info, const DigestDesc& desc) {
    const std::uint64_t blocks = digest_blocks(desc);
    if (info.kind == DeviceKind::Cpu) {
        const auto [workgroup, items] = streaming_default(info, blocks);
        return {.workgroup_size = workgroup, .blocks_per_invocation = items};
    }
    constexpr std::uint32_t kWorkgroup = 256;
    DigestConfig config{.workgroup_size = kWorkgroup};
    while (config.blocks_per_invocation < 8 && blocks >= std::uint64_t{512} * kWorkgroup * config.blocks_per_invocation)
        config.blocks_per_invocation *= 2;
    return config;
}

Result<PipelinesOf<DigestDesc>> build_digest(const Device& device, const DigestDesc& desc) {
    const std::array constants{
        SpecConstant{abi_digest::kSpecWorkgroupSize, desc.config->workgroup_size},
        SpecConstant{abi_digest::kSpecBlocksPerInvocation, desc.config->blocks_per_invocation},
    };
    return device.pipeline(kernels::kDigest, constants);
}

void record_digest(Recorder& recorder, const BindingsOf<DigestDesc>& binding, const DigestDesc& desc,
                   std::uint32_t array) noexcept {
    const auto per_group = std::uint64_t{desc.config->workgroup_size} * desc.config->blocks_per_invocation;
    recorder.dispatch(binding, {.count = desc.count, .array = array},
                      grid_of(digest_blocks(desc), per_group, kNoiseBlockCost));
}

}  // namespace

template <>
const Operation<DigestDesc>& operation_of<DigestDesc>() {
    using Desc = DigestDesc;
    using Views = DigestViews;
    static const Operation<Desc> kOperation{
        .name = "digest",
        .fields = {"digest", {extent<&Desc::count>("count")}},
        .views = {{"in", ViewRole::Input, &Views::in, &digest_in},
                  {"sums", ViewRole::InOut, &Views::sums, &digest_sums}},
        .knobs = &digest_knobs,
        .heuristic = &digest_heuristic,
        .build = &build_digest,
        .record = &record_digest,
    };
    return kOperation;
}
template class Plan<DigestDesc>;

}  // namespace yolk
