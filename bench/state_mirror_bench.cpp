// SPDX-License-Identifier: Apache-2.0
// A generation whose state comes to the host and is hashed, as it did in every generation before, and one that the
// digest stands for: both in turns, in memory as the device has it and in memory that is apart from the host's.
// The scores are the host's and the population small, so that what is compared is not hidden by the work around it.
#include <fmt/format.h>

#include <chrono>

#include "bench.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/parameter_setup.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kMembers = 2;

struct Side {
    evolve::Evolution evolution;
    bool mirrored;
    double seconds = 0.0;
    std::uint64_t bytes = 0;

    [[nodiscard]] Result<void> step(const Device& device) {
        const OperationCounts before = device.counts();
        const auto start = std::chrono::steady_clock::now();
        YOLK_TRY_VOID(evolution.step());
        YOLK_TRY_VOID(mirrored ? evolution.state_hash() : evolution.state_digest());
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const OperationCounts after = device.counts();
        bytes += after.bytes_read_back + after.bytes_downloaded - before.bytes_read_back - before.bytes_downloaded;
        return {};
    }
};

Result<Side> make_side(const Device& device, Dispatcher& dispatcher, std::uint32_t columns, bool mirrored) {
    const evolve::EvolutionOptions options{.population = kMembers};
    evolve::EvolutionParts parts;
    YOLK_TRY(parts.parameters, ParameterTable::create({{.name = "w", .rows = 1024, .columns = columns}}));
    parts.initial = evolve::initial_parameters(parts.parameters, options.seed);
    if (!mirrored) parts.host_elements.emplace();
    parts.digest = !mirrored;
    YOLK_TRY(auto scores, evolve::host_scores_evaluator(device, kMembers));
    scores->returns()[0] = 1.0F;
    parts.evaluator = std::move(scores);
    YOLK_TRY(evolve::Evolution evolution, evolve::Evolution::create(device, dispatcher, std::move(parts), options));
    return Side{.evolution = std::move(evolution), .mirrored = mirrored};
}

Result<void> time_both(benchmark::State& state, BenchDevice& on, MemoryPolicy policy, std::uint32_t columns) {
    YOLK_TRY(const Device device,
             Device::create(on.context.instance(), on.device.info().index, {.memory_policy = policy}));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(Side mirrored, make_side(device, dispatcher, columns, true));
    YOLK_TRY(Side digest, make_side(device, dispatcher, columns, false));
    for (Side* side : {&mirrored, &digest}) {  // warm
        YOLK_TRY_VOID(side->step(device));
        side->seconds = 0.0;
        side->bytes = 0;
    }
    for ([[maybe_unused]] const auto _ : state) {
        const double before = digest.seconds;
        YOLK_TRY_VOID(mirrored.step(device));
        YOLK_TRY_VOID(digest.step(device));
        state.SetIterationTime(digest.seconds - before);
    }
    const auto turns = static_cast<double>(state.iterations());
    state.counters["mirrored_ms"] = 1e3 * mirrored.seconds / turns;
    state.counters["mirrored_of_digest"] = mirrored.seconds / digest.seconds;
    state.counters["mirrored_bytes"] = static_cast<double>(mirrored.bytes) / turns;
    state.counters["digest_bytes"] = static_cast<double>(digest.bytes) / turns;
    return {};
}

void add_mirrors(std::span<BenchDevice> devices) {
    struct Memory {
        const char* name;
        MemoryPolicy policy;
    };
    for (const std::uint32_t columns : {1024U, 16384U}) {
        for (const Memory memory :
             {Memory{"its_own", MemoryPolicy::Automatic}, Memory{"apart", MemoryPolicy::ForceDiscrete}}) {
            for (BenchDevice& on : devices) {
                const std::string name =
                    fmt::format("state_mirror/{}/{}/memory_{}", 1024 * std::uint64_t{columns}, on.name, memory.name);
                benchmark::RegisterBenchmark(name.c_str(),
                                             [&on, memory, columns](benchmark::State& state) {
                                                 const Result<void> timed =
                                                     time_both(state, on, memory.policy, columns);
                                                 if (!timed) state.SkipWithError(timed.error().message.c_str());
                                             })
                    ->UseManualTime()
                    ->Iterations(10);
            }
        }
    }
}

const Registration kMirrorRegistration(add_mirrors);

}  // namespace
}  // namespace yolk::bench
