// SPDX-License-Identifier: Apache-2.0
// Roll-outs of CartPole, and whole generations of training.
#include <fmt/format.h>

#include "bench_rollout.hpp"
#include "suite_row.hpp"
#include "yolk/train.hpp"

namespace yolk::cli {
namespace {

Result<SuiteRow> measure_rollout(const Context& on, const RunBudget& budget, std::uint32_t population,
                                 Determinism determinism) {
    RolloutFlags flags;
    flags.population = population;
    flags.determinism = determinism;
    YOLK_TRY(RolloutRuns timed, time_rollouts(on.dispatcher(), flags, budget));
    return SuiteRow{
        .group = {}, .name = {}, .unit = "evaluations/s", .items = timed.evaluations, .runs = std::move(timed.runs)};
}

/// Roll-out, fitness, update and the state's hash. The steps are too small to learn anything, so that the generations
/// are alike. The first two, in which kernels are compiled, do not count.
Result<SuiteRow> measure_generations(const Context& on, const RunBudget& budget) {
    constexpr std::uint32_t kMost = 200, kFirst = 2;
    train::TrainOptions options{.generations = kMost, .stop_when_solved = false, .out = {}, .log = false};
    options.evolution.learning_rate = 1e-6F;
    options.evaluation_episodes = 1;
    SuiteRow row{.group = {}, .name = {}, .unit = "generations/s", .items = 1.0};
    double before = 0.0;
    const auto on_generation = [&](const train::GenerationReport& report) {
        if (report.generation >= kFirst) row.runs.wall.push_back(report.seconds - before);
        before = report.seconds;
        return !is_enough(row.runs.wall, budget);
    };
    YOLK_TRY_VOID(train::train(on, options, on_generation));
    return row;
}

}  // namespace

std::vector<SuiteJob> training_jobs() {
    std::vector<SuiteJob> jobs;
    for (const std::uint32_t population : {4096U, 65536U}) {
        for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
            jobs.push_back({"rollouts", fmt::format("CartPole, {} members, {}", population, to_string(determinism)),
                            population == 4096U, [=](const Context& on, const RunBudget& budget) {
                                return measure_rollout(on, budget, population, determinism);
                            }});
        }
    }
    jobs.push_back({"generations", "CartPole, 4096 members", true, &measure_generations});
    return jobs;
}

}  // namespace yolk::cli
