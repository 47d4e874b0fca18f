// SPDX-License-Identifier: Apache-2.0
// What perturbing a layer costs: perturbed_linear 1,024 -> 1,024 at rank 1 for 256 members of 8 rows, its noise
// regenerated, beside matmul of the same shape, in one recording so that a machine's moods meet all of them. Medians
// over the iterations; `of_fast` and `of_exact` are matmul's median time over perturbed_linear's, both fast or both
// exact, and `exact_of_fast` is fast matmul's over exact perturbed_linear's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bench.hpp"
#include "times.hpp"
#include "yolk/matmul.hpp"
#include "yolk/perturbed_linear.hpp"

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

Result<PerturbedLinearPlan> plan_perturbed(BenchDevice& on, Determinism determinism) {
    return plan_perturbed_linear(
        on.device, {.members = kMembers, .rows = kRows, .in = kWidth, .out = kWidth, .determinism = determinism});
}

Result<BoundPerturbedLinear> bind_perturbed(const PerturbedLinearPlan& plan, const Buffers& buffers) {
    return plan.bind({.weights = buffers.weights, .input = buffers.input, .output = buffers.output},
                     {buffers.scratch, 0, plan.scratch().size_bytes});
}

Result<void> time_both(benchmark::State& state, BenchDevice& on) {
    YOLK_TRY(const PerturbedLinearPlan fast_plan, plan_perturbed(on, Determinism::Fast));
    YOLK_TRY(const PerturbedLinearPlan exact_plan, plan_perturbed(on, Determinism::Exact));
    YOLK_TRY(const Buffers buffers,
             make_buffers(on, std::max(fast_plan.scratch().size_bytes, exact_plan.scratch().size_bytes)));
    YOLK_TRY(const BoundPerturbedLinear perturbed, bind_perturbed(fast_plan, buffers));
    YOLK_TRY(const BoundPerturbedLinear perturbed_exact, bind_perturbed(exact_plan, buffers));
    YOLK_TRY(const BoundMatmul fast, bind_matmul(on, buffers, Determinism::Fast));
    YOLK_TRY(const BoundMatmul exact, bind_matmul(on, buffers, Determinism::Exact));
    YOLK_TRY(Recorder recorder, Recorder::create(on.device, {.timestamp_count = 5, .label = "bench"}));
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
    perturbed_exact.record(recorder, {.seed = 42, .sigma = 0.1F});
    recorder.barrier(Barrier::ComputeToCompute);
    recorder.timestamp(4);
    YOLK_TRY_VOID(on.dispatcher.run(recorder));
    std::array<std::vector<double>, 4> seconds;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY_VOID(on.dispatcher.run(recorder));
        std::array<double, 5> nanoseconds{};
        YOLK_TRY_VOID(recorder.read_timestamps(nanoseconds));
        for (std::size_t i = 0; i < seconds.size(); ++i)
            seconds[i].push_back((nanoseconds[i + 1] - nanoseconds[i]) * 1e-9);
        state.SetIterationTime(seconds[0].back());
    }
    const double own = median_of(seconds[0]);
    state.counters["giga_operations"] = 2e-9 * kInstances * kWidth * kWidth / own;
    const double fast_product = median_of(seconds[1]);
    const double exact_own = median_of(seconds[3]);
    state.counters["of_fast"] = fast_product / own;
    state.counters["of_exact"] = median_of(seconds[2]) / exact_own;
    state.counters["exact_of_fast"] = fast_product / exact_own;
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
