// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "plan_checks.hpp"
#include "yolk/abi/limits.h"
#include "yolk/abi/matmul.h"
#include "yolk/runtime/recorder.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kRepeats = 3;
/// Long enough that a clock of microseconds is fine enough, short of the loop limits of CPU drivers.
constexpr std::uint32_t kIterations = 2048;

/// The shortest of kRepeats runs after one to warm up, in seconds.
template <class Record>
Result<double> best_seconds(const Device& device, Dispatcher& dispatcher, Record&& record) {
    YOLK_TRY(Recorder recorder, Recorder::create(device, {.timestamp_count = 2, .label = "limits"}));
    recorder.begin();
    recorder.timestamp(0);
    record(recorder);
    recorder.timestamp(1);
    YOLK_TRY_VOID(dispatcher.run(recorder));
    double best = 1e300;
    for (std::uint32_t i = 0; i < kRepeats; ++i) {
        YOLK_TRY_VOID(dispatcher.run(recorder));
        std::array<double, 2> nanoseconds{};
        YOLK_TRY_VOID(recorder.read_timestamps(nanoseconds));
        best = std::min(best, (nanoseconds[1] - nanoseconds[0]) * 1e-9);
    }
    return best;
}

/// Enough for the device at hand: a discrete one wants tens of thousands.
std::uint32_t invocations_for(const Device& device) {
    return device.info().kind == DeviceKind::Cpu ? 4096U : 1U << 18U;
}

}  // namespace

Result<double> measure_multiply_adds_per_second(const Device& device, Dispatcher& dispatcher,
                                                std::chrono::steady_clock::time_point until) {
    const std::uint32_t invocations = invocations_for(device);
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = 4ULL * invocations, .label = "out of [limits]"}));
    double best = 0.0;
    for (const std::uint32_t workgroup_size : {8U, 64U, 256U}) {
        for (const std::uint32_t chains : {4U, 8U, 10U, 12U, 16U}) {
            if (std::chrono::steady_clock::now() >= until) return 0.0;
            const std::array constants{SpecConstant{abi::limits::kSpecWorkgroupSize, workgroup_size},
                                       SpecConstant{abi::limits::kSpecChains, chains}};
            YOLK_TRY(const auto pipeline, device.pipeline(kernels::kMultiplyAdd, constants));
            YOLK_TRY(const auto binding, device.bind(pipeline, std::array{BufferView(out)}));
            const double products = double{1} * invocations * kIterations * abi::limits::kStepsPerIteration * chains;
            const LinearGrid grid = grid_of(invocations, workgroup_size,
                                            std::uint64_t{kIterations} * abi::limits::kStepsPerIteration * chains);
            YOLK_TRY(const double seconds, best_seconds(device, dispatcher, [&](Recorder& recorder) {
                         recorder.dispatch(
                             binding,
                             {.invocations = invocations, .iterations = kIterations, .factor = 0.5F, .summand = 1.0F},
                             grid);
                     }));
            best = std::max(best, products / seconds);
        }
    }
    return best;
}

Result<double> measure_textbook_matmul(const Device& device, Dispatcher& dispatcher, std::uint32_t size) {
    if (size == 0 || size % 16 != 0) {
        return bad_input(fmt::format("The size of the textbook's matmul is {}; it must be a multiple of 16.", size));
    }
    const std::uint64_t bytes = 4ULL * size * size;
    YOLK_TRY(const Buffer a, device.create_buffer({.size_bytes = bytes, .label = "a"}));
    YOLK_TRY(const Buffer b, device.create_buffer({.size_bytes = bytes, .label = "b"}));
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = bytes, .label = "out"}));
    std::vector<float> values(std::size_t{size} * size);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 389 % 1021) / 510.0F - 1.0F;
    YOLK_TRY_VOID(dispatcher.upload(a, std::as_bytes(std::span(values))));
    YOLK_TRY_VOID(dispatcher.upload(b, std::as_bytes(std::span(values))));
    YOLK_TRY(const auto pipeline, device.pipeline(kernels::kMatmulTextbook, {}));
    const std::array<BufferView, abi::matmul::kBindingCount> views{a, b, out, a, a, a, b};
    YOLK_TRY(const auto binding, device.bind(pipeline, views));
    YOLK_TRY(const double seconds, best_seconds(device, dispatcher, [&](Recorder& recorder) {
                 abi::matmul::Params params{};
                 params.k = params.a_stride = params.b_stride = params.out_stride = size;
                 recorder.dispatch(binding, params, GroupCount{size / 16, size / 16, 1});
             }));
    return double{1} * size * size * size / seconds;
}

}  // namespace yolk
