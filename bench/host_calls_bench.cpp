// SPDX-License-Identifier: Apache-2.0
// 64 calls of a host function that waits 50 ms, at most 16 at the same time: as tasks of a pool, and as the equations
// of a graph, one after another (call) and overlapped (call_async). Four rounds of 50 ms are the least that overlapped
// calls can take (`least_ms`); `above_least_ms` is the rest. `sched`: 16 calls in four stages, each of which reads the
// stage before, so that four rounds are the least there, too.
#include <chrono>
#include <thread>

#include "bench.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::bench {
namespace {

using namespace std::chrono_literals;
constexpr std::uint32_t kCalls = 64;
constexpr std::uint32_t kConcurrency = 16;
constexpr auto kWait = 50ms;
static_assert(kCalls % kConcurrency == 0);
constexpr std::uint32_t kRounds = kCalls / kConcurrency;
constexpr double kLeast = std::chrono::duration<double>(kWait).count() * kRounds;

hyper::HostFunctionPtr waits() {
    return std::make_shared<const hyper::HostFunction>(
        hyper::HostFunction{.name = "waits",
                            .run = [](const hyper::HostCall&) -> Result<hyper::Value> {
                                std::this_thread::sleep_for(kWait);
                                return hyper::Value(1.0);
                            },
                            .options = {.max_concurrency = kConcurrency}});
}

hyper::Graph graph_of_calls(const hyper::HostFunctionPtr& function) {
    hyper::Graph graph;
    graph.name = "waits";
    for (std::uint32_t i = 0; i < kCalls; ++i) {
        const hyper::VariableId result(i);
        graph.variables.push_back({{hyper::ValueKind::Number, {}}, "result"});
        graph.equations.push_back({.operation = hyper::find_operation("host_call"),
                                   .operands = {hyper::Value(hyper::Tensor::vector({}))},
                                   .results = {result},
                                   .host = function});
        graph.outputs.emplace_back(result);
    }
    return graph;
}

Result<hyper::Graph> staged_calls() {
    const auto waiting = hyper::hyperfunction("waits", hyper::NoParameters{}, [](double x) {
        std::this_thread::sleep_for(kWait);
        return x;
    });
    const std::pair<std::string, hyper::ValueType> input{"x", {hyper::ValueKind::Number, {}}};
    YOLK_TRY(const hyper::Graph graph, hyper::trace("stages", std::span(&input, 1), [&](auto inputs) {
                 hyper::Traced x = inputs[0];
                 for (std::uint32_t stage = 0; stage < kRounds; ++stage)
                     x = (waiting(x) + waiting(x + 1.0)) + (waiting(x + 2.0) + waiting(x + 3.0));
                 return hyper::TracedValues{x};
             }));
    return hyper::sched(graph);
}

void time_calls(benchmark::State& state, const std::function<Result<void>(hyper::HostPool&)>& calls) {
    Result<hyper::HostPool> pool = hyper::HostPool::create();
    double seconds = 0.0;
    for ([[maybe_unused]] const auto _ : state) {
        const auto begun = std::chrono::steady_clock::now();
        const Result<void> done = pool ? calls(*pool) : Result<void>(pool.error());
        if (!done) return state.SkipWithError(done.error().message.c_str());
        seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    }
    state.counters["least_ms"] = 1e3 * kLeast;
    state.counters["above_least_ms"] = 1e3 * (seconds / static_cast<double>(state.iterations()) - kLeast);
}

Result<void> first_error(std::span<const Result<hyper::Value>> results) {
    for (const Result<hyper::Value>& result : results) {
        if (!result) return result.error();
    }
    return {};
}

void add(std::span<BenchDevice> /*devices*/) {
    const hyper::HostFunctionPtr function = waits();
    const auto add_one = [](const char* name, const std::function<Result<void>(hyper::HostPool&)>& calls) {
        benchmark::RegisterBenchmark(name, [calls](benchmark::State& state) { time_calls(state, calls); })
            ->UseRealTime()
            ->Unit(benchmark::kMillisecond);
    };
    add_one("host_calls/run_all", [function](hyper::HostPool& pool) -> Result<void> {
        return first_error(pool.run_all(std::vector<hyper::HostTask>(kCalls, {.function = function})));
    });
    add_one("host_calls/call_async", [graph = graph_of_calls(function)](hyper::HostPool& pool) -> Result<void> {
        YOLK_TRY_VOID(hyper::call_async(graph, {}, pool));
        return {};
    });
    add_one("host_calls/sched", [graph = staged_calls()](hyper::HostPool& pool) -> Result<void> {
        if (!graph) return graph.error();
        YOLK_TRY_VOID(hyper::call_async(*graph, {.inputs = {1.0}, .parameters = {hyper::Tensor()}}, pool));
        return {};
    });
    add_one("host_calls/call", [graph = graph_of_calls(function)](hyper::HostPool&) -> Result<void> {
        YOLK_TRY_VOID(hyper::call(graph, {}));
        return {};
    });
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
