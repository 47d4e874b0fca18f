// SPDX-License-Identifier: Apache-2.0
#include "host_player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "yolk/internal/evolve/device_pool.hpp"

namespace yolk::train {

HostPlayer::HostPlayer(std::shared_ptr<HostEnvironment> environment, std::unique_ptr<evolve::MemberPolicies> policies,
                       const HostTask& task)
    : environment_(std::move(environment)),
      policies_(std::move(policies)),
      max_steps_(task.max_steps),
      outputs_(environment_->info().actions.outputs()),
      squashed_(task.squashed) {
    const HostEnvironmentInfo& info = environment_->info();
    observations_.resize(std::size_t{info.lanes} * info.observation_count);
    actions_.resize(std::size_t{info.lanes} * info.actions.values());
    rewards_.resize(info.lanes);
    live_.resize(info.lanes);
    terminated_.resize(info.lanes);
    truncated_.resize(info.lanes);
    totals_.resize(info.lanes);
}

Result<std::unique_ptr<HostPlayer>> HostPlayer::create(const Device& device, Dispatcher& dispatcher,
                                                       const BufferView& parameters,
                                                       std::shared_ptr<HostEnvironment> environment,
                                                       const HostTask& task) {
    evolve::MemberPoliciesDesc desc = task.policies;
    desc.members = environment->info().lanes;
    YOLK_TRY(auto policies,
             evolve::MemberPolicies::create(device, dispatcher, task.parameters, parameters, std::move(desc)));
    return std::unique_ptr<HostPlayer>(new HostPlayer(std::move(environment), std::move(policies), task));
}

Error HostPlayer::told(Error error) const {
    // Another device would not help.
    if (evolve::is_of_device(error)) error.kind = ErrorKind::Failed;
    const std::string who = of_mean_ ? std::string("the unperturbed policy")
                                     : fmt::format("members {} to {}", first_member_, first_member_ + count_ - 1);
    const std::string when = step_ == 0 ? std::string("at its reset") : fmt::format("in step {}", step_);
    error.message = fmt::format("The environment '{}' failed {} with {}, generation {}: {}", environment_->info().name,
                                when, who, generation_, error.message);
    return error;
}

/// A policy of what is not a number would act at random, on every device differently.
Result<void> HostPlayer::check_observations() const {
    const std::size_t size = environment_->info().observation_count;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
        const std::size_t lane = i / size;
        if (std::isfinite(observations_[i]) || live_[lane] == 0) continue;
        const std::string who =
            of_mean_ ? std::string("the unperturbed policy") : fmt::format("member {}", first_member_ + lane);
        return told(
            failed_work("observation {} of {} is {}; a finite number is needed.", i % size, who, observations_[i]));
    }
    return {};
}

Result<void> HostPlayer::reset(const HostBatch& batch) {
    count_ = static_cast<std::uint32_t>(batch.seeds.size());
    first_member_ = batch.first_member;
    step_ = 0;
    seeds_ = batch.seeds;
    seeds_.resize(lanes(), seeds_.back());
    for (std::uint32_t lane = 0; lane < lanes(); ++lane) live_[lane] = lane < count_ ? 1 : 0;
    std::ranges::fill(totals_, 0.0);
    // What it does not write is noticed.
    std::ranges::fill(observations_, std::nanf(""));
    if (auto done = environment_->reset(seeds_, observations_); !done) return told(std::move(done).error());
    return check_observations();
}

Result<void> HostPlayer::act() {
    std::ranges::copy(observations_, policies_->observations().begin());
    // What a lane saw last may be anything.
    const std::size_t size = environment_->info().observation_count;
    for (std::uint32_t lane = 0; lane < lanes(); ++lane) {
        if (live_[lane] == 0) std::ranges::fill(policies_->observations().subspan(lane * size, size), 0.0F);
    }
    YOLK_TRY_VOID(policies_->submit());
    YOLK_TRY(const std::span<const float> outputs, policies_->outputs());
    const HostActions& actions = environment_->info().actions;
    const std::size_t values = actions.values();
    for (std::size_t lane = 0; lane < lanes(); ++lane)
        host_action(actions, outputs.subspan(lane * outputs_, outputs_),
                    std::span(actions_).subspan(lane * values, values), squashed_);
    return {};
}

Result<void> HostPlayer::step() {
    ++step_;
    std::ranges::fill(observations_, std::nanf(""));
    std::ranges::fill(rewards_, std::nanf(""));
    std::ranges::fill(terminated_, std::uint8_t{0});
    std::ranges::fill(truncated_, std::uint8_t{0});
    auto done = environment_->step({.actions = actions_,
                                    .live = live_,
                                    .observations = observations_,
                                    .rewards = rewards_,
                                    .terminated = terminated_,
                                    .truncated = truncated_});
    if (!done) return told(std::move(done).error());
    count_rewards();
    return check_observations();
}

/// A reward that is not finite makes a score that is not, which the run takes for the worst.
void HostPlayer::count_rewards() {
    for (std::uint32_t lane = 0; lane < count_; ++lane) {
        if (live_[lane] == 0) continue;
        totals_[lane] += static_cast<double>(rewards_[lane]);
        if (terminated_[lane] != 0 || truncated_[lane] != 0 || step_ == max_steps_) live_[lane] = 0;
    }
}

Result<std::uint64_t> HostPlayer::play(const NoiseContext& when, const HostBatch& batch) {
    of_mean_ = when.sigma == 0.0F;
    generation_ = when.generation;
    YOLK_TRY_VOID(policies_->begin(when, batch.first_member));
    YOLK_TRY_VOID(reset(batch));
    std::uint64_t evaluations = 0;
    for (std::ptrdiff_t left = count_; left > 0; left = std::ranges::count(live_, std::uint8_t{1})) {
        evaluations += static_cast<std::uint64_t>(left);
        YOLK_TRY_VOID(act());
        YOLK_TRY_VOID(step());
    }
    std::ranges::transform(std::span(totals_).first(count_), batch.returns,
                           [](double total) { return static_cast<float>(total); });
    return evaluations;
}

}  // namespace yolk::train
