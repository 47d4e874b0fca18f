// SPDX-License-Identifier: Apache-2.0
// What perturbing a layer costs: perturbed_linear 1,024 -> 1,024 at rank 1 for 256 members of 8 rows, its noise
// regenerated, beside matmul of the same shape, in one recording so that a machine's moods meet all of them. Medians
// over the iterations; `of_fast` and `of_exact` are matmul's median time over perturbed_linear's, by matmul's
// determinism.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bench.hpp"
#include "yolk/primitives/matmul.hpp"
#include "yolk/primitives/perturbed_linear.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kMembers = 256;
constexpr std::uint32_t kRows = 8;
constexpr std::uint32_t kWidth = 1024;
constexpr std::uint32_t kInstances = kMembers * kRows;
constexpr std::uint32_t kOne = 0x3F800000;
constexpr int kIterations = 15;

struct Buffers {
    Buffer weights, input, output, scratch;
};

Result<Buffers> make_buffers(BenchDevice& on, std::uint64_t scratch_bytes) {
    const auto buffer = [&](std::uint64_t size_bytes, const char* label) {
        return on.device.create_buffer({.size_bytes = size_bytes, .label = label});
    };
    Buffers made;
    YOLK_TRY(made.weights, buffer(std::uint64_t{4} * kWidth * kWidth, "weights"));
    YOLK_TRY(made.input, buffer(std::uint64_t{4} * kInstances * kWidth, "input"));
    YOLK_TRY(made.output, buffer(std::uint64_t{4} * kInstances * kWidth, "output"));
    YOLK_TRY(made.scratch, buffer(std::max<std::uint64_t>(scratch_bytes, 4), "scratch"));
    YOLK_TRY(Recorder ones, Recorder::create(on.device));
    ones.begin();
    ones.fill(made.weights, kOne);
    ones.fill(made.input, kOne);
    YOLK_TRY_VOID(on.dispatcher.run(ones));
    return made;
}

Result<BoundMatmul> bind_matmul(BenchDevice& on, const Buffers& buffers, Determinism determinism) {
    MatmulDesc desc{.m = kInstances, .n = kWidth, .k = kWidth};
    desc.b.transposed = true;
    desc.determinism = determinism;
    YOLK_TRY(const MatmulPlan plan, plan_matmul(on.device, desc));
    return plan.bind({.a = buffers.input, .b = buffers.weights, .out = buffers.output});
}

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Result<void> time_both(benchmark::State& state, BenchDevice& on) {
    const PerturbedLinearDesc desc{.members = kMembers, .rows = kRows, .in = kWidth, .out = kWidth};
    YOLK_TRY(const PerturbedLinearPlan plan, plan_perturbed_linear(on.device, desc));
    YOLK_TRY(const Buffers buffers, make_buffers(on, plan.scratch().size_bytes));
    YOLK_TRY(
        const BoundPerturbedLinear perturbed,
        plan.bind({.weights = buffers.weights, .input = buffers.input, .output = buffers.output}, buffers.scratch));
    YOLK_TRY(const BoundMatmul fast, bind_matmul(on, buffers, Determinism::Fast));
    YOLK_TRY(const BoundMatmul exact, bind_matmul(on, buffers, Determinism::Exact));
    YOLK_TRY(Recorder recorder, Recorder::create(on.device, {.timestamp_count = 4, .label = "bench"}));
    recorder.begin();
    recorder.timestamp(0);
    perturbed.record(recorder, {.seed = 42, .sigma = 0.1F});
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.timestamp(1);
    fast.record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.timestamp(2);
    exact.record(recorder);
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.timestamp(3);
    YOLK_TRY_VOID(on.dispatcher.run(recorder));
    std::array<std::vector<double>, 3> seconds;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY_VOID(on.dispatcher.run(recorder));
        std::array<double, 4> nanoseconds{};
        YOLK_TRY_VOID(recorder.read_timestamps(nanoseconds));
        for (std::size_t i = 0; i < seconds.size(); ++i)
            seconds[i].push_back((nanoseconds[i + 1] - nanoseconds[i]) * 1e-9);
        state.SetIterationTime(seconds[0].back());
    }
    const double own = median(seconds[0]);
    state.counters["giga_operations"] = 2e-9 * kInstances * kWidth * kWidth / own;
    state.counters["of_fast"] = median(seconds[1]) / own;
    state.counters["of_exact"] = median(seconds[2]) / own;
    return {};
}

void add(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        benchmark::RegisterBenchmark(fmt::format("perturbation_cost/{}", on.name).c_str(),
                                     [&on](benchmark::State& state) {
                                         if (const auto timed = time_both(state, on); !timed)
                                             state.SkipWithError(timed.error().message.c_str());
                                     })
            ->UseManualTime()
            ->Iterations(kIterations);
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
