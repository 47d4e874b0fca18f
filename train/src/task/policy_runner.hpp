// SPDX-License-Identifier: Apache-2.0
// Runs an unperturbed policy for its returns, outside of training.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "yolk/dispatcher.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

namespace yolk::train {

/// Everything that can be refused is refused by create(), so that a run knows before training that its end will work.
class PolicyRunner {
   public:
    /// `desc` with mean_only. `device` and `dispatcher` must outlive it.
    [[nodiscard]] static Result<PolicyRunner> create(const Device& device, Dispatcher& dispatcher,
                                                     const RolloutDesc& desc);
    /// Returns of the episodes from first_episode on, all of the description or so many; resets are those of (seed,
    /// generation, episode).
    [[nodiscard]] Result<std::vector<float>> run(std::span<const float> parameters, std::uint64_t seed,
                                                 std::uint32_t generation, std::uint32_t first_episode,
                                                 std::uint32_t episodes = 0);

   private:
    PolicyRunner(Dispatcher& dispatcher, RolloutPlan plan, Recorder recorder)
        : dispatcher_(&dispatcher), plan_(std::move(plan)), recorder_(std::move(recorder)) {}
    Dispatcher* dispatcher_;
    std::uint32_t episodes_ = 0;
    Buffer parameters_, returns_, evaluations_, scratch_;
    RolloutPlan plan_;
    Recorder recorder_;
};

struct ReturnStatistics {
    double mean = 0.0, deviation = 0.0;
    /// Of the finite ones; NaN where none is.
    double worst = std::numeric_limits<double>::quiet_NaN(), best = std::numeric_limits<double>::quiet_NaN();
    std::uint32_t not_finite = 0;
};
/// Population standard deviation; it and the mean are of all, and not finite where one is not. `returns` is not empty.
[[nodiscard]] ReturnStatistics statistics_of(std::span<const float> returns);

}  // namespace yolk::train
