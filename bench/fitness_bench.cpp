// SPDX-License-Identifier: Apache-2.0
// Members per second of fitness, by rule and population.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "bench.hpp"
#include "yolk/fitness.hpp"
#include "yolk/internal/core/philox.hpp"

namespace yolk::bench {
namespace {

Result<void> time_fitness(benchmark::State& state, BenchDevice& on, const FitnessDesc& desc) {
    const auto buffer = [&](std::uint64_t bytes, const char* label) {
        return on.device.create_buffer({.size_bytes = bytes, .label = label});
    };
    YOLK_TRY(const FitnessPlan plan, plan_fitness(on.device, desc));
    YOLK_TRY(const Buffer returns, buffer(std::uint64_t{4} * desc.population, "returns"));
    YOLK_TRY(const Buffer scores, buffer(std::uint64_t{4} * desc.population, "scores"));
    YOLK_TRY(const Buffer weights, buffer(fitness_weights_bytes(desc), "weights"));
    YOLK_TRY(const Buffer summary, buffer(sizeof(abi::fitness::Summary), "summary"));
    YOLK_TRY(const Buffer scratch, buffer(plan.scratch().size_bytes, "scratch"));
    std::vector<float> values(desc.population);
    for (std::uint32_t i = 0; i < desc.population; ++i) {
        values[i] = static_cast<float>(philox4x32({i, 0, 0, 0}, {1, 2})[0] >> 8U);
    }
    YOLK_TRY_VOID(on.dispatcher.upload(returns, std::as_bytes(std::span(values))));
    YOLK_TRY(const BoundFitness bound,
             plan.bind({.returns = returns, .scores = scores, .weights = weights, .summary = summary}, scratch));
    time_on_device(state, on, desc.population, [&](Recorder& recorder) { bound.record(recorder); });
    return {};
}

void add(std::span<BenchDevice> devices) {
    constexpr std::pair<FitnessRule, bool> kForms[]{{FitnessRule::PairDifference, false},
                                                    {FitnessRule::PairDifference, true},
                                                    {FitnessRule::CentredRank, false},
                                                    {FitnessRule::ZScore, false}};
    for (BenchDevice& on : devices) {
        for (const auto& [rule, robust] : kForms) {
            for (const std::uint32_t population : {4096U, 1U << 20U}) {
                const FitnessDesc desc{.population = population, .rule = rule, .robust = robust, .config = {}};
                const auto name = fmt::format("fitness/{}/{}{}/members:{}", on.name, to_string(rule),
                                              robust ? "-robust" : "", population);
                benchmark::RegisterBenchmark(name.c_str(), [&on, desc](benchmark::State& state) {
                    if (const auto timed = time_fitness(state, on, desc); !timed)
                        state.SkipWithError(timed.error().message.c_str());
                })->UseManualTime();
            }
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
