// SPDX-License-Identifier: Apache-2.0
// Multiply-adds per second of es_update, those of the sums of A B^T and V only, so that noise shows as cost: the 4-64-2
// policy and one 256 x 256 matrix at 4,096 members, by rank, slice length and width of the tiles.
#include <fmt/format.h>

#include <utility>
#include <vector>

#include "bench.hpp"
#include "yolk/es_update.hpp"
#include "yolk/internal/abi/fitness.h"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kMembers = 4096;

Result<void> time_update(benchmark::State& state, BenchDevice& on, const std::vector<ParameterDesc>& parameters,
                         EsUpdateDesc desc) {
    YOLK_TRY(desc.parameters, ParameterTable::create(parameters));
    const auto buffer = [&](std::uint64_t bytes, const char* label) {
        return on.device.create_buffer({.size_bytes = bytes, .label = label});
    };
    YOLK_TRY(const EsUpdatePlan plan, plan_es_update(on.device, desc));
    YOLK_TRY(const Buffer weights, buffer(kMembers / 2, "weights"));
    YOLK_TRY(const Buffer summary, buffer(sizeof(abi::fitness::Summary), "summary"));
    YOLK_TRY(const Buffer gradient, buffer(desc.parameters.size_bytes(), "gradient"));
    YOLK_TRY(const Buffer scratch, buffer(plan.scratch().size_bytes, "scratch"));
    YOLK_TRY(const BoundEsUpdate bound,
             plan.bind({.weights = weights, .summary = summary, .gradient = gradient}, scratch));
    YOLK_TRY(Recorder filling, Recorder::create(on.device));
    filling.begin();
    filling.fill(weights, 0x7F41BE81U);  // no zeros: a tie would be skipped
    filling.fill(summary, 0);
    YOLK_TRY_VOID(on.dispatcher.run(filling));
    const double products = double{kMembers} / 2 * desc.rank * desc.parameters.element_count();
    time_on_device(state, on, products,
                   [&](Recorder& recorder) { bound.record(recorder, {.seed = 42, .sigma = 0.1F}); });
    return {};
}

void add(std::span<BenchDevice> devices) {
    const std::vector<std::pair<std::string, std::vector<ParameterDesc>>> systems{
        {"4-64-2",
         {{.name = "w0", .rows = 64, .columns = 4},
          {.name = "b0", .rows = 64, .perturbation = Perturbation::Vector},
          {.name = "w1", .rows = 2, .columns = 64},
          {.name = "b1", .rows = 2, .perturbation = Perturbation::Vector}}},
        {"256x256", {{.name = "w", .rows = 256, .columns = 256}}}};
    std::vector<std::pair<std::string, EsUpdateConfig>> forms;
    for (const std::uint32_t slice : {64U, 256U, 2048U}) {
        for (const std::uint32_t blocks : {1U, 2U}) {
            forms.emplace_back(fmt::format("slice:{}/blocks:{}", slice, blocks),
                               EsUpdateConfig{.pairs_per_slice = slice, .tile_blocks = blocks});
        }
    }
    forms.emplace_back("slice:64/staged", EsUpdateConfig{.workgroup_size = 64, .pairs_per_slice = 64, .staged = 1});
    for (BenchDevice& on : devices) {
        for (const auto& [system, parameters] : systems) {
            for (const std::uint32_t rank : {1U, 4U}) {
                for (const auto& [form, config] : forms) {
                    const EsUpdateDesc desc{.parameters = {}, .population = kMembers, .rank = rank, .config = config};
                    const auto name = fmt::format("es_update/{}/{}/rank:{}/{}", on.name, system, rank, form);
                    benchmark::RegisterBenchmark(name.c_str(), [&on, parameters = parameters,
                                                                desc](benchmark::State& state) {
                        if (const auto timed = time_update(state, on, parameters, desc); !timed)
                            state.SkipWithError(timed.error().message.c_str());
                    })->UseManualTime();
                }
            }
        }
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
