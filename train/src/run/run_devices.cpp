// SPDX-License-Identifier: Apache-2.0
#include "run_devices.hpp"

#include <algorithm>
#include <utility>

#include "yolk/evolution.hpp"
#include "yolk/log.hpp"

namespace yolk::train {
namespace {

template <class Parts>
void go_on_from(const std::optional<Checkpoint>& from, Parts& parts) {
    if (!from) return;
    parts.initial = from->parameters;
    parts.optimizer_state = from->optimizer_state;
    parts.generation = from->generation;
}

template <class Parts>
void fill_in(const TaskSetup& setup, const TrainOptions& options, const std::optional<Checkpoint>& from, Parts& parts) {
    parts.parameters = setup.parameters;
    parts.initial = setup.initial;
    parts.digest = true;
    parts.keep_weights = options.log && !options.out.empty();
    if (options.hash_every != 1) parts.host_elements.emplace();  // none: Run asks for the state where it is due
    if (options.pairs_per_slice) parts.config.es_update = EsUpdateConfig{.pairs_per_slice = *options.pairs_per_slice};
    go_on_from(from, parts);
}

/// Environments are dealt out to the devices once; where one is dropped, its own rest.
void play_on_host(const TaskSetup& setup, const TrainOptions& options, std::size_t devices, evolve::PoolParts& parts) {
    const HostEnvironments& all = options.host_environments;
    parts.members =
        [task = *setup.host, all, devices, population = options.evolution.population, next = std::size_t{0}](
            const Device* device, Dispatcher* dispatcher) mutable -> Result<std::unique_ptr<evolve::MemberEvaluator>> {
        HostEnvironments own;
        for (std::size_t i = next; i < all.size(); i += devices) own.push_back(all[i]);
        ++next;
        YOLK_TRY(auto players, HostPlayers::create(*device, *dispatcher, std::move(own), task));
        return host_players_members(std::move(players), task.episodes, population, kTrainingEpisodes);
    };
    const std::size_t each = std::max<std::size_t>(1, all.size() / devices);
    parts.chunk = static_cast<std::uint32_t>(
        std::min<std::size_t>(all.front()->info().lanes * each, options.evolution.population));
    // Scored after each step, by run_policy_on_host().
    parts.policy = {};
}

evolve::PoolParts pool_parts(const TaskSetup& setup, const TrainOptions& options, const std::optional<Checkpoint>& from,
                             bool checks, std::size_t devices) {
    evolve::PoolParts parts;
    fill_in(setup, options, from, parts);
    if (setup.host) {
        play_on_host(setup, options, devices, parts);
        return parts;
    }
    parts.members = [desc = setup.population](
                        const Device* device,
                        Dispatcher* dispatcher) -> Result<std::unique_ptr<evolve::MemberEvaluator>> {
        return evolve::rollout_members(*device, *dispatcher, desc, desc.members, kTrainingEpisodes);
    };
    if (checks) {
        parts.policy = [desc = setup.checks](const Device& device) {
            return evolve::rollout_evaluator(device, desc, kCheckEpisodes);
        };
    }
    // An environment of one's own has no twin: it is GLSL alone.
    if (!options.own_environment) parts.judge = evolve::rollout_twin_members(setup.population, kTrainingEpisodes);
    return parts;
}

}  // namespace

Result<RunDevices> RunDevices::create(std::span<const Device> devices, evolve::Exchange* exchange,
                                      const TrainOptions& options) {
    RunDevices made;
    made.devices_.assign(devices.begin(), devices.end());
    made.exchange_ = exchange;
    const bool has_ranks = exchange != nullptr && exchange->ranks() > 1;
    if (const std::size_t own = options.host_environments.size(); own > 0 && own < devices.size()) {
        return bad_input(
            "There are {} devices and {} environment{} on the host; each device needs one of its own, and two to work "
            "in turns.",
            devices.size(), own, own == 1 ? "" : "s");
    }
    if (devices.size() == 1 && options.audit == 0.0 && !has_ranks && options.host_environments.empty()) {
        YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(devices.front(), {.hang_limit = options.hang_limit}));
        made.single_ = std::make_unique<Dispatcher>(std::move(dispatcher));
        return made;
    }
    YOLK_TRY(evolve::DevicePool pool, evolve::DevicePool::create(devices, {.hang_limit = options.hang_limit,
                                                                           .determinism = options.evolution.determinism,
                                                                           .audit = options.audit,
                                                                           .audits_alone = options.audits_alone,
                                                                           .seed = options.evolution.seed}));
    made.pool_ = std::move(pool);
    return made;
}

Result<std::size_t> RunDevices::lead() const { return pool_ ? pool_->lead() : Result<std::size_t>(0); }
Dispatcher& RunDevices::dispatcher(std::size_t index) { return pool_ ? pool_->dispatcher(index) : *single_; }

Result<evolve::Evolution> RunDevices::create_evolution(const TaskSetup& setup, const TrainOptions& options,
                                                       const std::optional<Checkpoint>& from) {
    if (pool_) {
        evolve::Devices devices(*pool_);
        if (exchange_ != nullptr) devices = devices.with(*exchange_);
        // The checks are rank 0's, which decides when to stop.
        const bool checks = exchange_ == nullptr || exchange_->rank() == 0;
        return evolve::Evolution::create(devices, pool_parts(setup, options, from, checks, devices_.size()),
                                         options.evolution);
    }
    evolve::EvolutionParts parts;
    fill_in(setup, options, from, parts);
    const Device& device = devices_.front();
    YOLK_TRY(parts.evaluator, evolve::rollout_evaluator(device, setup.population, kTrainingEpisodes));
    YOLK_TRY(parts.policy_evaluator, evolve::rollout_evaluator(device, setup.checks, kCheckEpisodes));
    return evolve::Evolution::create(device, *single_, std::move(parts), options.evolution);
}

Result<PolicyRunner> RunDevices::create_runner(const RolloutDesc& desc) {
    YOLK_TRY(const std::size_t index, lead());
    return PolicyRunner::create(devices_[index], dispatcher(index), desc);
}

Result<std::vector<float>> RunDevices::run_policy(PolicyRunner& runner, const RolloutDesc& desc,
                                                  std::span<const float> parameters, std::uint64_t seed,
                                                  std::uint32_t generation) {
    Result<std::vector<float>> returns = runner.run(parameters, seed, generation, kFinalEpisodes);
    while (!returns && pool_ && evolve::is_of_device(returns.error())) {
        YOLK_TRY(const std::size_t index, lead());
        // The runner's device may have been dropped already: then another one leads by now, and deserves a try.
        Result<PolicyRunner> other = PolicyRunner::create(devices_[index], dispatcher(index), desc);
        returns = other ? other->run(parameters, seed, generation, kFinalEpisodes) : other.error();
        if (!returns && evolve::is_of_device(returns.error())) pool_->drop(index, returns.error().message);
    }
    return returns;
}

Result<HostPlayers*> RunDevices::players_on(std::size_t device, const TaskSetup& setup, const TrainOptions& options) {
    if (!players_ || players_device_ != device) {
        players_.reset();
        YOLK_TRY(players_, HostPlayers::create(pool_->device(device), pool_->dispatcher(device),
                                               options.host_environments, *setup.host));
        players_device_ = device;
    }
    return players_.get();
}

Result<std::vector<float>> RunDevices::run_policy_on_host(const TaskSetup& setup, const TrainOptions& options,
                                                          std::span<const float> parameters, std::uint32_t generation,
                                                          std::uint32_t first_episode, std::uint32_t count) {
    std::vector<float> returns(count);
    const auto play = [&](std::size_t device) -> Result<void> {
        YOLK_TRY(HostPlayers* const players, players_on(device, setup, options));
        YOLK_TRY_VOID(players->set_parameters(parameters));
        return players->play_mean({.seed = options.evolution.seed, .generation = generation}, first_episode, returns);
    };
    while (true) {
        YOLK_TRY(const std::size_t device, lead());
        const Result<void> played = play(device);
        if (played) return returns;
        if (!evolve::is_of_device(played.error())) return played.error();
        players_.reset();
        pool_->drop(device, played.error().message);
    }
}

std::vector<Device> RunDevices::in_use() const {
    if (!pool_) return devices_;
    std::vector<Device> used;
    for (std::size_t i = 0; i < pool_->device_count(); ++i) {
        if (pool_->is_used(i)) used.push_back(pool_->device(i));
    }
    return used;
}

OperationCounts RunDevices::counts() const {
    OperationCounts sum = devices_.front().counts();
    for (const Device& device : std::span(devices_).subspan(1)) sum = sum + device.counts();
    return sum;
}

}  // namespace yolk::train
