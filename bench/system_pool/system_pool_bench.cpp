// SPDX-License-Identifier: Apache-2.0
// A population of a traced system on two devices together, beside each alone, each held to one core: in turns.
//     yolk_system_pool_bench [CANDIDATES] [TURNS]        4096 candidates, 7 turns
// of_faster: the rate together over that of the faster device alone, by the path of one device. of_sum: over the sum of
// both alone. Scoring by the metric is left out: it is the host's. Figures are ratios of medians.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <vector>

#include "../drawn_networks.hpp"
#include "../pool/pinned_devices.hpp"
#include "../times.hpp"
#include "yolk/system.hpp"

namespace yolk::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct NetworkSizes {
    std::uint32_t inputs, hidden, outputs, examples;
};

struct TracedNetwork {
    hyper::System system;
    std::vector<hyper::TracedExample> traces{};
    hyper::SearchSpace space{};
};

Result<TracedNetwork> trace_network(const NetworkSizes& sizes) {
    const auto first = tanh_layer("first", sizes.hidden, sizes.inputs);
    const auto second = tanh_layer("second", sizes.hidden, sizes.hidden);
    const auto third = tanh_layer("third", sizes.outputs, sizes.hidden);
    TracedNetwork made{
        .system = hyper::System("network", [=](const hyper::Inputs& in) { return third(second(first(in["x"]))); })};
    std::vector<hyper::Example> examples;
    const hyper::Value expected = drawn_vector(sizes.outputs, 1000);
    for (std::uint32_t i = 0; i < sizes.examples; ++i)
        examples.push_back({.inputs = {{"x", drawn_vector(sizes.inputs, i)}}, .expected = expected});
    YOLK_TRY(made.traces, made.system.trace_all(examples));
    YOLK_TRY(made.space, hyper::search_space(made.system.parameters()));
    return made;
}

/// Some devices and what evaluates on them. Not movable: the evaluator refers to its pool.
struct Side {
    std::optional<evolve::DevicePool> pool{};
    std::optional<hyper::PopulationEvaluator> evaluator{};
    std::vector<double> seconds{}, least_busy{};

    Result<void> open(std::span<const Device> devices, TracedNetwork& network) {
        YOLK_TRY(pool, evolve::DevicePool::create(devices));
        YOLK_TRY(evaluator, hyper::PopulationEvaluator::create({.devices = *pool, .pool = &network.system.pool()},
                                                               network.traces, network.system.parameters(), {}));
        return {};
    }
    Result<hyper::PopulationOutputs> run(const TracedNetwork& network, std::uint32_t candidates) {
        const Clock::time_point start = Clock::now();
        YOLK_TRY(hyper::PopulationOutputs outputs, evaluator->evaluate({.table = network.space.table,
                                                                        .mean = network.space.mean,
                                                                        .when = {.seed = 42, .sigma = 0.05F},
                                                                        .members = candidates}));
        seconds.push_back(seconds_since(start));
        double least = 1.0;
        for (const evolve::WorkerShare& share : outputs.pooled.devices.shares)
            least = std::min(least, share.busy_seconds / outputs.pooled.devices.seconds);
        least_busy.push_back(least);
        return outputs;
    }
};

double median_after_warm_up(const std::vector<double>& values) {
    return median_of(std::vector<double>(values.begin() + 2, values.end()));
}

Result<void> compare(std::span<const Device> devices, const NetworkSizes& sizes, std::uint32_t candidates,
                     std::uint32_t turns) {
    YOLK_TRY(TracedNetwork network, trace_network(sizes));
    std::array<Side, 3> sides;
    YOLK_TRY_VOID(sides[0].open(devices.first(1), network));
    YOLK_TRY_VOID(sides[1].open(devices.subspan(1, 1), network));
    YOLK_TRY_VOID(sides[2].open(devices, network));
    bool is_same = true;
    for (std::uint32_t turn = 0; turn < turns + 2; ++turn) {
        std::vector<hyper::Value> first;
        for (Side& side : sides) {
            YOLK_TRY(const hyper::PopulationOutputs outputs, side.run(network, candidates));
            if (first.empty()) first = outputs.values;
            is_same = is_same && outputs.values == first;
        }
    }
    std::array<double, 3> rates{};
    for (std::size_t i = 0; i < 3; ++i) rates[i] = candidates / median_after_warm_up(sides[i].seconds);
    fmt::print(
        "{}-{}-{}-{} x {} examples, {} candidates: lavapipe is {:.2f} times SwiftShader; of_faster {:.2f}, of_sum "
        "{:.2f}, least busy {:.2f}; outputs {}\n",
        sizes.inputs, sizes.hidden, sizes.hidden, sizes.outputs, sizes.examples, candidates, rates[0] / rates[1],
        rates[2] / std::max(rates[0], rates[1]), rates[2] / (rates[0] + rates[1]),
        median_after_warm_up(sides[2].least_busy), is_same ? "equal" : "DIFFERENT");
    return {};
}

Result<void> compare_all(std::uint32_t candidates, std::uint32_t turns) {
    YOLK_TRY(const std::vector<Context> contexts, open_pinned());
    std::vector<Device> devices;
    for (const Context& context : contexts) devices.push_back(context.device());
    YOLK_TRY_VOID(compare(devices, {8, 16, 4, 8}, candidates, turns));
    return compare(devices, {32, 64, 8, 64}, candidates, turns);
}

}  // namespace
}  // namespace yolk::bench

int main(int argc, char** argv) {
    const std::uint32_t candidates = yolk::bench::number_argument(argc, argv, 1, 4096);
    const std::uint32_t turns = yolk::bench::number_argument(argc, argv, 2, 7);
    if (candidates == 0 || turns == 0) {
        fmt::print(stderr, "usage: yolk_system_pool_bench [CANDIDATES] [TURNS]; at least one of each.\n");
        return 2;
    }
    const yolk::Result<void> done = yolk::bench::compare_all(candidates, turns);
    if (!done) fmt::print(stderr, "error: {}\n", done.error().message);
    return done ? 0 : 1;
}
