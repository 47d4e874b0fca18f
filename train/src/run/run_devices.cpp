// SPDX-License-Identifier: Apache-2.0
#include "run_devices.hpp"

#include <algorithm>

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

evolve::PoolParts pool_parts(const TaskSetup& setup, const TrainOptions& options, const std::optional<Checkpoint>& from,
                             bool checks) {
    evolve::PoolParts parts;
    fill_in(setup, options, from, parts);
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
    if (devices.size() == 1 && options.audit == 0.0 && !has_ranks) {
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
        return evolve::Evolution::create(devices, pool_parts(setup, options, from, checks), options.evolution);
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
