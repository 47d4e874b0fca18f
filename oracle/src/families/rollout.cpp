// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "check_tools.hpp"
#include "philox_oracle.hpp"
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

struct RolloutCase {
    const char* what;
    std::vector<std::uint32_t> hidden;  // widths between the environment's
    std::uint32_t members = 1;
    std::uint32_t episodes = 1;
    std::uint32_t max_steps = 0;
    std::uint32_t rank = 1;
    std::uint32_t frozen = 0;  // bit p: parameter p
    bool mean_only = false;
    bool never_stop = false;
    bool antithetic = true;
    RolloutPart part{};
    Determinism determinism = Determinism::Exact;
};

// One member, one step, primes, one around a workgroup of 32; every depth; the ends of the ranks; every way to freeze;
// never_stop for 200 steps, which no device makes in one dispatch (kMaxStepsPerDispatch).
std::vector<RolloutCase> rollout_cases() {
    return {
        {.what = "default network", .hidden = {64}, .members = 33, .max_steps = 40},
        {.what = "no hidden layer", .hidden = {}, .members = 1, .max_steps = 1, .rank = 2},
        {.what = "one hidden unit",
         .hidden = {1},
         .members = 2,
         .episodes = 3,
         .max_steps = 500,
         .part = {.first_episode = 7}},
        {.what = "three layers", .hidden = {7, 5}, .members = 31, .episodes = 2, .max_steps = 17, .rank = 3},
        {.what = "four layers", .hidden = {3, 5, 7}, .members = 13, .max_steps = 11, .rank = 2},
        {.what = "widest layer", .hidden = {256}, .members = 3, .max_steps = 3},
        {.what = "fast, widest layer", .hidden = {256}, .members = 6, .max_steps = 7, .determinism = Determinism::Fast},
        {.what = "largest rank", .hidden = {11}, .members = 5, .max_steps = 7, .rank = 32},
        {.what = "frozen matrix", .hidden = {8}, .members = 7, .max_steps = 13, .rank = 4, .frozen = 0b0001},
        {.what = "frozen vectors", .hidden = {9}, .members = 32, .max_steps = 13, .frozen = 0b1010},
        {.what = "all frozen", .hidden = {5}, .members = 3, .max_steps = 19, .rank = 5, .frozen = 0b1111},
        {.what = "the mean", .hidden = {17}, .episodes = 37, .max_steps = 29, .rank = 3, .mean_only = true},
        {.what = "never stops", .hidden = {3}, .members = 9, .max_steps = 200, .never_stop = true},
        {.what = "members of their own", .hidden = {6}, .members = 5, .max_steps = 19, .rank = 2, .antithetic = false},
        {.what = "some of the members",
         .hidden = {9},
         .members = 7,
         .episodes = 2,
         .max_steps = 15,
         .rank = 3,
         .part = {.first_episode = 1, .first_member = 1000000}},
        {.what = "fast", .hidden = {64}, .members = 34, .max_steps = 40, .determinism = Determinism::Fast},
        {.what = "fast, three layers",
         .hidden = {7, 5},
         .members = 31,
         .episodes = 2,
         .max_steps = 17,
         .rank = 3,
         .frozen = 0b1001,
         .determinism = Determinism::Fast},
    };
}

// States after each step: the default network, and one with members of their own whose episodes start again.
std::vector<RolloutCase> cases_by_steps() {
    return {
        {.what = "default network, by steps", .hidden = {64}, .members = 256, .max_steps = 32},
        {.what = "never stops, by steps",
         .hidden = {7, 5},
         .members = 256,
         .max_steps = 32,
         .rank = 2,
         .never_stop = true,
         .antithetic = false},
    };
}

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
    for (std::size_t i = 5; i < parameters.size(); i += 7) parameters[i] = kEdges[i / 7 % kEdges.size()];
    return parameters;
}

// Trajectories in fp32 and double part ways at the first decision on a knife's edge. So each step is held on its own,
// from the twin's state, which for the device's returns to be right (they equal the twin's bits) must be the device's.
void verify_step(CheckReport& report, const std::string& name, const EnvironmentOracle& environment,
                 const PolicyOracle& policy, const reference::RolloutStep& step) {
    const std::vector<RolloutValue> outputs = policy.outputs(step.observation);
    verify_rollout_values(report, name + ", outputs", step.outputs, outputs);
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
        if (i == 0 || steps[i - 1].terminated)
            verify_rollout_values(report, step_name + ", reset", steps[i].state, start);
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
        const auto& widths = desc().network.widths;
        for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
            const double inputs = widths[layer];
            const double outputs = widths[layer + 1];
            products += inputs * outputs + (inputs + outputs) * desc().rank;
        }
        const double episodes = static_cast<double>(rows()) * desc().episodes;
        return {.operations = 2.0 * products * episodes * desc().max_steps,
                .bytes = static_cast<double>(desc().parameters.size_bytes()) + 4.0 * episodes};
    }
    void verify(CheckReport& report, const std::string& case_name,
                std::span<const std::vector<std::uint32_t>> outputs) const override {
        const auto& counters = outputs[1];
        const std::uint64_t evaluations = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
        if (is_fast()) {
            return verify_fast_rollout(report, case_name, fast_rollout(desc(), parameters_, kWhen, argument<1>().value),
                                       evaluations);
        }
        const HostMemory made = made_by_twin();
        const auto counted = made.in<std::uint32_t>(2);
        const std::uint64_t right = std::accumulate(counted.begin(), counted.end(), std::uint64_t{0});
        if (evaluations != right)
            report.fail(fmt::format("{}: {} evaluations were counted, not {}.", case_name, evaluations, right));
        verify_trajectories(report, case_name, desc(), argument<1>().value, parameters_, made.in<float>(1));
    }

   private:
    [[nodiscard]] bool is_fast() const { return desc().determinism == Determinism::Fast; }
    [[nodiscard]] std::uint32_t rows() const { return desc().mean_only ? 1 : desc().members; }

    std::vector<float> parameters_;
};

std::unique_ptr<Problem> rollout_problem(const RolloutCase& c, std::uint64_t seed) {
    return std::make_unique<RolloutProblem>(describe(c), c.what, c.part, seed);
}

Problems rollout_cases(std::uint64_t seed) {
    Problems problems;
    for (const RolloutCase& c : rollout_cases()) problems.push_back(rollout_problem(c, seed));
    for (const RolloutCase& c : cases_by_steps()) {
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
