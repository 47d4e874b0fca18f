// SPDX-License-Identifier: Apache-2.0
// Seconds of one step of System::optimize at population 64, the median of a search's steps: EGGROLL, whose mean stays
// on the device, the same with a mean that is downloaded, clamped and uploaded in every step, as it was before, and
// Adam along the derivatives of all examples. Two systems: XOR (2-4-1 over 4 examples) and 32-64-64-8 over 64 examples.
// And EGGROLL at population 4,096 over 8-16-16-4 and 8 examples, scored on the host and on the device; `bytes_to_host`
// are those of a step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "bench.hpp"
#include "drawn_networks.hpp"
#include "times.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/optimize.hpp"

namespace yolk::bench {
namespace {

constexpr std::uint32_t kMembers = 64;
constexpr std::uint32_t kSteps = 200;
constexpr std::uint32_t kManyMembers = 4096;
constexpr std::uint32_t kStepsOfMany = 40;

struct SearchedSystem {
    hyper::System system;
    std::vector<hyper::Example> examples;
    hyper::Metric metric = hyper::numeric_distance();
    std::uint32_t members = kMembers;
    std::uint32_t steps = kSteps;
};

SearchedSystem exclusive_or() {
    SearchedSystem made{
        .system = hyper::System("xor", [hidden = tanh_layer("hidden", 4, 2), output = tanh_layer("output", 1, 4)](
                                           const hyper::Inputs& in) { return output(hidden(in["x"])); }),
        .examples = {}};
    for (const float a : {0.0F, 1.0F}) {
        for (const float b : {0.0F, 1.0F}) {
            made.examples.push_back({.inputs = {{"x", hyper::Tensor::vector({a, b})}},
                                     .expected = hyper::Tensor::vector({a == b ? 0.0F : 1.0F})});
        }
    }
    return made;
}

SearchedSystem network() {
    SearchedSystem made{
        .system = hyper::System("network", [first = tanh_layer("first", 64, 32), second = tanh_layer("second", 64, 64),
                                            third = tanh_layer("third", 8, 64)](
                                               const hyper::Inputs& in) { return third(second(first(in["x"]))); }),
        .examples = {}};
    for (std::uint32_t i = 0; i < 64; ++i)
        made.examples.push_back({.inputs = {{"x", drawn_vector(32, i)}}, .expected = drawn_vector(8, 100 + i)});
    return made;
}

SearchedSystem many_members() {
    SearchedSystem made{
        .system = hyper::System("network", [first = tanh_layer("first", 16, 8), second = tanh_layer("second", 16, 16),
                                            third = tanh_layer("third", 4, 16)](
                                               const hyper::Inputs& in) { return third(second(first(in["x"]))); }),
        .examples = {},
        .members = kManyMembers,
        .steps = kStepsOfMany};
    for (std::uint32_t i = 0; i < 8; ++i)
        made.examples.push_back({.inputs = {{"x", drawn_vector(8, i)}}, .expected = drawn_vector(4, 100 + i)});
    return made;
}
SearchedSystem many_members_scored_on_device() {
    SearchedSystem made = many_members();
    made.metric = hyper::traced_metric("distance", made.metric.traced);
    return made;
}

/// EGGROLL with its mean on the host.
class HostMeanSearch final : public hyper::Search {
   public:
    [[nodiscard]] std::string name() const override { return "host-centred"; }
    [[nodiscard]] std::uint64_t candidates_per_generation(const hyper::OptimizeOptions&) const override {
        return kMembers + 1;
    }
    [[nodiscard]] Result<void> run(hyper::Objective& objective) override {
        const evolve::EvolutionOptions& options = objective.options().evolution;
        const Device& device = objective.dispatcher().device();
        evolve::EvolutionParts parts{.parameters = objective.space().table, .initial = objective.space().mean};
        YOLK_TRY(auto scores, evolve::host_scores_evaluator(device, kMembers));
        const std::span<float> returns = scores->returns();
        parts.evaluator = std::move(scores);
        YOLK_TRY(evolve::Evolution evolution,
                 evolve::Evolution::create(device, objective.dispatcher(), std::move(parts), options));
        evolve::Schedule schedule(options);
        std::vector<float> mean = objective.space().mean;
        for (std::uint32_t step = 0; step < objective.options().generations; ++step, schedule.advance()) {
            YOLK_TRY(const std::vector<double> rewards, objective.evaluate({.table = objective.space().table,
                                                                            .mean = mean,
                                                                            .when = schedule.noise_time(),
                                                                            .first_member = -1,
                                                                            .members = kMembers + 1}));
            std::ranges::transform(std::span(rewards).subspan(1), returns.begin(),
                                   [](double reward) { return static_cast<float>(reward); });
            if (!objective.report({.generation = step, .unperturbed = rewards.front()}, mean)) return {};
            YOLK_TRY_VOID(evolution.step());
            mean.assign(evolution.parameters().begin(), evolution.parameters().end());
            if (evolve::move_into_bounds(objective.bounds(), mean)) YOLK_TRY_VOID(evolution.set_parameters(mean));
        }
        return {};
    }
};

enum class By { Eggroll, HostMeanEggroll, Adam, AdamApart };

struct StepCost {
    double seconds = 0.0;
    double bytes_to_host = 0.0;
};
/// The median time between two reports of one search, the first steps aside, in which everything is made.
Result<StepCost> cost_of_step(SearchedSystem& searched, const Device& device, By by) {
    using Clock = std::chrono::steady_clock;
    constexpr std::size_t kFirst = 10;
    std::vector<Clock::time_point> reports;
    std::vector<std::uint64_t> bytes;
    hyper::OptimizeOptions options{.evolution = {.population = searched.members, .sigma = 0.3F, .learning_rate = 0.2F},
                                   .generations = searched.steps};
    static HostMeanSearch host_mean;
    if (by == By::HostMeanEggroll) options.search = &host_mean;
    if (by == By::Adam || by == By::AdamApart) options.gradient = hyper::GradientOptions{};
    options.population_options.joined_kernels = by != By::AdamApart;
    options.on_generation = [&](const hyper::GenerationReport&) {
        reports.push_back(Clock::now());
        const OperationCounts counts = device.counts();
        bytes.push_back(counts.bytes_read_back + counts.bytes_downloaded);
        return true;
    };
    YOLK_TRY_VOID(searched.system.optimize(searched.examples, searched.metric, options));
    std::vector<double> seconds;
    for (std::size_t i = kFirst; i < reports.size(); ++i)
        seconds.push_back(std::chrono::duration<double>(reports[i] - reports[i - 1]).count());
    return StepCost{.seconds = median_of(std::move(seconds)),
                    .bytes_to_host = static_cast<double>(bytes.back() - bytes[kFirst]) /
                                     static_cast<double>(bytes.size() - 1 - kFirst)};
}

Result<void> time_steps(benchmark::State& state, BenchDevice& on, SearchedSystem (*make)(), By by) {
    SearchedSystem searched = make();
    searched.system.use(on.dispatcher);
    for ([[maybe_unused]] const auto _ : state) {
        YOLK_TRY(const StepCost cost, cost_of_step(searched, on.device, by));
        state.SetIterationTime(cost.seconds);
        state.counters["bytes_to_host"] = cost.bytes_to_host;
    }
    return {};
}

void add_searches(std::span<BenchDevice> devices) {
    struct Way {
        const char* name;
        By by;
    };
    struct Row {
        const char* name;
        SearchedSystem (*make)();
        std::vector<Way> ways;
    };
    const Way eggroll{"mean_on_device", By::Eggroll};
    const std::vector<Way> all{
        eggroll, {"mean_on_host", By::HostMeanEggroll}, {"adam", By::Adam}, {"adam_apart", By::AdamApart}};
    for (const Row& row : {Row{"xor", &exclusive_or, all}, Row{"32-64-64-8x64", &network, all},
                           Row{"8-16-16-4x8/scored_on_host", &many_members, {eggroll}},
                           Row{"8-16-16-4x8/scored_on_device", &many_members_scored_on_device, {eggroll}}}) {
        for (BenchDevice& on : devices) {
            for (const Way& way : row.ways) {
                const std::string name = fmt::format("hyper_optimize/{}/{}/{}", row.name, on.name, way.name);
                benchmark::RegisterBenchmark(name.c_str(),
                                             [&on, row, way](benchmark::State& state) {
                                                 if (const Result<void> timed = time_steps(state, on, row.make, way.by);
                                                     !timed)
                                                     state.SkipWithError(timed.error().message.c_str());
                                             })
                    ->UseManualTime()
                    ->Iterations(5);
            }
        }
    }
}

const Registration kOptimizeRegistration(add_searches);

}  // namespace
}  // namespace yolk::bench
