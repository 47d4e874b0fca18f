// SPDX-License-Identifier: Apache-2.0

#include <chrono>

#include "yolk/evolution.hpp"
#include "yolk/train.hpp"

#include "task_setup.hpp"

namespace yolk::train {

Result<std::vector<std::string>> train_twin(const TrainOptions& options, const OnGeneration& on_generation) {
    if (options.own_environment) {
        return unsupported(
            "The exact twin cannot run '{}': it is C++, and has the environments that were there when Yolk was built "
            "only. Compare devices with each other (their state hashes), or put the file into shaders/environments/ "
            "and build.",
            options.own_environment->info().name);
    }
    if (!options.host_environments.empty())
        return unsupported(
            "The exact twin cannot step environments on the host. Compare the state hashes of two runs.");
    YOLK_TRY(const TaskSetup setup, set_up_task(options));
    evolve::PoolParts parts{.parameters = setup.parameters, .initial = setup.initial};
    parts.members = [&setup](const Device*, Dispatcher*) {
        return Result(evolve::rollout_twin_members(setup.population, kTrainingEpisodes));
    };
    parts.host_policy = evolve::rollout_twin_members(setup.checks, kCheckEpisodes);
    YOLK_TRY(evolve::Evolution evolution,
             evolve::Evolution::create(evolve::Devices::none(), std::move(parts), options.evolution));
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    std::vector<std::string> hashes;
    while (hashes.size() < options.generations) {
        const Clock::time_point step_start = Clock::now();
        YOLK_TRY(const evolve::GenerationSummary summary, evolution.step());
        const double step_seconds = std::chrono::duration<double>(Clock::now() - step_start).count();
        YOLK_TRY(const std::string hash, evolution.state_hash());
        hashes.push_back(hash);
        YOLK_TRY(std::string digest, evolution.state_digest());
        GenerationReport report = report_of(summary, hash, std::move(digest));
        report.evaluations_per_second = static_cast<double>(report.evaluations) / step_seconds;
        report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
        report.solves = is_solved(setup, report.policy_return);
        if (on_generation && !on_generation(report)) break;
        if (options.stop_when_solved && report.solves) break;
    }
    return hashes;
}

}  // namespace yolk::train
