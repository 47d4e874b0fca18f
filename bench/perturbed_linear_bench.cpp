// SPDX-License-Identifier: Apache-2.0
// Multiply-adds per second of perturbed_linear, those of the base product only, so that rank and noise show as cost:
// `members:4096` rows of a 64 -> 64 layer.
#include <fmt/format.h>

#include <algorithm>

#include "bench.hpp"
#include "yolk/perturbed_linear.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kMembers = 4096;
constexpr std::uint32_t kWidth = 64;

Result<void> time_layer(benchmark::State& state, BenchDevice& on, const PerturbedLinearDesc& desc) {
    const auto buffer = [&](std::uint64_t floats, const char* label) {
        return on.device.create_buffer({.size_bytes = 4 * floats, .label = label});
    };
    YOLK_TRY(const Buffer weights, buffer(std::uint64_t{kWidth} * kWidth, "weights"));
    YOLK_TRY(const Buffer input, buffer(std::uint64_t{kMembers} * kWidth, "input"));
    YOLK_TRY(const Buffer output, buffer(std::uint64_t{kMembers} * kWidth, "output"));
    YOLK_TRY(const PerturbedLinearPlan plan, plan_perturbed_linear(on.device, desc));
    const std::uint64_t scratch_bytes = plan.scratch().size_bytes;
    YOLK_TRY(const Buffer scratch, buffer(std::max<std::uint64_t>(scratch_bytes / 4, 1), "scratch"));
    YOLK_TRY(const BoundPerturbedLinear bound, plan.bind({.weights = weights, .input = input, .output = output},
                                                         scratch_bytes == 0 ? BufferView{} : BufferView(scratch)));
    YOLK_TRY(Recorder zeros, Recorder::create(on.device));
    zeros.begin();
    zeros.fill(weights, 0);
    zeros.fill(input, 0);
    YOLK_TRY_VOID(on.dispatcher.run(zeros));
    time_on_device(state, on, double{kMembers} * kWidth * kWidth,
                   [&](Recorder& recorder) { bound.record(recorder, {.seed = 42, .sigma = 0.1F}); });
    return {};
}

void add(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const std::uint32_t rank : {1U, 4U}) {
            for (const std::uint32_t fused : {0U, 1U}) {
                const PerturbedLinearDesc desc{.members = kMembers,
                                               .rows = 1,
                                               .in = kWidth,
                                               .out = kWidth,
                                               .rank = rank,
                                               .config = PerturbedLinearConfig{.block_m = 32,
                                                                               .block_n = 16,
                                                                               .tile_m = 4,
                                                                               .tile_n = 16,
                                                                               .vector_width = 4,
                                                                               .operand_path = kUniformWeights,
                                                                               .fused = fused}};
                const auto name = fmt::format("perturbed_linear/{}/rank:{}/fused:{}", on.name, rank, fused);
                benchmark::RegisterBenchmark(name.c_str(), [&on, desc](benchmark::State& state) {
                    if (const auto timed = time_layer(state, on, desc); !timed)
                        state.SkipWithError(timed.error().message.c_str());
                })->UseManualTime();
            }
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
