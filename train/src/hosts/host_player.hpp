// SPDX-License-Identifier: Apache-2.0
// One environment on the host, and the policies of a member per lane.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "host_players.hpp"

namespace yolk::train {

/// One thread at a time.
class HostPlayer {
   public:
    [[nodiscard]] static Result<std::unique_ptr<HostPlayer>> create(const Device& device, Dispatcher& dispatcher,
                                                                    const BufferView& parameters,
                                                                    std::shared_ptr<HostEnvironment> environment,
                                                                    const HostTask& task);
    [[nodiscard]] std::uint32_t lanes() const noexcept { return environment_->info().lanes; }
    [[nodiscard]] Result<std::uint64_t> play(const NoiseContext& when, const HostBatch& batch);

   private:
    HostPlayer(std::shared_ptr<HostEnvironment> environment, std::unique_ptr<evolve::MemberPolicies> policies,
               const HostTask& task);
    [[nodiscard]] Result<void> reset(const HostBatch& batch);
    [[nodiscard]] Result<void> act();
    [[nodiscard]] Result<void> step();
    void count_rewards();
    [[nodiscard]] Result<void> check_observations() const;
    /// An error of the environment's, with where it happened.
    [[nodiscard]] Error told(Error error) const;

    std::shared_ptr<HostEnvironment> environment_;
    std::unique_ptr<evolve::MemberPolicies> policies_;
    std::uint32_t max_steps_, outputs_;
    bool squashed_;
    // By lane.
    std::vector<float> observations_, actions_, rewards_;
    std::vector<std::uint8_t> live_, terminated_, truncated_;
    std::vector<std::uint32_t> seeds_;
    std::vector<double> totals_;
    // Of the batch.
    std::uint32_t first_member_ = 0, count_ = 0, generation_ = 0, step_ = 0;
    bool of_mean_ = false;
};

}  // namespace yolk::train
