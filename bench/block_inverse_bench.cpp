// SPDX-License-Identifier: Apache-2.0
// Blocks per second of block_inverse, and how many times as fast it is as Gauss-Jordan with one invocation per block
// and everything in buffers, both in one submission, by turns. The residual is part of the time; the baseline has none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bench.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/internal/runtime/loop_budget.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/shaders/catalogue.hpp"

namespace yolk::bench {
namespace {

using abi::block_inverse::Params;

constexpr std::uint32_t kBlocks = 1024;
constexpr std::uint32_t kBaselineWorkgroup = 256;

/// A diagonally dominant block of no particular values, for all of them.
std::vector<float> make_blocks(std::uint32_t n) {
    std::vector<float> values;
    for (std::uint32_t b = 0; b < kBlocks; ++b) {
        for (std::uint32_t i = 0; i < n; ++i) {
            for (std::uint32_t j = 0; j < n; ++j) {
                const std::uint32_t mixed = (std::max(i, j) * 31 + std::min(i, j) * 17 + b) % 13;
                values.push_back(i == j ? 1.0F : static_cast<float>(mixed) / static_cast<float>(26 * n));
            }
        }
    }
    return values;
}

/// Pivots of the baseline that one dispatch may take.
std::uint32_t baseline_pivots(const BenchDevice& on, std::uint32_t n) {
    const std::uint64_t budget = on.device.findings().loop_limit.value_or(UINT64_MAX);
    const std::uint64_t square = loop_cost(n, loop_cost(n));
    const std::uint64_t most = iterations_within(budget - square, square + loop_cost(n));
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, n));
}

struct Race {
    Buffer in, out, status, residual, scratch, work;
    BoundBlockInverse bound;
    BindingOf<Params> baseline;
};

Result<Race> make_race(BenchDevice& on, std::uint32_t n) {
    const auto buffer = [&](std::uint64_t bytes, const char* label) {
        return on.device.create_buffer({.size_bytes = bytes, .label = label});
    };
    const std::uint64_t bytes = std::uint64_t{4} * kBlocks * n * n;
    Race race;
    YOLK_TRY(race.in, buffer(bytes, "in"));
    YOLK_TRY(race.out, buffer(bytes, "out"));
    YOLK_TRY(race.status, buffer(std::uint64_t{4} * kBlocks, "status"));
    YOLK_TRY(race.residual, buffer(std::uint64_t{4} * kBlocks, "residual"));
    YOLK_TRY(race.work, buffer(bytes, "work"));
    const std::vector<float> values = make_blocks(n);
    YOLK_TRY_VOID(on.dispatcher.upload(race.in, std::as_bytes(std::span(values))));
    YOLK_TRY(const BlockInversePlan plan, plan_block_inverse(on.device, {.n = n, .blocks = kBlocks, .damping = 1e-3F}));
    YOLK_TRY(race.scratch, buffer(plan.scratch().size_bytes, "scratch"));
    YOLK_TRY(race.bound, plan.bind({.in = race.in, .out = race.out, .status = race.status, .residual = race.residual},
                                   race.scratch));
    const std::array constants{SpecConstant{abi::block_inverse::kSpecWorkgroupSize, kBaselineWorkgroup}};
    YOLK_TRY(const PipelineOf<Params> pipeline, on.device.pipeline(kernels::kBlockInverseGaussJordan, constants));
    const std::array<BufferView, abi::block_inverse::kBindingCount> all{
        race.in, race.status, race.out, race.status, race.residual, race.status, race.work, race.work};
    YOLK_TRY(race.baseline, on.device.bind(pipeline, all));
    return race;
}

Result<void> time_race(benchmark::State& state, BenchDevice& on, std::uint32_t n) {
    YOLK_TRY(const Race race, make_race(on, n));
    YOLK_TRY(Recorder recorder, Recorder::create(on.device, {.timestamp_count = 3, .label = "bench"}));
    recorder.begin();
    recorder.timestamp(0);
    race.bound.record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.timestamp(1);
    const std::uint32_t most = baseline_pivots(on, n);
    for (std::uint32_t first = 0; first < n; first += most) {
        Params params{};
        params.n = n;
        params.blocks = kBlocks;
        params.first = first;
        params.end = std::min(n, first + most);
        recorder.dispatch(race.baseline, params,
                          GroupCount{.x = ceil_div(kBlocks, kBaselineWorkgroup), .y = 1, .z = 1});
        recorder.barrier(Barrier::ComputeToCompute);
    }
    recorder.timestamp(2);
    YOLK_TRY_VOID(on.dispatcher.run(recorder));
    double best_own = 1e30;
    double best_baseline = 1e30;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY_VOID(on.dispatcher.run(recorder));
        std::array<double, 3> nanoseconds{};
        YOLK_TRY_VOID(recorder.read_timestamps(nanoseconds));
        best_own = std::min(best_own, (nanoseconds[1] - nanoseconds[0]) * 1e-6);
        best_baseline = std::min(best_baseline, (nanoseconds[2] - nanoseconds[1]) * 1e-6);
        state.SetIterationTime((nanoseconds[1] - nanoseconds[0]) * 1e-9);
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * kBlocks);
    state.counters["best_ms"] = best_own;
    state.counters["baseline_ms"] = best_baseline;
    state.counters["times_baseline"] = best_baseline / best_own;
    return {};
}

void add(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const std::uint32_t n : {8U, 16U, 32U, 64U, 128U}) {
            const auto name = fmt::format("block_inverse/{}/n:{}", on.name, n);
            benchmark::RegisterBenchmark(name.c_str(),
                                         [&on, n](benchmark::State& state) {
                                             if (const auto timed = time_race(state, on, n); !timed)
                                                 state.SkipWithError(timed.error().message.c_str());
                                         })
                ->UseManualTime()
                ->Iterations(n >= 64 ? 3 : 10);
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
