// SPDX-License-Identifier: Apache-2.0
// What a *_bench.cpp needs: the devices, and times that come from the device's own clock.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <span>
#include <string>

#include "yolk/context.hpp"
#include "yolk/device.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"

namespace yolk::bench {

/// What benches use of a context. `name` is its driver's, fit for --benchmark_filter.
struct BenchDevice {
    std::string name;
    Context context;
    const Device& device = context.device();
    Dispatcher& dispatcher = context.dispatcher();
};

/// At namespace scope of a *_bench.cpp: main() calls `add` once the devices are known, to register benchmarks on each
/// of them.
class Registration {
   public:
    using Add = void (*)(std::span<BenchDevice> devices);
    explicit Registration(Add add);
};

/// Runs what `record` records once to warm up, then as often as the state asks, each run timed between two timestamps
/// of the device (use with UseManualTime). Reports `items_per_run` as items per second. An error skips the benchmark
/// with its message.
void time_on_device(benchmark::State& state, BenchDevice& on, double items_per_run,
                    const std::function<void(Recorder&)>& record);

}  // namespace yolk::bench
