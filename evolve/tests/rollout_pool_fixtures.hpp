// SPDX-License-Identifier: Apache-2.0
// Small runs of roll-outs over pools of devices and host workers, beside the same run on one device.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fixtures.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/device_pool.hpp"
#include "yolk/internal/evolve/member_evaluator.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {

constexpr std::uint32_t kPooled = 64;
constexpr int kPoolGenerations = 3;

inline PolicyNetwork pooled_network() { return {.widths = {4, 5, 2}}; }

inline EvolutionOptions pooled_options() { return {.population = kPooled, .sigma = 0.3F, .seed = 11}; }

inline RolloutDesc pooled_rollout(const ParameterTable& table, bool mean_only) {
    RolloutDesc desc{.network = pooled_network(), .parameters = table, .members = kPooled, .max_steps = 30};
    desc.mean_only = mean_only;
    if (mean_only) desc.episodes = 4;
    return desc;
}

/// A run's parts on any workers.
inline PoolParts pooled_parts(const EvolutionOptions& options) {
    PoolParts parts;
    parts.parameters = *trained_parameters(*ParameterTable::create(pooled_network().parameters()), options);
    parts.initial = initial_parameters(parts.parameters, options.seed);
    const ParameterTable table = parts.parameters;
    parts.members = [table](const Device* device, Dispatcher* dispatcher) -> Result<std::unique_ptr<MemberEvaluator>> {
        if (device == nullptr) return rollout_twin_members(pooled_rollout(table, false));
        return rollout_members(*device, *dispatcher, pooled_rollout(table, false), kPooled / 2);
    };
    parts.policy = [table](const Device& device) { return rollout_evaluator(device, pooled_rollout(table, true), 7); };
    parts.judge = rollout_twin_members(pooled_rollout(table, false));
    parts.digest = true;
    parts.keep_weights = true;
    return parts;
}

struct Trail {
    std::vector<std::string> hashes;
    std::vector<std::optional<float>> policy_means;
    std::vector<std::uint64_t> evaluations;
    friend bool operator==(const Trail& left, const Trail& right) = default;
};

/// What each generation came to; one that was made again after an audit counts once.
inline Result<Trail> follow(Evolution& run, int generations = kPoolGenerations) {
    Trail trail;
    while (run.generations() < static_cast<std::uint32_t>(generations)) {
        YOLK_TRY(const GenerationSummary summary, run.step());
        trail.hashes.resize(summary.generation);
        trail.policy_means.resize(summary.generation);
        trail.evaluations.resize(summary.generation);
        YOLK_TRY(trail.hashes.emplace_back(), run.state_hash());
        trail.policy_means.push_back(summary.policy_mean);
        trail.evaluations.push_back(summary.evaluations);
    }
    return trail;
}

class RolloutPoolTest : public ::testing::Test {
   protected:
    /// Before any fault injector, which can fail only devices that are made after it.
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
    }
    static const Device& one_device() { return testing::first_device().device; }
    static const Device& another_device() { return testing::other_device().device; }
    /// Of one device, which makes the whole run.
    static Result<Trail> undisturbed(int generations = kPoolGenerations,
                                     const EvolutionOptions& options = pooled_options()) {
        auto& shared = testing::first_device();
        PoolParts given = pooled_parts(options);
        EvolutionParts parts{.parameters = given.parameters, .initial = given.initial};
        YOLK_TRY(parts.evaluator, rollout_evaluator(shared.device, pooled_rollout(given.parameters, false)));
        YOLK_TRY(parts.policy_evaluator, given.policy(shared.device));
        YOLK_TRY(Evolution run, Evolution::create(shared.device, shared.dispatcher, std::move(parts), options));
        return follow(run, generations);
    }
};

/// A worker that scores members of later generations wrongly: one of each pair.
inline std::unique_ptr<MemberEvaluator> spoilt_members(const RolloutDesc& desc, std::uint32_t right_generations) {
    const std::shared_ptr<MemberEvaluator> twin = rollout_twin_members(desc);
    return host_members(
        [twin, right_generations](const HostQuestion& question, std::span<float> returns) -> Result<std::uint64_t> {
            YOLK_TRY_VOID(twin->begin(question.parameters, question.when));
            YOLK_TRY(const std::uint64_t count, twin->evaluate(question.members, returns));
            const bool is_right = question.when.generation < right_generations;
            for (std::size_t i = 0; i < returns.size() && !is_right; i += 2) returns[i] += 1.0F;
            return count;
        });
}

/// A run's parts where workers without a device are wrong from a generation on.
inline PoolParts parts_with_spoilt_hosts(std::uint32_t right_generations) {
    PoolParts parts = pooled_parts(pooled_options());
    const auto right = parts.members;
    const ParameterTable table = parts.parameters;
    parts.members = [=](const Device* device, Dispatcher* dispatcher) {
        return device != nullptr ? right(device, dispatcher)
                                 : Result(spoilt_members(pooled_rollout(table, false), right_generations));
    };
    return parts;
}

/// A device of its own, which faults may take away without the other tests' losing theirs.
inline Result<Device> mortal_device(const std::string& name) {
    YOLK_TRY(const Device device, Device::create(testing::instance(), testing::device_index(name)));
    YOLK_TRY_VOID(probe(device));
    return device;
}

}  // namespace yolk::evolve
