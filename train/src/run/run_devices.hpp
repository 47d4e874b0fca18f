// SPDX-License-Identifier: Apache-2.0
// The devices of a run: one, which makes everything in one submission per generation, or a pool.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint.hpp"
#include "policy_runner.hpp"
#include "task_setup.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/device_pool.hpp"

namespace yolk::train {

/// Owns the dispatchers. What is made from it must not outlive it.
class RunDevices {
   public:
    /// Errors: no devices, an audit with one; a single device is checked by what is made on it, several by the pool.
    [[nodiscard]] static Result<RunDevices> create(std::span<const Device> devices, evolve::Exchange* exchange,
                                                   const TrainOptions& options);

    [[nodiscard]] Result<evolve::Evolution> create_evolution(const TaskSetup& setup, const TrainOptions& options,
                                                             const std::optional<Checkpoint>& from);
    [[nodiscard]] Result<PolicyRunner> create_runner(const RolloutDesc& desc);
    /// Runs the finished policy: by `runner`, or by another one where the runner's device is lost by now.
    [[nodiscard]] Result<std::vector<float>> run_policy(PolicyRunner& runner, const RolloutDesc& desc,
                                                        std::span<const float> parameters, std::uint64_t seed,
                                                        std::uint32_t generation);

    /// The unperturbed policy in the environments on the host, in episodes [first_episode, first_episode + count): on
    /// the device that leads, or the next where that is lost.
    [[nodiscard]] Result<std::vector<float>> run_policy_on_host(const TaskSetup& setup, const TrainOptions& options,
                                                                std::span<const float> parameters,
                                                                std::uint32_t generation, std::uint32_t first_episode,
                                                                std::uint32_t count);

    [[nodiscard]] const std::vector<Device>& devices() const noexcept { return devices_; }
    [[nodiscard]] std::vector<Device> in_use() const;  ///< those that were not dropped
    [[nodiscard]] std::string losses() const { return pool_ ? pool_->losses() : std::string(); }
    [[nodiscard]] OperationCounts counts() const;

   private:
    RunDevices() = default;
    [[nodiscard]] Result<std::size_t> lead() const;
    [[nodiscard]] Result<HostPlayers*> players_on(std::size_t device, const TaskSetup& setup,
                                                  const TrainOptions& options);
    [[nodiscard]] Dispatcher& dispatcher(std::size_t index);

    std::vector<Device> devices_;
    evolve::Exchange* exchange_ = nullptr;    // where there are other ranks
    std::unique_ptr<Dispatcher> single_;      // where there is no pool
    std::optional<evolve::DevicePool> pool_;  // where there are several devices, or environments on the host
    std::unique_ptr<HostPlayers> players_;    // of the unperturbed policy, on the device that led last
    std::size_t players_device_ = 0;
};

}  // namespace yolk::train
