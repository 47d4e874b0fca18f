// SPDX-License-Identifier: Apache-2.0
// Elements per second of the noise kernels, 256 elements for each of 4,096 pairs, by blocks_per_invocation; and of one
// host thread.
#include <fmt/format.h>

#include "bench.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/noise.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kElements = 256;
constexpr std::uint32_t kPairs = 4096;
constexpr double kItems = double{kElements} * kPairs;
constexpr NoiseStream kStream{.seed = 42, .parameter = 5, .domain = Domain::A};

Result<void> time_noise(benchmark::State& state, BenchDevice& on, const NoiseDesc& desc) {
    YOLK_TRY(const Buffer out, on.device.create_buffer({.size_bytes = 4ULL * kElements * kPairs, .label = "noise"}));
    YOLK_TRY(const NoisePlan plan, plan_noise(on.device, desc));
    YOLK_TRY(const BoundNoise bound, plan.bind({.out = out}));
    time_on_device(state, on, kItems, [&](Recorder& recorder) { bound.record(recorder, kStream); });
    return {};
}

void time_host(benchmark::State& state) {
    NoiseStream stream = kStream;
    for ([[maybe_unused]] const auto _ : state) {
        std::int32_t sum = 0;
        for (stream.pair = 0; stream.pair < kPairs; ++stream.pair) {
            for (std::uint32_t block = 0; block < kElements / kNoiseElementsPerBlock; ++block) {
                for (const std::int8_t element : noise_block(stream, block)) sum += element;
            }
        }
        benchmark::DoNotOptimize(sum);
    }
    state.counters["items_per_second"] =
        benchmark::Counter(kItems * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void add(std::span<BenchDevice> devices) {
    benchmark::RegisterBenchmark("noise/host", time_host);
    for (BenchDevice& on : devices) {
        for (const NoiseFormat format : {NoiseFormat::I32, NoiseFormat::F32}) {
            for (const std::uint32_t blocks : {1U, 4U}) {
                const NoiseDesc desc{.element_count = kElements,
                                     .pair_count = kPairs,
                                     .format = format,
                                     .config = NoiseConfig{.blocks_per_invocation = blocks}};
                const auto name =
                    fmt::format("noise/{}/{}/blocks:{}", on.name, format == NoiseFormat::I32 ? "i32" : "f32", blocks);
                benchmark::RegisterBenchmark(name.c_str(), [&on, desc](benchmark::State& state) {
                    if (const auto timed = time_noise(state, on, desc); !timed)
                        state.SkipWithError(timed.error().message.c_str());
                })->UseManualTime();
            }
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
