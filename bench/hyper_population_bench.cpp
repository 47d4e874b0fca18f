// SPDX-License-Identifier: Apache-2.0
// Candidates per second of a traced system, scored by a metric: a population at once on the device (all 4,096 members,
// by members per chunk, and in the chunks that it takes by default), one member at a time by the same evaluator, and
// one candidate at a time on the host, its weights formed, by the graph's executor. Items are candidates. Two systems:
// 8-16-16-4 over 8 examples and 32-64-64-8 over 64. The metric, a squared distance, is computed on the host; in rows
// `scored_on_device` it is traced behind the system, and the means over examples stay on the device, as in
// System::optimize with a metric of Metric::on_device. `apart` has a kernel for each elementwise equation.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench.hpp"
#include "drawn_networks.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/hyper/executor.hpp"
#include "yolk/internal/hyper/population.hpp"
#include "yolk/system.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kPopulation = 4096;
constexpr std::uint64_t kSeed = 42;

struct Sizes {
    std::uint32_t inputs, hidden, outputs, examples;
};
constexpr Sizes kSmall{8, 16, 4, 8};
constexpr Sizes kLarge{32, 64, 8, 64};

enum class ScoredOn { Host, Device };

/// A system, its traces, and a metric over them.
struct Setup {
    hyper::System system;
    std::vector<hyper::TracedExample> traces;
    std::vector<hyper::Value> expected;
    hyper::Metric metric;
    hyper::SearchSpace space;

    [[nodiscard]] hyper::Perturbations perturbed(std::int32_t first, std::uint32_t members) const {
        return {.table = space.table,
                .mean = space.mean,
                .when = {.seed = kSeed, .sigma = 0.05F},
                .first_member = first,
                .members = members};
    }
};

Result<Setup> set_up(const Sizes& sizes, ScoredOn scored_on = ScoredOn::Host) {
    hyper::System system(
        "network", [first = tanh_layer("first", sizes.hidden, sizes.inputs),
                    second = tanh_layer("second", sizes.hidden, sizes.hidden),
                    third = tanh_layer("third", sizes.outputs, sizes.hidden), scored_on](const hyper::Inputs& inputs) {
            const hyper::Traced y = third(second(first(inputs["x"])));
            return scored_on == ScoredOn::Device ? hyper::numeric_distance().traced(y, inputs["expected"]) : y;
        });
    std::vector<hyper::Example> examples;
    std::vector<hyper::Value> expected;
    for (std::uint32_t i = 0; i < sizes.examples; ++i) {
        expected.emplace_back(drawn_vector(sizes.outputs, 100 + i));
        examples.push_back({.inputs = {{"x", drawn_vector(sizes.inputs, i)}}, .expected = expected.back()});
        if (scored_on == ScoredOn::Device) examples.back().inputs.emplace("expected", expected.back());
    }
    YOLK_TRY(std::vector<hyper::TracedExample> traces, system.trace_all(examples));
    YOLK_TRY(hyper::SearchSpace space, hyper::search_space(system.parameters()));
    return Setup{.system = std::move(system),
                 .traces = std::move(traces),
                 .expected = std::move(expected),
                 .metric = scored_on == ScoredOn::Device ? hyper::output_as_reward() : hyper::numeric_distance(),
                 .space = std::move(space)};
}

/// Rewards go to `scores` on the device, or, where it is empty, to the host.
Result<void> evaluate_members(hyper::PopulationEvaluator& evaluator, const Setup& setup, const BufferView& scores,
                              std::int32_t first, std::uint32_t members, hyper::PopulationCounts& counts) {
    if (!scores.empty()) {
        YOLK_TRY(const hyper::PopulationOutputs outputs,
                 evaluator.evaluate_into(setup.perturbed(first, members), scores));
        counts = outputs.counts;
        return {};
    }
    YOLK_TRY(hyper::PopulationOutputs outputs, evaluator.evaluate(setup.perturbed(first, members)));
    counts = outputs.counts;
    YOLK_TRY(const hyper::PopulationEvaluation scored,
             hyper::score_population(std::move(outputs), setup.expected, setup.metric));
    benchmark::DoNotOptimize(scored.rewards.data());
    return {};
}

/// `members` at a time until all of a population have been scored, or, one by one, some of them.
Result<void> time_evaluator(benchmark::State& state, BenchDevice& on, const Sizes& sizes, std::uint32_t chunk,
                            std::uint32_t members, Determinism determinism = Determinism::Exact,
                            ScoredOn scored_on = ScoredOn::Host, bool joined_kernels = true) {
    YOLK_TRY(const Setup setup, set_up(sizes, scored_on));
    YOLK_TRY(hyper::HostPool pool, hyper::HostPool::create());
    YOLK_TRY(hyper::PopulationEvaluator evaluator,
             hyper::PopulationEvaluator::create({.devices = on.dispatcher, .pool = &pool}, setup.traces,
                                                setup.system.parameters(),
                                                {.max_batch_size = chunk * sizes.examples,
                                                 .determinism = determinism,
                                                 .plain_outputs = true,
                                                 .mean_outputs = scored_on == ScoredOn::Device,
                                                 .joined_kernels = joined_kernels}));
    Buffer scores;
    if (scored_on == ScoredOn::Device) {
        YOLK_TRY(scores, on.device.create_buffer({.size_bytes = sizeof(float) * members, .label = "scores"}));
    }
    hyper::PopulationCounts counts;
    YOLK_TRY_VOID(evaluate_members(evaluator, setup, scores, 0, members, counts));
    std::uint32_t first = 0;
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY_VOID(evaluate_members(evaluator, setup, scores, static_cast<std::int32_t>(first), members, counts));
        first = (first + members) % kPopulation;
    }
    state.counters["items_per_second"] = benchmark::Counter(
        static_cast<double>(members) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["dispatches"] = static_cast<double>(counts.dispatches);
    state.counters["chunks"] = static_cast<double>(counts.chunks);
    return {};
}

/// The weights of some candidates, formed: mean + noise.
std::vector<std::vector<hyper::Tensor>> formed_candidates(const Setup& setup, std::uint32_t count) {
    std::vector<std::vector<hyper::Tensor>> candidates(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        for (const hyper::GraphParameter& parameter : setup.traces[0].graph.parameters) {
            const hyper::Tensor& mean = setup.system.parameters().find(parameter.group)->values;
            std::vector<float> values(mean.values().begin(), mean.values().end());
            const hyper::Tensor noise = drawn_vector(static_cast<std::uint32_t>(values.size()), 1000 + i);
            for (std::size_t k = 0; k < values.size(); ++k) values[k] += 0.05F * noise.values()[k];
            candidates[i].push_back(hyper::Tensor::create(mean.shape(), std::move(values)).value());
        }
    }
    return candidates;
}

Result<void> time_calls(benchmark::State& state, const Sizes& sizes) {
    YOLK_TRY(const Setup setup, set_up(sizes));
    const std::vector<std::vector<hyper::Tensor>> candidates = formed_candidates(setup, 64);
    std::vector<hyper::GraphArguments> arguments(setup.traces.size());
    for (std::size_t e = 0; e < arguments.size(); ++e) {
        const hyper::TracedExample& trace = setup.traces[e];
        for (const auto& [key, id] : trace.graph.inputs) arguments[e].inputs.push_back(trace.values[id.value]);
    }
    std::size_t next = 0;
    for ([[maybe_unused]] const auto _ : state) {
        std::vector<hyper::Value> predictions;
        for (std::size_t e = 0; e < arguments.size(); ++e) {
            arguments[e].parameters.assign(candidates[next].begin(), candidates[next].end());
            YOLK_TRY(std::vector<hyper::Value> outputs, hyper::call(setup.traces[e].graph, arguments[e]));
            predictions.push_back(std::move(outputs[0]));
        }
        YOLK_TRY(const hyper::Scores scores, hyper::score(setup.metric, predictions, setup.expected));
        benchmark::DoNotOptimize(scores.reward);
        next = (next + 1) % candidates.size();
    }
    state.counters["items_per_second"] =
        benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    return {};
}

void add_one(const std::string& name, const std::function<Result<void>(benchmark::State&)>& time) {
    benchmark::RegisterBenchmark(name.c_str(), [time](benchmark::State& state) {
        if (const Result<void> timed = time(state); !timed) state.SkipWithError(timed.error().message.c_str());
    })->UseRealTime();
}

void add(std::span<BenchDevice> devices) {
    for (const Sizes& sizes : {kSmall, kLarge}) {
        const auto network = fmt::format("hyper_population/{0}-{1}-{1}-{2}x{3}", sizes.inputs, sizes.hidden,
                                         sizes.outputs, sizes.examples);
        for (BenchDevice& on : devices) {
            for (const std::uint32_t chunk : {0U, 128U, 512U, 1024U, kPopulation}) {
                add_one(fmt::format("{}/{}/population/chunk:{}", network, on.name,
                                    chunk == 0 ? "default" : std::to_string(chunk)),
                        [&on, sizes, chunk](benchmark::State& state) {
                            return time_evaluator(state, on, sizes, chunk, kPopulation);
                        });
            }
            add_one(fmt::format("{}/{}/fast/chunk:default", network, on.name), [&on, sizes](benchmark::State& state) {
                return time_evaluator(state, on, sizes, 0, kPopulation, Determinism::Fast);
            });
            for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
                add_one(fmt::format("{}/{}/{}/scored_on_device/chunk:default", network, on.name,
                                    determinism == Determinism::Exact ? "population" : "fast"),
                        [&on, sizes, determinism](benchmark::State& state) {
                            return time_evaluator(state, on, sizes, 0, kPopulation, determinism, ScoredOn::Device);
                        });
            }
            add_one(fmt::format("{}/{}/apart/scored_on_device/chunk:default", network, on.name),
                    [&on, sizes](benchmark::State& state) {
                        return time_evaluator(state, on, sizes, 0, kPopulation, Determinism::Exact, ScoredOn::Device,
                                              false);
                    });
            add_one(fmt::format("{}/{}/one_by_one", network, on.name),
                    [&on, sizes](benchmark::State& state) { return time_evaluator(state, on, sizes, 1, 1); });
        }
        add_one(fmt::format("{}/host/one_by_one", network),
                [sizes](benchmark::State& state) { return time_calls(state, sizes); });
    }
}

const Registration kRegistration(add);

}  // namespace
}  // namespace yolk::bench
