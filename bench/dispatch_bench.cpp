// SPDX-License-Identifier: Apache-2.0
// What a recorder and a dispatcher cost above bare Vulkan: 1,000 small kernels with a barrier after each, recorded once
// and submitted again (replayed), or recorded anew each time (recorded). Ours and the same bare calls take turns within
// one iteration, so that what else the machine does falls on both. Counters, in microseconds per kernel: processor time
// of the calling thread and wall time, from begin or submit to the end of the wait. `above_bare_cpu_us` is the
// difference of the medians: means follow the few iterations that the scheduler interrupts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <span>
#include <vector>

#include "bare_replay.hpp"
#include "bench.hpp"
#include "times.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kKernels = 1000;
/// One workgroup of 32 invocations that write 8 integers each.
constexpr std::uint32_t kElements = 256;

struct Times {
    std::vector<double> cpu_us, wall_us;  ///< per kernel
};

double thread_cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Run>
Result<void> time_once(Times& times, Run&& run) {
    const auto wall = std::chrono::steady_clock::now();
    const double cpu = thread_cpu_seconds();
    const Result<void> ran = run();
    times.cpu_us.push_back((thread_cpu_seconds() - cpu) * 1e6 / kKernels);
    const std::chrono::duration<double, std::micro> passed = std::chrono::steady_clock::now() - wall;
    times.wall_us.push_back(passed.count() / kKernels);
    return ran;
}

/// The kernel, its binding and parameters, ready to be recorded by either side.
struct SmallKernel {
    Buffer out;
    BindingOf<abi::noise::Params> binding;
    abi::noise::Params params{.seed_low = 1,
                              .seed_high = 0,
                              .parameter_and_domain = 0,
                              .first_pair = 0,
                              .time = 0,
                              .element_count = kElements,
                              .pair_count = 1};

    [[nodiscard]] std::span<const std::byte> bytes() const { return std::as_bytes(std::span(&params, 1)); }
};

Result<SmallKernel> make_kernel(const Device& device) {
    SmallKernel kernel;
    YOLK_TRY(kernel.out, device.create_buffer({.size_bytes = 4 * kElements, .label = "out"}));
    const std::array constants{SpecConstant{abi::noise::kSpecWorkgroupSize, 32U}};
    YOLK_TRY(const auto pipeline, device.pipeline(kernels::kNoiseI32, constants));
    const std::array<BufferView, 1> views{kernel.out};
    YOLK_TRY(kernel.binding, device.bind(pipeline, views));
    return kernel;
}

void record(Recorder& recorder, const SmallKernel& kernel) {
    recorder.begin();
    for (std::uint32_t i = 0; i < kKernels; ++i) {
        recorder.dispatch(kernel.binding, kernel.params, {1, 1, 1});
        recorder.barrier(Barrier::ComputeToCompute);
    }
}

void report(benchmark::State& state, const Times& ours, const Times& bare) {
    const double ours_cpu = median_of(ours.cpu_us), bare_cpu = median_of(bare.cpu_us);
    state.counters["ours_cpu_us"] = ours_cpu;
    state.counters["bare_cpu_us"] = bare_cpu;
    state.counters["above_bare_cpu_us"] = ours_cpu - bare_cpu;
    state.counters["ours_wall_us"] = median_of(ours.wall_us);
    state.counters["bare_wall_us"] = median_of(bare.wall_us);
}

Result<void> time_dispatches(benchmark::State& state, BenchDevice& on, bool replayed) {
    YOLK_TRY(const SmallKernel kernel, make_kernel(on.device));
    YOLK_TRY(Recorder recorder, Recorder::create(on.device, {.label = "dispatch bench"}));
    YOLK_TRY(BareReplay bare, BareReplay::create(on.device, kernel.binding.binding, kernel.bytes(), {1, 1, 1}));
    record(recorder, kernel);
    YOLK_TRY_VOID(on.dispatcher.run(recorder));  // the warm-up: drivers compile at the first dispatch
    YOLK_TRY_VOID(bare.record(kKernels));
    YOLK_TRY_VOID(bare.submit_and_wait());
    const auto run_ours = [&] {
        if (!replayed) record(recorder, kernel);
        return on.dispatcher.run(recorder);
    };
    const auto run_bare = [&] {
        if (replayed) return bare.submit_and_wait();
        const Result<void> recorded = bare.record(kKernels);
        return recorded ? bare.submit_and_wait() : recorded;
    };
    Times ours_times, bare_times;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY_VOID(time_once(ours_times, run_ours));
        YOLK_TRY_VOID(time_once(bare_times, run_bare));
    }
    report(state, ours_times, bare_times);
    return {};
}

void add(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const bool replayed : {true, false}) {
            const auto name = fmt::format("dispatch/{}/{}", on.name, replayed ? "replayed" : "recorded");
            benchmark::RegisterBenchmark(name.c_str(), [&on, replayed](benchmark::State& state) {
                if (const auto timed = time_dispatches(state, on, replayed); !timed)
                    state.SkipWithError(timed.error().message.c_str());
            })->UseRealTime();
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
