// SPDX-License-Identifier: Apache-2.0
#include "rate_probe.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "yolk/device.hpp"
#include "yolk/internal/abi/limits.h"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kWorkgroup = 64;
constexpr std::uint32_t kChains = 8;
constexpr std::uint32_t kMostInvocations = 1U << 16U;
constexpr std::uint32_t kIterations = 8;

}  // namespace

Result<double> measure_rate(Dispatcher& dispatcher) {
    using Clock = std::chrono::steady_clock;
    const Device& device = dispatcher.device();
    // As many as one binding holds the results of.
    const std::uint64_t most = device.info().limits.max_storage_buffer_range / 4 / kWorkgroup * kWorkgroup;
    const auto invocations = static_cast<std::uint32_t>(std::min<std::uint64_t>(kMostInvocations, most));
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = 4ULL * invocations, .label = "out of the rate"}));
    const std::array constants{SpecConstant{abi::limits::kSpecWorkgroupSize, kWorkgroup},
                               SpecConstant{abi::limits::kSpecChains, kChains}};
    YOLK_TRY(const auto pipeline, device.pipeline(kernels::kMultiplyAdd, constants));
    YOLK_TRY(const auto binding, device.bind(pipeline, std::array{BufferView(out)}));
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.label = "rate"}));
    recorder.begin();
    recorder.dispatch(
        binding,
        abi::limits::Params{.invocations = invocations, .iterations = kIterations, .factor = 0.5F, .summand = 1.0F},
        GroupCount{invocations / kWorkgroup, 1, 1});
    YOLK_TRY_VOID(dispatcher.run(recorder));
    const Clock::time_point begun = Clock::now();
    YOLK_TRY_VOID(dispatcher.run(recorder));
    const double multiply_adds = double{1} * invocations * kIterations * abi::limits::kStepsPerIteration * kChains;
    return multiply_adds / std::chrono::duration<double>(Clock::now() - begun).count();
}

}  // namespace yolk
