// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "yolk/environment.hpp"
#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/train/policy_file.hpp"
#include "yolk/train.hpp"

#include "policy_runner.hpp"
#include "task_setup.hpp"

namespace yolk::train {

namespace {

/// A runner for each device of the pool; one that cannot be made drops its device.
Result<std::vector<std::optional<PolicyRunner>>> runners_of(evolve::DevicePool& pool, const RolloutDesc& desc) {
    std::vector<std::optional<PolicyRunner>> runners(pool.size());
    for (std::size_t i = 0; i < pool.size(); ++i) {
        if (!pool.is_used(i)) continue;
        Result<PolicyRunner> made = PolicyRunner::create(pool.device(i), pool.dispatcher(i), desc);
        if (made) {
            runners[i] = std::move(made).value();
        } else if (evolve::is_of_device(made.error())) {
            pool.drop(i, made.error().message);
        } else {
            return std::move(made).error();
        }
    }
    return runners;
}

/// Returns of all episodes, dealt out in chunks.
Result<std::vector<float>> run_on_pool(std::span<const Device> devices, const RolloutDesc& desc,
                                       std::span<const float> parameters, std::uint64_t seed) {
    // No device has to be exact for this, as none has to be alone.
    YOLK_TRY(evolve::DevicePool pool,
             evolve::DevicePool::create(devices, {.determinism = Determinism::Fast, .seed = seed}));
    YOLK_TRY(std::vector<std::optional<PolicyRunner>> runners, runners_of(pool, desc));
    std::vector<float> returns(desc.episodes);
    const evolve::PooledWork work{
        .members = {.first = 0, .count = desc.episodes},
        .granularity = 1,
        .evaluate = [&](std::size_t worker, const evolve::MemberRange& episodes) -> Result<std::vector<std::byte>> {
            YOLK_TRY(const std::vector<float> some,
                     runners[worker]->run(parameters, seed, 0, kEvaluationEpisodes + episodes.first, episodes.count));
            const std::span<const std::byte> bytes = std::as_bytes(std::span(some));
            return std::vector<std::byte>(bytes.begin(), bytes.end());
        },
        .keep =
            [&](const evolve::MemberRange& episodes, std::span<const std::byte> result) {
                std::memcpy(&returns[episodes.first], result.data(), result.size());
            }};
    YOLK_TRY_VOID(pool.evaluate(work));
    return returns;
}

bool depends_on_placement(std::span<const Device> devices, const LoadedEnvironment* environment) {
    if (devices.size() < 2) return false;
    if (environment != nullptr && !environment->inexact_reason().empty()) return true;
    return std::ranges::any_of(devices, [](const Device& device) { return !device.findings().inexact_reason.empty(); });
}

/// Of the outputs of a policy.
struct PolicyActions {
    bool continuous = false;
    bool squashed = false;
};

Result<PolicyActions> actions_of(const Policy& policy, const LoadedEnvironment* own) {
    if (is_host_source(policy.environment_source)) {
        YOLK_TRY(const HostEnvironmentInfo info, host_info_of_source(policy.environment_source));
        return PolicyActions{.continuous = info.actions.count == 0};
    }
    YOLK_TRY(const EnvironmentInfo info, own != nullptr ? own->info() : find_environment(policy.task));
    return PolicyActions{.continuous = info.actions.continuous, .squashed = info.actions.squashed};
}

/// Whether it may be run there: one of its own kind, and of its sizes.
Result<void> check_fits(const Policy& policy, const PolicyActions& actions, const HostEnvironmentInfo& info,
                        std::string_view what) {
    const std::vector<std::uint32_t>& widths = policy.network.widths;
    if (widths.front() == info.observation_count && widths.back() == info.actions.outputs() &&
        actions.continuous == (info.actions.count == 0))
        return {};
    return bad_input("{} takes {} observations and makes {} {}; the environment '{}' is: {}.", what, widths.front(),
                     widths.back(), actions.continuous ? "values of a box" : "discrete actions", info.name,
                     host_source(info));
}

Result<std::vector<float>> run_in_host_environments(const Device& device, const Policy& policy,
                                                    const ParameterTable& parameters, const EvalOptions& options,
                                                    const PolicyActions& actions) {
    YOLK_TRY(const EnvironmentInfo info, common_info(options.host_environments));
    YOLK_TRY(HostTask task, host_task(policy.network, parameters, info, options.max_steps));
    task.policies.determinism = Determinism::Fast;
    task.squashed = actions.squashed;
    YOLK_TRY_VOID(probe(device));
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(const auto players, HostPlayers::create(device, dispatcher, options.host_environments, task));
    YOLK_TRY_VOID(players->set_parameters(policy.parameters));
    std::vector<float> returns(options.episodes);
    YOLK_TRY_VOID(players->play_mean({.seed = options.seed}, kEvaluationEpisodes, returns));
    return returns;
}

Result<std::vector<float>> run_on_one(const Device& device, const RolloutDesc& desc, std::span<const float> parameters,
                                      std::uint64_t seed) {
    YOLK_TRY_VOID(probe(device));  // plans respect the loop limit that it finds
    YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(device));
    YOLK_TRY(PolicyRunner runner, PolicyRunner::create(device, dispatcher, desc));
    return runner.run(parameters, seed, 0, kEvaluationEpisodes);
}

}  // namespace

Result<EvalOutcome> evaluate_policy(const evolve::Devices& given, const std::filesystem::path& policy,
                                    const EvalOptions& options) {
    YOLK_TRY_VOID(check_evaluation_episodes(options.episodes));
    YOLK_TRY(const Policy loaded, load_policy(policy, options.own_environment.get()));
    YOLK_TRY(const ParameterTable parameters, ParameterTable::create(loaded.network.parameters()));
    RolloutDesc rollout = policy_rollout(loaded.network, parameters, options.episodes, 0);
    rollout.environment = loaded.task;
    rollout.own_environment = options.own_environment;
    YOLK_TRY(const std::vector<Device> devices, given.handles());
    const bool on_host = !options.host_environments.empty();
    PolicyActions actions;
    if (on_host) {
        YOLK_TRY(actions, actions_of(loaded, options.own_environment.get()));
        YOLK_TRY_VOID(
            check_fits(loaded, actions, options.host_environments.front()->info(), fmt::format("'{}'", shown(policy))));
    } else if (is_host_source(loaded.environment_source)) {
        return bad_input("'{}' was trained on '{}', which the host steps. Give that environment (--program).",
                         shown(policy), loaded.task);
    }
    YOLK_TRY(const std::vector<float> returns,
             on_host               ? run_in_host_environments(devices.front(), loaded, parameters, options, actions)
             : devices.size() == 1 ? run_on_one(devices.front(), rollout, loaded.parameters, options.seed)
                                   : run_on_pool(devices, rollout, loaded.parameters, options.seed));
    const ReturnStatistics statistics = statistics_of(returns);
    return EvalOutcome{.task = on_host ? options.host_environments.front()->info().name : loaded.task,
                       .episodes = options.episodes,
                       .mean_return = statistics.mean,
                       .deviation = statistics.deviation,
                       .worst_return = statistics.worst,
                       .best_return = statistics.best,
                       .not_finite = statistics.not_finite,
                       .depends_on_placement = depends_on_placement(devices, options.own_environment.get())};
}

}  // namespace yolk::train
