// SPDX-License-Identifier: Apache-2.0
// Candidates per second of a recurrent network, h = tanh(W h + U x) of 16 over sequences of 8, as a `scan`: unrolled on
// the device, beside its body called on the host for each candidate and example, in turns. By the scan's length, over
// 8 examples; 64 members at a time. Items are candidates of the device. Counters: `of_host`, the ratio of both medians;
// `plan_ms`, the time to unroll and plan; `equations` that run on the device.
// `hyper_stopped_loops`: a `while_loop` with a limit of 400. The argument is how many steps its slowest candidate
// takes. The default blocks run in turns with a loop that never asks: `of_all`, the ratio of both medians;
// `dispatches`, `submissions`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "bench.hpp"
#include "times.hpp"
#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/population.hpp"
#include "yolk/system.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kLoopMembers = 64;
constexpr std::uint32_t kLoopExamples = 8;
constexpr std::uint64_t kWidth = 16;
constexpr std::uint64_t kInputs = 8;
constexpr int kTurns = 5;

hyper::Tensor sequence(std::uint64_t length, std::uint32_t seed) {
    std::vector<float> values(length * kInputs);
    for (std::uint32_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(philox4x32({i, 0, 0, 0}, {seed, 3})[0] >> 8U) * 0x1p-23F - 1.0F;
    return hyper::Tensor::create(Shape{length, kInputs}, std::move(values)).value();
}

hyper::System recurrent() {
    const auto product = [](const hyper::Traced& weight, const hyper::Traced& x) { return hyper::linear(weight, x); };
    const auto state =
        hyper::hyperfunction("state", hyper::MatrixWeight{.out = kWidth, .in = kWidth}, product, {.optimize = true});
    const auto input =
        hyper::hyperfunction("input", hyper::MatrixWeight{.out = kWidth, .in = kInputs}, product, {.optimize = true});
    return hyper::System("recurrent", [=](const hyper::Inputs& in) {
        const hyper::Traced start = hyper::Tensor::filled({kWidth}, 0.0F);
        return hyper::scan(start, in["xs"],
                           [&](const hyper::Traced& h, const hyper::Traced& x) {
                               const hyper::Traced next = hyper::tanh(state(h) + input(x));
                               return std::pair{next, next};
                           })
            .first;
    });
}

using Clock = std::chrono::steady_clock;

/// One form of the population, with what it takes per call.
struct LoopForm {
    std::optional<hyper::PopulationEvaluator> evaluator;
    double plan_seconds = 0.0;
    std::uint64_t equations = 0;
    std::vector<double> seconds{};

    Result<void> evaluate(const hyper::SearchSpace& space) {
        const auto start = Clock::now();
        YOLK_TRY(const hyper::PopulationOutputs outputs, evaluator->evaluate({.table = space.table,
                                                                              .mean = space.mean,
                                                                              .when = {.seed = 1, .sigma = 0.05F},
                                                                              .members = kLoopMembers}));
        seconds.push_back(seconds_since(start));
        equations = outputs.counts.device_equations;
        return {};
    }
};

Result<void> time_loop(benchmark::State& state, BenchDevice& on, std::uint64_t length) {
    hyper::System system = recurrent();
    std::vector<hyper::Example> examples;
    for (std::uint32_t e = 0; e < kLoopExamples; ++e) examples.push_back({{{"xs", sequence(length, e)}}, 0.0});
    YOLK_TRY(const std::vector<hyper::TracedExample> traces, system.trace_all(examples));
    YOLK_TRY(const hyper::SearchSpace space, hyper::search_space(system.parameters()));
    YOLK_TRY(hyper::HostPool pool, hyper::HostPool::create());
    const auto form = [&](std::uint32_t most_unrolled) -> Result<LoopForm> {
        LoopForm made;
        const auto start = Clock::now();
        YOLK_TRY(made.evaluator,
                 hyper::PopulationEvaluator::create({.devices = on.dispatcher, .pool = &pool}, traces,
                                                    system.parameters(), {.most_unrolled = most_unrolled}));
        made.plan_seconds = seconds_since(start);
        YOLK_TRY_VOID(made.evaluate(space));  // makes the plan for this many members
        made.seconds.clear();
        return made;
    };
    YOLK_TRY(LoopForm device, form(1U << 20U));
    YOLK_TRY(LoopForm host, form(0));
    for (int turn = 0; turn < kTurns; ++turn) {
        YOLK_TRY_VOID(device.evaluate(space));
        if (turn < 3) YOLK_TRY_VOID(host.evaluate(space));
    }
    for ([[maybe_unused]] const auto _ : state) YOLK_TRY_VOID(device.evaluate(space));
    state.counters["items_per_second"] = benchmark::Counter(
        static_cast<double>(kLoopMembers) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["of_host"] = median_of(host.seconds) / median_of(device.seconds);
    state.counters["plan_ms"] = 1e3 * device.plan_seconds;
    state.counters["equations"] = static_cast<double>(device.equations);
    return {};
}

/// x = tanh(w x) + x0 until a count, of up to `steps` steps, is reached.
hyper::System counting(std::uint64_t limit) {
    const auto scale = hyper::hyperfunction(
        "scale", hyper::VectorWeight{.size = kWidth},
        [](const hyper::Traced& weight, const hyper::Traced& x) { return weight * x; }, {.optimize = true});
    return hyper::System("counting", [=](const hyper::Inputs& in) {
        const hyper::Traced start = in["x"], steps = in["steps"];
        // A candidate's own number, so that only the device knows when it ends: no less than `steps` - 1.
        const hyper::Traced zero = hyper::sum(scale(start)) * 0.0;
        return hyper::while_loop(
            std::vector<hyper::Traced>{start, zero},
            [&](std::span<const hyper::Traced> c) { return hyper::less(c[1], steps); },
            [&](std::span<const hyper::Traced> c) {
                return hyper::TracedValues{hyper::tanh(scale(c[0])) + start, c[1] + 1.0};
            },
            limit)[0];
    });
}

Result<void> time_stopped_loop(benchmark::State& state, BenchDevice& on, std::uint64_t steps) {
    constexpr std::uint64_t kLimit = 400;
    hyper::System system = counting(kLimit);
    std::vector<hyper::Example> examples;
    for (std::uint32_t e = 0; e < kLoopExamples; ++e) {
        const hyper::Tensor x = hyper::Tensor::filled({kWidth}, 0.01F * static_cast<float>(e));
        examples.push_back({{{"x", x}, {"steps", hyper::Tensor::vector({static_cast<float>(steps)})}}, 0.0});
    }
    YOLK_TRY(const std::vector<hyper::TracedExample> traces, system.trace_all(examples));
    YOLK_TRY(const hyper::SearchSpace space, hyper::search_space(system.parameters()));
    std::uint64_t dispatches = 0, submissions = 0;
    std::array<std::optional<hyper::PopulationEvaluator>, 2> forms;
    std::array<std::vector<double>, 2> seconds;
    const std::array<std::uint32_t, 2> blocks{hyper::kLoopBlock, 0};
    for (std::size_t i = 0; i < forms.size(); ++i) {
        YOLK_TRY(forms[i], hyper::PopulationEvaluator::create({.devices = on.dispatcher}, traces, system.parameters(),
                                                              {.loop_block = blocks[i]}));
    }
    const auto evaluate = [&](std::size_t form) -> Result<void> {
        const auto start = Clock::now();
        YOLK_TRY(const hyper::PopulationOutputs outputs, forms[form]->evaluate({.table = space.table,
                                                                                .mean = space.mean,
                                                                                .when = {.seed = 1, .sigma = 0.05F},
                                                                                .members = kLoopMembers}));
        seconds[form].push_back(seconds_since(start));
        if (form == 0) dispatches = outputs.counts.dispatches;
        if (form == 0) submissions = outputs.counts.submissions;
        return {};
    };
    for (std::size_t form = 0; form < forms.size(); ++form) YOLK_TRY_VOID(evaluate(form));  // makes the plans
    for (std::vector<double>& each : seconds) each.clear();
    for (int turn = 0; turn < kTurns; ++turn) {
        for (std::size_t form = 0; form < forms.size(); ++form) YOLK_TRY_VOID(evaluate(form));
    }
    for ([[maybe_unused]] const auto _ : state) YOLK_TRY_VOID(evaluate(0));
    state.counters["of_all"] = median_of(seconds[1]) / median_of(seconds[0]);
    state.counters["dispatches"] = static_cast<double>(dispatches);
    state.counters["submissions"] = static_cast<double>(submissions);
    return {};
}

void add_stopped_loops(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const std::uint64_t steps : {3U, 20U, 100U, 200U, 399U}) {
            benchmark::RegisterBenchmark(fmt::format("hyper_stopped_loops/{}/steps:{}", on.name, steps).c_str(),
                                         [&on, steps](benchmark::State& state) {
                                             if (const auto timed = time_stopped_loop(state, on, steps); !timed)
                                                 state.SkipWithError(timed.error().message.c_str());
                                         })
                ->UseRealTime();
        }
    }
}

void add_loops(std::span<BenchDevice> devices) {
    for (BenchDevice& on : devices) {
        for (const std::uint64_t length : {4U, 32U, 256U, 1024U, 4096U}) {
            benchmark::RegisterBenchmark(fmt::format("hyper_loops/{}/length:{}", on.name, length).c_str(),
                                         [&on, length](benchmark::State& state) {
                                             if (const Result<void> timed = time_loop(state, on, length); !timed)
                                                 state.SkipWithError(timed.error().message.c_str());
                                         })
                ->UseRealTime();
        }
    }
}

const Registration kLoops(add_loops);
const Registration kStoppedLoops(add_stopped_loops);

}  // namespace
}  // namespace yolk::bench
