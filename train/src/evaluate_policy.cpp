// SPDX-License-Identifier: Apache-2.0
#include "yolk/runtime/probe.hpp"
#include "yolk/train/policy_file.hpp"
#include "yolk/train/train.hpp"

#include "policy_runner.hpp"
#include "task_setup.hpp"

namespace yolk::train {

Result<EvalOutcome> evaluate_policy(const Device& device, const std::filesystem::path& policy,
                                    const EvalOptions& options) {
    YOLK_TRY_VOID(check_evaluation_episodes(options.episodes));
    YOLK_TRY(const Policy loaded, load_policy(policy, options.own_environment.get()));
    YOLK_TRY(const ParameterTable parameters, ParameterTable::create(loaded.network.parameters()));
    YOLK_TRY_VOID(probe(device));  // plans respect the loop limit that it finds
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    RolloutDesc rollout = policy_rollout(loaded.network, parameters, options.episodes, 0);
    rollout.environment = loaded.task;
    rollout.own_environment = options.own_environment;
    YOLK_TRY(PolicyRunner runner, PolicyRunner::create(device, dispatcher, rollout));
    YOLK_TRY(const std::vector<float> returns, runner.run(loaded.parameters, options.seed, 0, kEvaluationEpisodes));
    const ReturnStatistics statistics = statistics_of(returns);
    return EvalOutcome{.task = loaded.task,
                       .episodes = options.episodes,
                       .mean_return = statistics.mean,
                       .deviation = statistics.deviation,
                       .worst_return = statistics.worst,
                       .best_return = statistics.best};
}

Result<EvalOutcome> evaluate_policy(const Context& context, const std::filesystem::path& policy,
                                    const EvalOptions& options) {
    return evaluate_policy(context.device(), policy, options);
}

}  // namespace yolk::train
