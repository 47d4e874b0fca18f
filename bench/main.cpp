// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench.hpp"
#include "yolk/internal/runtime/device_selection.hpp"
#include "yolk/internal/runtime/instance.hpp"

namespace yolk::bench {

namespace {

std::vector<Registration::Add>& registrations() {
    static std::vector<Registration::Add> all;
    return all;
}

std::string bench_name(const DeviceInfo& info) {
    std::string name = fmt::format("{}_{}", info.index, info.driver_name);
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

Result<BenchDevice> open_device(const Instance& instance, const DeviceInfo& info) {
    // A table that somebody names; the one that is there anyway would make every figure the machine's own.
    const bool tuning = std::getenv("YOLK_TABLE") != nullptr;  // NOLINT(concurrency-mt-unsafe): one thread
    YOLK_TRY(
        Context context,
        Context::create(instance, {.device = std::to_string(info.index), .tuning = tuning, .pipeline_cache = false}));
    return BenchDevice{.name = bench_name(info), .context = std::move(context)};
}

/// Every device that meets the floor; the others are named on standard error.
Result<std::vector<BenchDevice>> open_devices(const Instance& instance) {
    std::vector<BenchDevice> devices;
    for (const DeviceInfo& info : instance.devices()) {
        if (!missing_from_floor(info).empty()) {
            fmt::print(stderr, "[{}] is below the portable floor and left out.\n", info.name);
            continue;
        }
        YOLK_TRY(BenchDevice device, open_device(instance, info));
        benchmark::AddCustomContext(device.name, fmt::format("{}, {}", info.name, info.driver_info));
        devices.push_back(std::move(device));
    }
    return devices;
}

Result<void> run(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return bad_input("Unknown arguments; try --help.");
    YOLK_TRY(const Instance instance, Instance::create());
    YOLK_TRY(std::vector<BenchDevice> devices, open_devices(instance));
    for (const Registration::Add add : registrations()) add(devices);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::ClearRegisteredBenchmarks();
    return {};
}

Result<double> timed_run(BenchDevice& on, Recorder& recorder) {
    YOLK_TRY_VOID(on.dispatcher.run(recorder));
    std::array<double, 2> nanoseconds{};
    YOLK_TRY_VOID(recorder.read_timestamps(nanoseconds));
    return (nanoseconds[1] - nanoseconds[0]) * 1e-9;
}

Result<void> time_runs(benchmark::State& state, BenchDevice& on, const std::function<void(Recorder&)>& record) {
    YOLK_TRY(Recorder recorder, Recorder::create(on.device, {.timestamp_count = 2, .label = "bench"}));
    recorder.begin();
    recorder.timestamp(0);
    record(recorder);
    recorder.timestamp(1);
    YOLK_TRY_VOID(timed_run(on, recorder));
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY(const double seconds, timed_run(on, recorder));
        state.SetIterationTime(seconds);
    }
    return {};
}

}  // namespace

Registration::Registration(Add add) { registrations().push_back(add); }

void time_on_device(benchmark::State& state, BenchDevice& on, double items_per_run,
                    const std::function<void(Recorder&)>& record) {
    if (const Result<void> timed = time_runs(state, on, record); !timed) {
        state.SkipWithError(timed.error().message.c_str());
        return;
    }
    state.counters["items_per_second"] =
        benchmark::Counter(items_per_run * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

}  // namespace yolk::bench

int main(int argc, char** argv) {
    const yolk::Result<void> ran = yolk::bench::run(argc, argv);
    if (ran) return 0;
    fmt::print(stderr, "yolk_bench: {}\n", ran.error().message);
    return 1;
}
