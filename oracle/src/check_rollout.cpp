// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "check_tools.hpp"
#include "yolk/core/noise.hpp"
#include "yolk/oracle/check.hpp"
#include "yolk/oracle/rollout.hpp"

namespace yolk::oracle {

namespace {

struct Case {
    const char* what;
    std::vector<std::uint32_t> hidden;  // widths between the environment's
    std::uint32_t members = 1;
    std::uint32_t episodes = 1;
    std::uint32_t max_steps = 0;
    std::uint32_t rank = 1;
    std::uint32_t frozen = 0;  // bit p: parameter p
    bool mean_only = false;
    bool never_stop = false;
    std::uint32_t first_episode = 0;
};

// One member, one step, primes, one around a workgroup of 32; every depth; the ends of the ranks; every way to freeze;
// never_stop for 200 steps, which no device makes in one dispatch (kMaxStepsPerDispatch).
std::vector<Case> cases() {
    return {
        {.what = "default network", .hidden = {64}, .members = 33, .max_steps = 40},
        {.what = "no hidden layer", .hidden = {}, .members = 1, .max_steps = 1, .rank = 2},
        {.what = "one hidden unit", .hidden = {1}, .members = 2, .episodes = 3, .max_steps = 500, .first_episode = 7},
        {.what = "three layers", .hidden = {7, 5}, .members = 31, .episodes = 2, .max_steps = 17, .rank = 3},
        {.what = "four layers", .hidden = {3, 5, 7}, .members = 13, .max_steps = 11, .rank = 2},
        {.what = "widest layer", .hidden = {256}, .members = 3, .max_steps = 3},
        {.what = "largest rank", .hidden = {11}, .members = 5, .max_steps = 7, .rank = 32},
        {.what = "frozen matrix", .hidden = {8}, .members = 7, .max_steps = 13, .rank = 4, .frozen = 0b0001},
        {.what = "frozen vectors", .hidden = {9}, .members = 32, .max_steps = 13, .frozen = 0b1010},
        {.what = "all frozen", .hidden = {5}, .members = 3, .max_steps = 19, .rank = 5, .frozen = 0b1111},
        {.what = "the mean", .hidden = {17}, .episodes = 37, .max_steps = 29, .rank = 3, .mean_only = true},
        {.what = "never stops", .hidden = {3}, .members = 9, .max_steps = 200, .never_stop = true},
    };
}

constexpr NoiseTime kWhen{.seed = 0x9E3779B97F4A7C15U, .generation = 11, .time = 5, .sigma = 0.3F};

Result<RolloutDesc> describe(const Case& c, const RolloutConfig& config) {
    RolloutDesc desc{.members = c.members,
                     .episodes = c.episodes,
                     .max_steps = c.max_steps,
                     .rank = c.rank,
                     .mean_only = c.mean_only,
                     .never_stop = c.never_stop,
                     .config = config};
    desc.network.widths = {4};
    desc.network.widths.insert(desc.network.widths.end(), c.hidden.begin(), c.hidden.end());
    desc.network.widths.push_back(2);
    std::vector<ParameterDesc> parameters = desc.network.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        if ((c.frozen >> p & 1U) != 0) parameters[p].perturbation = Perturbation::Frozen;
    }
    YOLK_TRY(desc.parameters, ParameterTable::create(std::move(parameters)));
    return desc;
}

// Uniform, with a zero of either sign, a denormal number and values on both sides of the operand rule's floor in
// between.
std::vector<float> draw_parameters(const CheckContext& context, const RolloutDesc& desc) {
    constexpr std::array<float, 5> kEdges{0.0F, -0.0F, 0x1p-140F, 0x1p-41F, -0x1p-40F};
    Draws draws(context.seed, 1);
    std::vector<float> parameters = draws.uniforms(desc.parameters.element_count(), -0.7F, 0.7F);
    for (std::size_t i = 5; i < parameters.size(); i += 7) parameters[i] = kEdges[i / 7 % kEdges.size()];
    return parameters;
}

std::vector<RolloutConfig> draw_configs(const CheckContext& context) {
    constexpr std::array<std::uint32_t, 5> kWorkgroups{1, 8, 24, 64, 256};
    std::vector<RolloutConfig> configs{RolloutConfig{}};
    Draws draws(context.seed);
    while (configs.size() < context.configurations) {
        configs.push_back({.workgroup_size = draws.one_of(kWorkgroups),
                           .unrolled = draws.below(2) == 1,
                           .private_parameters = draws.below(2) == 1});
    }
    return configs;
}

std::vector<double> as_doubles(std::span<const float> values) { return {values.begin(), values.end()}; }

void hold_values(CheckReport& report, const std::string& name, std::span<const float> got,
                 std::span<const RolloutValue> oracle) {
    std::vector<OracleValue> values;
    for (const RolloutValue& value : oracle) values.push_back({value.value, value.tolerance});
    hold_to_oracle(report, name, as_doubles(got), values);
}

// An action may differ from the oracle's largest output only within the outputs' tolerances.
void hold_action(CheckReport& report, const std::string& name, const RolloutStep& step,
                 std::span<const RolloutValue> outputs) {
    const RolloutValue& chosen = outputs[step.action];
    for (const RolloutValue& other : outputs) {
        if (chosen.value + chosen.tolerance >= other.value - other.tolerance) continue;
        report.fail(fmt::format("{}: action {} was taken, whose output is {:.9g} where another is {:.9g}.", name,
                                step.action, chosen.value, other.value));
    }
}

// Trajectories in fp32 and double part ways at the first decision on a knife's edge. So each step is held on its own,
// from the twin's state, which for the device's returns to be right (they equal the twin's bits) must be the device's.
void hold_step(CheckReport& report, const std::string& name, const EnvironmentOracle& environment,
               const PolicyOracle& policy, const RolloutStep& step) {
    const std::vector<RolloutValue> outputs = policy.outputs(step.observation);
    hold_values(report, name + ", outputs", step.outputs, outputs);
    hold_action(report, name, step, outputs);
    const std::vector<RolloutValue> next = environment.step(step.state, step.action);
    hold_values(report, name + ", state", step.next_state, next);
    const double margin = environment.margin(next);
    if (step.terminated ? margin > 1.0 : margin < -1.0) {
        report.fail(fmt::format("{}: the episode {} {:.3g} tolerances inside its limits.", name,
                                step.terminated ? "ended" : "went on", margin));
    }
    if (step.reward != environment.reward) report.fail(fmt::format("{}: reward {}.", name, step.reward));
}

void hold_episode(CheckReport& report, const std::string& name, const RolloutDesc& desc,
                  std::span<const float> parameters, std::uint32_t member, std::uint32_t episode, float expected) {
    const EnvironmentOracle* const environment = find_environment_oracle(desc.environment);
    if (environment == nullptr) return report.fail(fmt::format("{}: no oracle for its environment.", name));
    const std::vector<RolloutStep> steps = rollout_trace(desc, parameters, kWhen, member, episode);
    const PolicyOracle policy(desc, parameters, kWhen, member);
    const PhiloxCounter words =
        philox_block({.seed = kWhen.seed, .domain = Domain::Environment, .pair = episode, .time = kWhen.generation}, 0);
    const std::vector<RolloutValue> start = environment->reset(words);
    double total = 0.0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::string step_name = fmt::format("{}, member {}, episode {}, step {}", name, member, episode, i);
        if (i == 0 || steps[i - 1].terminated) hold_values(report, step_name + ", reset", steps[i].state, start);
        hold_step(report, step_name, *environment, policy, steps[i]);
        total += steps[i].reward;
    }
    if (total == expected) return;
    report.fail(fmt::format("{}: member {} returned {} in episode {}; its steps' rewards sum to {}.", name, member,
                            expected, episode, total));
}

// The first pair and the last member, in the first and last episode.
void hold_trajectories(CheckReport& report, const std::string& name, const RolloutDesc& desc, const Case& c,
                       std::span<const float> parameters, std::span<const float> returns) {
    const std::uint32_t members = desc.mean_only ? 1 : desc.members;
    for (std::uint32_t member = 0; member < members; ++member) {
        if (member > 1 && member + 1 < members) continue;
        for (std::uint32_t episode = 0; episode < desc.episodes; ++episode) {
            if (episode > 0 && episode + 1 < desc.episodes) continue;
            hold_episode(report, name, desc, parameters, member, c.first_episode + episode,
                         returns[std::size_t{episode} * members + member]);
        }
    }
}

struct Buffers {
    GuardedBuffer parameters, returns, evaluations, scratch;
};

Result<Buffers> make_buffers(const CheckContext& context, const RolloutPlan& plan, std::size_t parameters,
                             std::size_t returns, std::uint32_t poison) {
    const auto make = [&](std::uint64_t size_bytes, const char* label) {
        return GuardedBuffer::create(context.device, context.dispatcher, size_bytes, poison, label);
    };
    Buffers buffers;
    YOLK_TRY(buffers.parameters, make(4 * parameters, "rollout.parameters"));
    YOLK_TRY(buffers.returns, make(4 * returns, "rollout.returns"));
    YOLK_TRY(buffers.evaluations, make(std::uint64_t{4} * kEvaluationCounters, "rollout.evaluations"));
    YOLK_TRY(buffers.scratch, make(plan.scratch().size_bytes, "rollout.scratch"));
    return buffers;
}

Result<void> check_run(const CheckContext& context, const std::string& name, const RolloutPlan& plan, const Case& c,
                       const std::vector<float>& parameters, const RolloutTwin& twin, std::uint32_t poison,
                       CheckReport& report) {
    YOLK_TRY(const Buffers buffers, make_buffers(context, plan, parameters.size(), twin.returns.size(), poison));
    YOLK_TRY_VOID(buffers.parameters.upload(parameters));
    YOLK_TRY(const BoundRollout bound, plan.bind({.parameters = buffers.parameters.view(),
                                                  .returns = buffers.returns.view(),
                                                  .evaluations = buffers.evaluations.view()},
                                                 buffers.scratch.view()));
    YOLK_TRY_VOID(run_recorded(context, [&](Recorder& recorder) { bound.record(recorder, kWhen, c.first_episode); }));
    ++report.cases;
    YOLK_TRY(const std::vector<float> returns, buffers.returns.download<float>());
    hold_to_twin(report, name, returns, twin.returns);
    YOLK_TRY(const auto counters, buffers.evaluations.download<std::uint32_t>());
    const std::uint64_t evaluations = std::accumulate(counters.begin(), counters.end(), std::uint64_t{0});
    if (evaluations != twin.evaluations) {
        report.fail(fmt::format("{}: {} evaluations were counted, not {}.", name, evaluations, twin.evaluations));
    }
    YOLK_TRY_VOID(hold_guards(report, name, buffers.parameters, "parameters"));
    YOLK_TRY_VOID(hold_guards(report, name, buffers.returns, "returns"));
    YOLK_TRY_VOID(hold_guards(report, name, buffers.evaluations, "evaluations"));
    return hold_guards(report, name, buffers.scratch, "scratch");
}

Result<void> check_case(const CheckContext& context, const Case& c, std::span<const RolloutConfig> configs,
                        CheckReport& report) {
    YOLK_TRY(RolloutDesc desc, describe(c, {}));
    const std::vector<float> parameters = draw_parameters(context, desc);
    const RolloutTwin twin = rollout_twin(desc, parameters, kWhen, c.first_episode);
    hold_trajectories(report, c.what, desc, c, parameters, twin.returns);
    for (const RolloutConfig& config : configs) {
        desc.config = config;
        YOLK_TRY(const RolloutPlan plan, plan_rollout(context.device, desc));
        for (const std::uint32_t poison : kPoisons) {
            const std::string name =
                fmt::format("{}, workgroup {}, {}, parameters {}, poison {:08x}", c.what, config.workgroup_size,
                            config.unrolled.value_or(true) ? "unrolled" : "looped",
                            config.private_parameters.value_or(true) ? "private" : "uniform", poison);
            YOLK_TRY_VOID(check_run(context, name, plan, c, parameters, twin, poison, report));
        }
    }
    return {};
}

}  // namespace

Result<CheckReport> check_rollout(const CheckContext& context) {
    CheckReport report;
    report.kernel = "rollout";
    report.exactness = "P";
    const std::vector<RolloutConfig> configs = draw_configs(context);
    std::size_t next = 0;
    for (const Case& c : cases()) {
        // Making a pipeline takes longer than running one: the default and one of the drawn configurations for each
        // case.
        std::vector<RolloutConfig> chosen{configs.front()};
        if (configs.size() > 1) chosen.push_back(configs[1 + next++ % (configs.size() - 1)]);
        YOLK_TRY_VOID(check_case(context, c, chosen, report));
    }
    return report;
}

}  // namespace yolk::oracle
