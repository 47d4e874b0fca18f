// SPDX-License-Identifier: Apache-2.0
// Populations of two networks of hyperfunctions, and generations of a search.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cmath>
#include <memory>

#include "suite_row.hpp"
#include "yolk/internal/hyper/population.hpp"
#include "yolk/internal/hyper/traced_operations.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::cli {
namespace {

constexpr std::uint32_t kCandidates = 4096;

struct NetworkSizes {
    std::uint32_t inputs, hidden, outputs, examples;
};
constexpr NetworkSizes kSmallNetwork{8, 16, 4, 8};
constexpr NetworkSizes kLargeNetwork{32, 64, 8, 64};

hyper::Tensor numbers(std::uint32_t count, std::uint32_t which) {
    std::vector<float> values(count);
    for (std::uint32_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i * i + 7 * which));
    return hyper::Tensor::vector(std::move(values));
}

hyper::Hyperfunction<hyper::MatrixWeight> tanh_layer(const char* name, std::uint32_t out, std::uint32_t in) {
    return hyper::hyperfunction(
        name, hyper::MatrixWeight{.out = out, .in = in},
        [](const hyper::Traced& weight, const hyper::Traced& x) { return hyper::tanh(hyper::linear(weight, x)); },
        {.optimize = true});
}

struct BenchSystem {
    hyper::System system;
    std::vector<hyper::Example> examples;
};

BenchSystem network(const NetworkSizes& sizes) {
    BenchSystem made{
        .system = hyper::System("network", [first = tanh_layer("first", sizes.hidden, sizes.inputs),
                                            second = tanh_layer("second", sizes.hidden, sizes.hidden),
                                            third = tanh_layer("third", sizes.outputs, sizes.hidden)](
                                               const hyper::Inputs& in) { return third(second(first(in["x"]))); }),
        .examples = {}};
    for (std::uint32_t i = 0; i < sizes.examples; ++i)
        made.examples.push_back(
            {.inputs = {{"x", numbers(sizes.inputs, i)}}, .expected = numbers(sizes.outputs, 100 + i)});
    return made;
}

/// The forward pass alone: predictions of every candidate and example.
Result<SuiteRow> measure_population(const Context& on, const RunBudget& budget, const NetworkSizes& sizes,
                                    Determinism determinism) {
    BenchSystem made = network(sizes);
    YOLK_TRY(const std::vector<hyper::TracedExample> traces, made.system.trace_all(made.examples));
    YOLK_TRY(const hyper::SearchSpace space, hyper::search_space(made.system.parameters()));
    YOLK_TRY(hyper::HostPool pool, hyper::HostPool::create());
    YOLK_TRY(hyper::PopulationEvaluator evaluator,
             hyper::PopulationEvaluator::create({.devices = on.dispatcher(), .pool = &pool}, traces,
                                                made.system.parameters(),
                                                {.determinism = determinism, .plain_outputs = true}));
    const hyper::Perturbations candidates{.table = space.table,
                                          .mean = space.mean,
                                          .when = {.seed = 1, .sigma = 0.05F},
                                          .first_member = 0,
                                          .members = kCandidates};
    SuiteRow row{.group = {}, .name = {}, .unit = "candidates/s", .items = kCandidates};
    YOLK_TRY(row.runs, time_calls(
                           [&]() -> Result<void> {
                               YOLK_TRY_VOID(evaluator.evaluate(candidates));
                               return {};
                           },
                           budget));
    return row;
}

/// Whole generations of System::optimize with a metric that is scored on the device; the first do not count.
Result<SuiteRow> measure_search(const Context& on, const RunBudget& budget, const NetworkSizes& sizes) {
    using Clock = std::chrono::steady_clock;
    constexpr std::uint32_t kMost = 500, kFirst = 3;
    BenchSystem made = network(sizes);
    made.system.use(on);
    const hyper::Metric metric = hyper::traced_metric("distance", hyper::numeric_distance().traced);
    SuiteRow row{.group = {}, .name = {}, .unit = "candidates/s", .items = kCandidates};
    hyper::OptimizeOptions options{.evolution = {.population = kCandidates, .sigma = 0.05F, .learning_rate = 1e-6F},
                                   .generations = kMost};
    Clock::time_point before = Clock::now();
    options.on_generation = [&](const hyper::GenerationReport& report) {
        const Clock::time_point now = Clock::now();
        if (report.generation >= kFirst) row.runs.wall.push_back(std::chrono::duration<double>(now - before).count());
        before = now;
        return !is_enough(row.runs.wall, budget);
    };
    YOLK_TRY_VOID(made.system.optimize(made.examples, metric, options));
    return row;
}

}  // namespace

std::vector<SuiteJob> system_jobs() {
    std::vector<SuiteJob> jobs;
    for (const NetworkSizes& sizes : {kSmallNetwork, kLargeNetwork}) {
        const std::string what = fmt::format("{}-{}-{}-{}, {} examples", sizes.inputs, sizes.hidden, sizes.hidden,
                                             sizes.outputs, sizes.examples);
        for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
            jobs.push_back({"populations", fmt::format("{}, {}", what, to_string(determinism)), true,
                            [=](const Context& on, const RunBudget& budget) {
                                return measure_population(on, budget, sizes, determinism);
                            }});
        }
        jobs.push_back({"searches", what, sizes.inputs == kSmallNetwork.inputs,
                        [=](const Context& on, const RunBudget& budget) { return measure_search(on, budget, sizes); }});
    }
    return jobs;
}

}  // namespace yolk::cli
