// SPDX-License-Identifier: Apache-2.0
// One update made by one device, and by two that share it: in turns, both in one run, by the host's clock with all
// transfers. The pairs of devices are each two of those that are there (list a driver twice in VK_ICD_FILENAMES, under
// two paths, for two devices of it; LP_NUM_THREADS=1 holds each lavapipe to one thread).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "bench.hpp"
#include "times.hpp"
#include "yolk/internal/evolve/shared_update.hpp"

namespace yolk::bench {
namespace {

struct SharedSystem {
    const char* name;
    std::vector<ParameterDesc> parameters;
    std::uint32_t population;
};

std::vector<SharedSystem> shared_systems() {
    return {{"4-64-2",
             {{.name = "w0", .rows = 64, .columns = 4},
              {.name = "b0", .rows = 64, .perturbation = Perturbation::Vector},
              {.name = "w1", .rows = 2, .columns = 64},
              {.name = "b1", .rows = 2, .perturbation = Perturbation::Vector}},
             65536},
            {"256x256", {{.name = "w", .rows = 256, .columns = 256}}, 4096},
            {"1024x1024", {{.name = "w", .rows = 1024, .columns = 1024}}, 4096}};
}

/// One call, in seconds.
Result<double> timed_gradient(evolve::SharedUpdate& update, const evolve::ShapedGeneration& shaped,
                              std::span<const double> rates, std::span<float> gradient) {
    const auto start = std::chrono::steady_clock::now();
    YOLK_TRY_VOID(update.gradient(shaped, {.seed = 42, .sigma = 0.1F}, rates, gradient));
    return seconds_since(start);
}

/// The whole on each device alone, and both together by the rates so far, in turns.
struct SharedTurns {
    std::array<std::vector<double>, 2> alone;
    std::vector<double> together, balance;

    [[nodiscard]] std::array<double, 2> rates() const { return {1.0 / median_of(alone[0]), 1.0 / median_of(alone[1])}; }
};

Result<double> one_turn(evolve::SharedUpdate& whole, evolve::SharedUpdate& shared,
                        const evolve::ShapedGeneration& shaped, std::size_t elements, SharedTurns& turns) {
    std::vector<float> gradient(elements);
    std::vector<float> joined(elements);
    for (std::size_t d = 0; d < 2; ++d) {
        std::array<double, 2> only{};
        only[d] = 1.0;
        YOLK_TRY(const double seconds, timed_gradient(whole, shaped, only, gradient));
        turns.alone[d].push_back(seconds);
    }
    YOLK_TRY(const double seconds, timed_gradient(shared, shaped, turns.rates(), joined));
    if (joined != gradient) return bad_input("The shares do not have the bits of one device.");
    turns.together.push_back(seconds);
    turns.balance.push_back(std::ranges::min(shared.seconds()) / std::ranges::max(shared.seconds()));
    return seconds;
}

Result<void> time_shared(benchmark::State& state, std::array<BenchDevice*, 2> on, const SharedSystem& system,
                         evolve::UpdateSharing sharing) {
    YOLK_TRY(const ParameterTable table, ParameterTable::create(system.parameters));
    std::vector<evolve::UpdateDevice> devices;
    for (BenchDevice* each : on) devices.push_back({.device = &each->device, .dispatcher = &each->dispatcher});
    const evolve::EvolutionOptions options{.population = system.population};
    // What one device does alone is the whole gradient, no sums.
    YOLK_TRY(auto whole, evolve::SharedUpdate::create(devices, table, options, evolve::UpdateSharing::Parameters));
    YOLK_TRY(auto shared, evolve::SharedUpdate::create(devices, table, options, sharing));
    evolve::ShapedGeneration shaped;
    shaped.summary.coefficient = 0.01F;
    for (std::uint32_t pair = 0; pair < system.population / 2; ++pair)
        shaped.integer_weights.push_back(static_cast<std::int8_t>(pair % 127 + 1));  // no ties, which cost nothing
    SharedTurns cold;
    YOLK_TRY_VOID(one_turn(whole, shared, shaped, table.element_count(), cold));
    SharedTurns turns;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY(const double seconds, one_turn(whole, shared, shaped, table.element_count(), turns));
        state.SetIterationTime(seconds);
    }
    const std::array<double, 2> rates = turns.rates();
    const double best = std::max(rates[0], rates[1]);
    state.counters["one_of_two"] = 1.0 / best / median_of(turns.together);  // above 1: the two are faster
    state.counters["possible"] = (rates[0] + rates[1]) / best;              // with nothing lost
    state.counters["shorter_of_longer_share"] = median_of(turns.balance);
    return {};
}

void add_shared_updates(std::span<BenchDevice> devices) {
    for (std::size_t first = 0; first < devices.size(); ++first) {
        for (std::size_t second = first + 1; second < devices.size(); ++second) {
            const std::array on{&devices[first], &devices[second]};
            for (const SharedSystem& system : shared_systems()) {
                for (const auto sharing : {evolve::UpdateSharing::Parameters, evolve::UpdateSharing::Pairs}) {
                    const std::string name = fmt::format("shared_update/{}/{}/{}+{}", system.name, to_string(sharing),
                                                         on[0]->name, on[1]->name);
                    benchmark::RegisterBenchmark(name.c_str(),
                                                 [on, system, sharing](benchmark::State& state) {
                                                     const Result<void> timed = time_shared(state, on, system, sharing);
                                                     if (!timed) state.SkipWithError(timed.error().message.c_str());
                                                 })
                        ->UseManualTime()
                        ->Iterations(7);
                }
            }
        }
    }
}

const Registration kSharedUpdateRegistration(add_shared_updates);

}  // namespace
}  // namespace yolk::bench
