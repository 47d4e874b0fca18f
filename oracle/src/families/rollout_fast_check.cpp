// SPDX-License-Identifier: Apache-2.0
#include "rollout_fast_check.hpp"
#include "yolk/internal/reference/rollout_trace.hpp"

#include <fmt/format.h>

namespace yolk::oracle {
namespace {

/// Whether every right computation of class T takes the twin's action.
bool is_decided(const PolicyOracle& policy, const reference::RolloutStep& step) {
    const std::vector<RolloutValue> outputs = policy.outputs(step.observation);
    const auto action = static_cast<std::size_t>(step.action[0]);
    const RolloutValue& chosen = outputs[action];
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (i == action) continue;
        if (chosen.value - chosen.tolerance <= outputs[i].value + outputs[i].tolerance) return false;
    }
    return true;
}

}  // namespace

FastRollout fast_rollout(const RolloutDesc& desc, std::span<const float> parameters, const NoiseContext& when,
                         const RolloutPart& part) {
    FastRollout expected;
    const std::uint32_t members = desc.mean_only ? 1 : desc.members;
    if (desc.never_stop && desc.environment == "cartpole") {  // each goes on to the end, whatever the policy does
        expected.returns.assign(std::size_t{members} * desc.episodes, {static_cast<double>(desc.max_steps), 0.0});
        expected.least_evaluations = expected.most_evaluations =
            std::uint64_t{members} * desc.episodes * desc.max_steps;
        return expected;
    }
    const bool continuous = find_environment(desc.environment).value_or(EnvironmentInfo{}).actions.continuous;
    for (std::uint32_t episode = 0; episode < desc.episodes; ++episode) {
        for (std::uint32_t member = 0; member < members; ++member) {
            const PolicyOracle policy(desc, parameters, when, part.first_member + member);
            const std::vector<reference::RolloutStep> steps = reference::rollout_trace(
                desc, parameters, when, part.first_member + member, part.first_episode + episode);
            double total = 0.0;
            bool decided = true;
            for (const reference::RolloutStep& step : steps) {
                total += static_cast<double>(step.reward);
                decided = decided && !continuous && is_decided(policy, step);
            }
            // An open episode may be as long as it likes; its rewards are those of the twin's steps. Continuous
            // actions are never the twin's, so that their returns are held to their size only.
            const double each = total / static_cast<double>(steps.size());
            expected.returns.push_back({total, decided ? 0.0 : each * desc.max_steps});
            expected.open += decided || continuous ? 0 : 1;
            expected.least_evaluations += decided ? steps.size() : 1;
            expected.most_evaluations += decided ? steps.size() : desc.max_steps;
        }
    }
    return expected;
}

void verify_fast_rollout(CheckReport& report, const std::string& name, const FastRollout& expected,
                         std::uint64_t evaluations) {
    if (evaluations < expected.least_evaluations || evaluations > expected.most_evaluations) {
        report.fail(fmt::format("{}: {} evaluations were counted; {} to {} are right.", name, evaluations,
                                expected.least_evaluations, expected.most_evaluations));
    }
    if (2 * std::size_t{expected.open} <= expected.returns.size()) return;
    report.fail(fmt::format("{}: {} of {} episodes have a decision on a knife's edge, so their returns say nothing.",
                            name, expected.open, expected.returns.size()));
}

}  // namespace yolk::oracle
