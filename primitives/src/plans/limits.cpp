// SPDX-License-Identifier: Apache-2.0
#include "yolk/primitives/limits.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "plan_checks.hpp"
#include "yolk/abi/limits.h"
#include "yolk/abi/matmul.h"
#include "yolk/core/shape.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/shaders/catalogue.hpp"

namespace yolk {
namespace {

constexpr std::uint32_t kRepeats = 3;
/// Long enough that a clock of microseconds is fine enough, short of the loop limits of CPU drivers. Those take 5 to 15
/// ms for so many; four times as many took 3.4 s of every `tune` on SwiftShader.
std::uint32_t iterations_for(const Device& device) { return device.info().kind == DeviceKind::Cpu ? 512U : 2048U; }

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
    const std::uint32_t iterations = iterations_for(device);
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = 4ULL * invocations, .label = "out of [limits]"}));
    double best = 0.0;
    for (const std::uint32_t workgroup_size : {8U, 64U, 256U}) {
        for (const std::uint32_t chains : {4U, 8U, 10U, 12U, 16U}) {
            if (std::chrono::steady_clock::now() >= until) return 0.0;
            const std::array constants{SpecConstant{abi::limits::kSpecWorkgroupSize, workgroup_size},
                                       SpecConstant{abi::limits::kSpecChains, chains}};
            YOLK_TRY(const auto pipeline, device.pipeline(kernels::kMultiplyAdd, constants));
            YOLK_TRY(const auto binding, device.bind(pipeline, std::array{BufferView(out)}));
            const double products = double{1} * invocations * iterations * abi::limits::kStepsPerIteration * chains;
            const LinearGrid grid = grid_of(invocations, workgroup_size,
                                            std::uint64_t{iterations} * abi::limits::kStepsPerIteration * chains);
            YOLK_TRY(const double seconds, best_seconds(device, dispatcher, [&](Recorder& recorder) {
                         recorder.dispatch(
                             binding,
                             {.invocations = invocations, .iterations = iterations, .factor = 0.5F, .summand = 1.0F},
                             grid);
                     }));
            best = std::max(best, products / seconds);
        }
    }
    return best;
}

Result<double> measure_textbook_matmul(const Device& device, Dispatcher& dispatcher, const TextbookProduct& product) {
    constexpr std::uint64_t kMostExtent = 1U << 14U;  // its matrices then fill 1 GiB each
    for (const std::uint64_t extent : {product.m, product.n, product.k}) {
        if (extent == 0 || extent > kMostExtent) {
            return bad_input("The textbook's matmul is asked for {} x {} x {}; each is from 1 to {}.", product.m,
                             product.n, product.k, kMostExtent);
        }
    }
    const auto m = static_cast<std::uint32_t>(round_up(product.m, 16)),
               n = static_cast<std::uint32_t>(round_up(product.n, 16)),
               k = static_cast<std::uint32_t>(round_up(product.k, 16));
    YOLK_TRY(const Buffer a, device.create_buffer({.size_bytes = std::uint64_t{4} * m * k, .label = "a"}));
    YOLK_TRY(const Buffer b, device.create_buffer({.size_bytes = std::uint64_t{4} * k * n, .label = "b"}));
    YOLK_TRY(const Buffer out, device.create_buffer({.size_bytes = std::uint64_t{4} * m * n, .label = "out"}));
    std::vector<float> values(std::size_t{std::max(m, n)} * k);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 389 % 1021) / 510.0F - 1.0F;
    const auto bytes = std::as_bytes(std::span(values));
    YOLK_TRY_VOID(dispatcher.upload(a, bytes.first(a.size_bytes())));
    YOLK_TRY_VOID(dispatcher.upload(b, bytes.first(b.size_bytes())));
    YOLK_TRY(const auto pipeline, device.pipeline(kernels::kMatmulTextbook, {}));
    const std::array<BufferView, abi::matmul::kBindingCount> views{a, b, out, a, a, a, b};
    YOLK_TRY(const auto binding, device.bind(pipeline, views));
    YOLK_TRY(const double seconds, best_seconds(device, dispatcher, [&](Recorder& recorder) {
                 abi::matmul::Params params{};
                 params.k = params.a_stride = k;
                 params.b_stride = params.out_stride = n;
                 recorder.dispatch(binding, params, GroupCount{n / 16, m / 16, 1});
             }));
    return static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.k) / seconds;
}

}  // namespace yolk
