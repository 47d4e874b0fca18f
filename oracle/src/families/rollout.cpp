// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "check_tools.hpp"
#include "philox_oracle.hpp"
#include "rollout_cases.hpp"
#include "rollout_fast_check.hpp"
#include "rollout_oracle.hpp"
#include "rollout_steps_check.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"
#include "yolk/internal/reference/rollout_trace.hpp"
#include "yolk/rollout.hpp"

namespace yolk::oracle {

namespace {

constexpr NoiseContext kWhen{.seed = 0x9E3779B97F4A7C15U, .generation = 11, .time = 5, .sigma = 0.3F};

RolloutDesc describe(const RolloutCase& c) {
    RolloutDesc desc{.members = c.members,
                     .episodes = c.episodes,
                     .max_steps = c.max_steps,
                     .rank = c.rank,
                     .antithetic = c.antithetic,
                     .mean_only = c.mean_only,
                     .never_stop = c.never_stop,
                     .determinism = c.determinism};
    desc.network.widths = {4};
    desc.network.widths.insert(desc.network.widths.end(), c.hidden.begin(), c.hidden.end());
    desc.network.widths.push_back(2);
    desc.network.normalized = c.normalized;
    desc.network.recurrent = c.recurrent;
    std::vector<ParameterDesc> parameters = desc.network.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        if ((c.frozen >> p & 1U) != 0) parameters[p].perturbation = Perturbation::Frozen;
    }
    desc.parameters = *ParameterTable::create(std::move(parameters));
    return desc;
}

// Uniform, with a zero of either sign, a denormal number and values on both sides of the operand rule's floor in
// between.
std::vector<float> draw_parameters(std::uint64_t seed, const RolloutDesc& desc) {
    constexpr std::array<float, 5> kEdges{0.0F, -0.0F, 0x1p-140F, 0x1p-41F, -0x1p-40F};
    Draws draws(seed, 1);
    std::vector<float> parameters = draws.uniforms(desc.parameters.element_count(), -0.7F, 0.7F);
    const std::size_t layers = desc.network.layer_elements();
    for (std::size_t i = 5; i < layers; i += 7) parameters[i] = kEdges[i / 7 % kEdges.size()];
    if (!desc.network.normalized) return parameters;
    // Scales around 1, one of which clips what is not near its shift.
    const std::size_t values = desc.network.widths.front();
    for (std::size_t i = 0; i < values; ++i) parameters[layers + values + i] += 1.0F;
    parameters[layers + values] = 512.0F;
    return parameters;
}

/// Of values of 32 bits, the low ones first.
double joined(std::span<const std::uint32_t> words) {
    double sum = 0.0;
    for (std::size_t i = words.size(); i > 0; --i) sum = sum * 0x1p32 + words[i - 1];
    return sum;
}

/// One member's counts of its observations, in double: steps of 2^-16 above -2^15, each at most one step off.
void verify_counts(CheckReport& report, const std::string& name, const RolloutDesc& desc,
                   std::span<const float> parameters, std::uint32_t member, const RolloutPart& part,
                   std::span<const std::uint32_t> counted) {
    for (std::size_t value = 0; value < desc.network.widths.front(); ++value) {
        double count = 0.0, sum = 0.0, squares = 0.0;
        for (std::uint32_t episode = 0; episode < desc.episodes; ++episode) {
            for (const reference::RolloutStep& step :
                 reference::rollout_trace(desc, parameters, kWhen, member, part.first_episode + episode)) {
                const double steps = (static_cast<double>(step.observation[value]) + 0x1p15) * 0x1p16;
                count += 1.0;
                sum += steps;
                squares += steps * steps;
            }
        }
        const auto words = counted.subspan(value * kObservationCounts, kObservationCounts);
        // Sums of doubles of at most 2^64 round by a part in 2^52 each; (s + 1)^2 - s^2 is at most 2^33.
        const bool is_right = words[0] == static_cast<std::uint32_t>(count) &&
                              std::abs(joined(words.subspan(1, 2)) - sum) <= count * 1.01 &&
                              std::abs(joined(words.subspan(3, 3)) - squares) <= count * 0x1.01p33;
        if (is_right) continue;
        report.fail(
            fmt::format("{}: member {} counted {} of value {}, with sums {:.17g} and {:.17g}; {}, {:.17g} and "
                        "{:.17g} are right.",
                        name, member, words[0], value, joined(words.subspan(1, 2)), joined(words.subspan(3, 3)), count,
                        sum, squares));
    }
}

// Trajectories in fp32 and double part ways at the first decision on a knife's edge. So each step is held on its own,
// from the twin's state, which for the device's returns to be right (they equal the twin's bits) must be the device's.
void verify_step(CheckReport& report, const std::string& name, const EnvironmentOracle& environment,
                 const PolicyOracle& policy, const reference::RolloutStep& step) {
    const auto [outputs, memory] = policy.step(step.observation, given_values(step.memory));
    verify_rollout_values(report, name + ", outputs", step.outputs, outputs);
    verify_rollout_values(report, name + ", memory", step.next_memory, memory);
    const ActionSpace space = find_environment(environment.name).value_or(EnvironmentInfo{}).actions;
    if (space.continuous) {
        verify_rollout_values(report, name + ", action", step.action, continuous_actions(space, outputs));
    } else {
        verify_rollout_action(report, name, static_cast<std::uint32_t>(step.action[0]), outputs);
    }
    verify_rollout_values(report, name + ", observation", step.observation, environment.observe(step.state));
    const std::vector<RolloutValue> next = environment.step(step.state, step.action);
    verify_rollout_values(report, name + ", state", step.next_state, next);
    const double margin = environment.margin(next);
    if (step.terminated ? margin > 1.0 : margin < -1.0) {
        report.fail(fmt::format("{}: the episode {} {:.3g} tolerances inside its limits.", name,
                                step.terminated ? "ended" : "went on", margin));
    }
    const RolloutValue reward = environment.reward(step.state, step.action, step.terminated);
    verify_rollout_values(report, name + ", reward", {&step.reward, 1}, {&reward, 1});
}

void verify_episode(CheckReport& report, const std::string& name, const RolloutDesc& desc,
                    std::span<const float> parameters, std::uint32_t member, std::uint32_t episode, float expected) {
    const EnvironmentOracle* const environment = find_environment_oracle(desc.environment);
    if (environment == nullptr) return report.fail(fmt::format("{}: no oracle for its environment.", name));
    const std::vector<reference::RolloutStep> steps =
        reference::rollout_trace(desc, parameters, kWhen, member, episode);
    const PolicyOracle policy(desc, parameters, kWhen, member);
    const std::array words = noise_words_oracle(
        {.seed = kWhen.seed, .domain = Domain::Environment, .pair = episode, .time = kWhen.generation}, 0);
    const std::vector<RolloutValue> start = environment->reset(words);
    float total = 0.0F;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string step_name = fmt::format("{}, member {}, episode {}, step {}", name, member, episode, i);
        if (i == 0 || steps[i - 1].terminated) {
            verify_rollout_values(report, step_name + ", reset", steps[i].state, start);
            verify_rollout_values(report, step_name + ", memory at reset", steps[i].memory, policy.start());
        }
        verify_step(report, step_name, *environment, policy, steps[i]);
        total += steps[i].reward;
    }
    if (total == expected) return;
    report.fail(fmt::format("{}: member {} returned {} in episode {}; its steps' rewards sum to {}.", name, member,
                            expected, episode, total));
}

// The first pair and the last member, in the first and last episode.
void verify_trajectories(CheckReport& report, const std::string& name, const RolloutDesc& desc, const RolloutPart& part,
                         std::span<const float> parameters, std::span<const float> returns) {
    const std::uint32_t members = desc.mean_only ? 1 : desc.members;
    for (std::uint32_t member = 0; member < members; ++member) {
        if (member > 1 && member + 1 < members) continue;
        for (std::uint32_t episode = 0; episode < desc.episodes; ++episode) {
            if (episode > 0 && episode + 1 < desc.episodes) continue;
            verify_episode(report, name, desc, parameters, part.first_member + member, part.first_episode + episode,
                           returns[std::size_t{episode} * members + member]);
        }
    }
}

class RolloutProblem final : public OperationProblem<RolloutDesc> {
   public:
    RolloutProblem(const RolloutDesc& desc, std::string what, const RolloutPart& part, std::uint64_t seed)
        : OperationProblem(desc, std::move(what), kWhen, OrDefault<RolloutPart>{part}),
          parameters_(draw_parameters(seed, desc)) {}

    /// A network that is wider than plans write out takes lavapipe a minute where it is written out.
    [[nodiscard]] bool is_quick_to_make(const Configuration& configuration) const override {
        RolloutDesc whole = desc();
        whole.mean_only = false;
        const bool written_out = space_of(DeviceInfo{}, whole).config(configuration).unrolled != 0;
        return !written_out || rollout_config(DeviceInfo{}, whole).unrolled != 0;
    }
    [[nodiscard]] std::vector<ByteVector> contents() const override { return {bytes_of_values(parameters_)}; }
    /// Of the counters only the sum is promised: verify() takes it, and steps one by one to the oracle.
    [[nodiscard]] bool has_twin(std::size_t written) const override { return written == 0 && !is_fast(); }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& /*given*/,
                                                   const HostViews& /*made*/) const override {
        if (!is_fast()) return {};
        return {fast_rollout(desc(), parameters_, kWhen, argument<1>().value).returns};
    }
    /// Of the matrices and their perturbation, where no episode ends early.
    [[nodiscard]] Work work() const override {
        double products = 0.0;
        const auto parameters = desc().parameters.parameters();
        for (std::size_t matrix = 0; matrix < parameters.size(); matrix += 2) {
            const double inputs = parameters[matrix].columns;
            const double outputs = parameters[matrix].rows;
            products += inputs * outputs + (inputs + outputs) * desc().rank;
        }
        const double episodes = static_cast<double>(rows()) * desc().episodes;
        return {.operations = 2.0 * products * episodes * desc().max_steps,
                .bytes = static_cast<double>(desc().parameters.size_bytes()) + 4.0 * episodes};
    }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        const std::span counters = std::span(outputs[1]).first(kEvaluationCounters);
        const std::uint64_t evaluations = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
        if (is_fast()) {
            return verify_fast_rollout(report, case_name, fast_rollout(desc(), parameters_, kWhen, argument<1>().value),
                                       evaluations);
        }
        const HostMemory made = made_by_twin();
        const auto counted = made.in<std::uint32_t>(2);
        const auto counters_of_twin = counted.first(kEvaluationCounters);
        const std::uint64_t right = std::accumulate(counters_of_twin.begin(), counters_of_twin.end(), std::uint64_t{0});
        if (evaluations != right)
            report.fail(fmt::format("{}: {} evaluations were counted, not {}.", case_name, evaluations, right));
        verify_observations(report, case_name, std::span(outputs[1]).subspan(kEvaluationCounters),
                            counted.subspan(kEvaluationCounters));
        verify_trajectories(report, case_name, desc(), argument<1>().value, parameters_, made.in<float>(1));
    }

   private:
    /// What the device counted to the twin's, and the first and last member's to the oracle.
    void verify_observations(CheckReport& report, const std::string& name, std::span<const std::uint32_t> counted,
                             std::span<const std::uint32_t> by_twin) const {
        if (!std::ranges::equal(counted, by_twin))
            return report.fail(fmt::format("{}: the sums of the observations are not the twin's.", name));
        if (counted.empty()) return;
        const std::size_t words = counted.size() / rows();
        const RolloutPart& part = argument<1>().value;
        for (const std::uint32_t member : {0U, rows() - 1})
            verify_counts(report, name, desc(), parameters_, part.first_member + member, part,
                          counted.subspan(member * words, words));
    }
    [[nodiscard]] bool is_fast() const { return desc().determinism == Determinism::Fast; }
    [[nodiscard]] std::uint32_t rows() const { return desc().mean_only ? 1 : desc().members; }

    std::vector<float> parameters_;
};

std::unique_ptr<Problem> rollout_problem(const RolloutCase& c, std::uint64_t seed) {
    return std::make_unique<RolloutProblem>(describe(c), c.what, c.part, seed);
}

Problems rollout_cases(std::uint64_t seed) {
    Problems problems;
    for (const RolloutCase& c : whole_rollouts()) problems.push_back(rollout_problem(c, seed));
    for (const RolloutCase& c : rollouts_by_steps()) {
        const RolloutDesc desc = describe(c);
        problems.push_back(make_rollout_steps_problem(c.what, desc, draw_parameters(seed, desc), kWhen));
    }
    return problems;
}

Problems rollout_benchmarks() {
    Problems problems;
    problems.push_back(
        rollout_problem({.what = "4-64-2", .hidden = {64}, .members = 4096, .max_steps = 200, .never_stop = true}, 42));
    problems.push_back(rollout_problem({.what = "4-64-2, fast",
                                        .hidden = {64},
                                        .members = 4096,
                                        .max_steps = 200,
                                        .never_stop = true,
                                        .determinism = Determinism::Fast},
                                       42));
    return problems;
}

std::unique_ptr<Problem> make_rollout_problem(const RolloutDesc& desc) {
    return std::make_unique<RolloutProblem>(desc, std::string(), RolloutPart{}, 42);
}

/// Of each kind of network and of rank for which GPUs take another kernel.
Problems large_rollouts() {
    const auto problem = [](RolloutCase c) {
        c.members = 65536;
        c.max_steps = 500;
        return rollout_problem(c, 1);
    };
    Problems problems;
    for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
        problems.push_back(problem({.what = "4-64-2", .hidden = {64}, .determinism = determinism}));
        problems.push_back(problem({.what = "4-64-2, rank 4", .hidden = {64}, .rank = 4, .determinism = determinism}));
        problems.push_back(problem({.what = "4-64-64-2", .hidden = {64, 64}, .determinism = determinism}));
    }
    problems.push_back(problem({.what = "members of their own", .hidden = {64}, .antithetic = false}));
    problems.push_back(problem({.what = "the mean", .hidden = {64}, .mean_only = true}));
    return problems;
}

}  // namespace

const Family& rollout_family() noexcept {
    static constexpr Family kFamily{.name = "rollout",
                                    .exactness = "P+T",
                                    .cases = &rollout_cases,
                                    .benchmarks = &rollout_benchmarks,
                                    .configurations_per_case = 1,
                                    .operation = &kOperationText<RolloutDesc, &make_rollout_problem>,
                                    .large = &large_rollouts};
    return kFamily;
}

}  // namespace yolk::oracle
