// SPDX-License-Identifier: Apache-2.0
// The strategy `eggroll`: evolve's generations, the same questions on the host and on a device, and its steps.
#include <gmock/gmock.h>

#include <Eigen/Core>
#include <Eigen/LU>
#include <set>

#include "policy_plans.hpp"
#include "policy_run.hpp"
#include "preconditioner.hpp"
#include "surfaces.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/autotune/device_policy.hpp"
#include "yolk/internal/autotune/replay.hpp"
#include "yolk/internal/autotune/tuner.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/internal/evolve/shaping.hpp"
#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/matmul.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/twin.hpp"

namespace yolk::autotune {
namespace {

constexpr std::array kAllSteps{Step::Plain, Step::Identity, Step::InverseSqrt, Step::Natural};
constexpr std::uint64_t kPolicySeed = 0x1234'5678'9ABCULL;

/// Parameters of four, three and one values, 12 configurations.
std::shared_ptr<const CandidateSet> small_set() {
    Space space = Space::create({Parameter::of("a", {1.0, 2.0, 4.0, 8.0}), Parameter::of("b", {0.0, 1.0, 2.0}),
                                 Parameter::of("c", {7.0})})
                      .value();
    return std::make_shared<const CandidateSet>(CandidateSet::of(std::move(space), 100, 1).value());
}
PolicyDesc small_policy(float rate) { return policy_desc(small_set(), policy_options(rate, kPolicySeed)).value(); }

/// Scores of generation g that differ, by formula.
std::vector<float> made_up_returns(std::uint32_t g) {
    std::vector<float> returns;
    for (std::uint32_t m = 0; m < kPolicyMembers; ++m)
        returns.push_back(std::sin(1.0F + 3.0F * static_cast<float>(m) + 5.0F * static_cast<float>(g)));
    return returns;
}

/// What a search asks, answered by `cost_of`.
template <class CostOf>
std::vector<std::size_t> questions(const std::shared_ptr<const CandidateSet>& candidates, std::size_t budget,
                                   const StrategySettings& settings, CostOf&& cost_of) {
    Tuner tuner =
        Tuner::create(candidates, {.strategy = "eggroll", .budget = budget, .seed = 3, .settings = settings}).value();
    std::vector<std::size_t> asked;
    while (const auto candidate = tuner.ask()) {
        asked.push_back(*candidate);
        EXPECT_OK(tuner.tell(*candidate, cost_of(*candidate)));
    }
    return asked;
}
std::vector<std::size_t> questions(const RecordedSurface& surface, const StrategySettings& settings) {
    return questions(shared(surface), 45, settings, [&](std::size_t c) { return surface.costs()[c]; });
}

// Against the twin of the product with one-hot columns, and the members' matrices by perturbed_linear's rules.
TEST(policy, scores_are_sums_of_perturbed_logits) {
    const PolicyDesc desc = small_policy(0.5F);
    evolve::EvolutionState state{.generation = 5};
    for (std::uint32_t i = 0; i < desc.table.element_count(); ++i)
        state.parameters.push_back(i == 2 ? 0x1p-41F : 0.3F * static_cast<float>(i) - 1.0F);
    const std::size_t count = desc.candidates->size();
    std::vector<float> got(kPolicyMembers * count);
    const auto kernels = policy_kernels_on_host();
    ASSERT_OK(kernels->begin(desc, state));
    ASSERT_OK(kernels->scores(state, got));
    std::vector<float> columns(std::size_t{desc.rows} * desc.columns * count);
    for (std::size_t c = 0; c < count; ++c) {
        for (std::size_t p = 0; p < desc.rows; ++p)
            columns[(p * desc.columns + (*desc.candidates)[c][p]) * count + c] = 1.0F;
    }
    std::vector<float> members;
    const NoiseContext when = evolve::Schedule(desc.options, state.generation).noise_time();
    for (std::int32_t m = 0; m < static_cast<std::int32_t>(kPolicyMembers); ++m) {
        const auto own = reference::perturbed_matrix({.in = desc.columns, .out = desc.rows}, state.parameters, when, m);
        members.insert(members.end(), own.begin(), own.end());
    }
    EXPECT_EQ(got, reference::twin_result<float>(scores_of(desc), {members, columns, {}, {}}));
}

/// The rows of a policy's logits about their means, as the run keeps them.
std::vector<float> about_means(std::span<const float> logits, const PolicyDesc& desc) {
    std::vector<float> kept(logits.size());
    for (std::size_t row = 0; row < desc.rows; ++row) {
        const std::size_t values = desc.candidates->space().parameters()[row].values.size();
        double mean = 0.0;
        for (std::size_t v = 0; v < values; ++v) mean += double{logits[row * desc.columns + v]} / double(values);
        for (std::size_t v = 0; values > 1 && v < values; ++v)
            kept[row * desc.columns + v] = static_cast<float>(logits[row * desc.columns + v] - mean);
    }
    return kept;
}

/// The gradient of each pair alone times the pairs, from the noise itself: (sqrt(N) / N) sum over pairs of w A B^T.
std::vector<Eigen::MatrixXd> sample_gradients(const PolicyDesc& desc, std::uint32_t generation,
                                              std::span<const float> returns) {
    const auto shaped =
        evolve::shape_scores({.population = kPolicyMembers, .rule = FitnessRule::PairDifference}, returns).value();
    std::vector<Eigen::MatrixXd> samples;
    for (std::uint32_t pair = 0; pair < kPolicyMembers / 2; ++pair) {
        const auto noise = [&](Domain domain, std::uint32_t i) {
            return noise_element({.seed = kPolicySeed, .domain = domain, .pair = pair, .time = generation}, i) /
                   std::sqrt(85.0);
        };
        const double weight = std::sqrt(8.0) / 8.0 * shaped.summary.coefficient * shaped.integer_weights[pair];
        Eigen::MatrixXd& sample = samples.emplace_back(desc.rows, desc.columns);
        for (std::uint32_t a = 0; a < desc.rows; ++a) {
            for (std::uint32_t b = 0; b < desc.columns; ++b)
                sample(a, b) = 4.0 * weight * noise(Domain::A, a) * noise(Domain::B, b);
        }
    }
    return samples;
}

Eigen::MatrixXd inverse_fisher(const Eigen::RowVectorXd& logits) {
    const Eigen::VectorXd weights = logits.transpose().array().exp();
    const Eigen::VectorXd policy = weights / weights.sum();
    Eigen::MatrixXd fisher = policy.asDiagonal();
    fisher -= policy * policy.transpose();
    fisher.diagonal().array() += double{kPolicyDamping};
    return fisher.inverse();
}

// M^-1/2 of the last 32 sample gradients and F^-1, in double precision: roots by eigenvalues, each parameter alone. The
// tolerance is 64 roundings of fp32 times the condition of the damped M, 200.
TEST(policy, steps_are_those_of_double_precision) {
    constexpr std::array<Eigen::Index, 2> kValues{4, 3};
    for (const Step step : {Step::InverseSqrt, Step::Natural}) {
        const PolicyDesc desc = small_policy(0.5F);
        PolicyRun run(desc, step, policy_kernels_on_host());
        std::vector<GradientWindow> windows(2, GradientWindow(kPolicyWindow));
        Eigen::MatrixXd logits = Eigen::MatrixXd::Zero(desc.rows, desc.columns);
        for (std::uint32_t g = 0; g < 10; ++g) {
            const std::vector<float> returns = made_up_returns(g);
            const auto samples = sample_gradients(desc, g, returns);
            for (Eigen::Index p = 0; p < 2; ++p) {
                const Eigen::Index n = kValues.at(static_cast<std::size_t>(p));
                GradientWindow& window = windows[static_cast<std::size_t>(p)];
                Eigen::VectorXd gradient = Eigen::VectorXd::Zero(n);
                for (const Eigen::MatrixXd& sample : samples) {
                    window.add(sample.row(p).head(n).transpose());
                    gradient += sample.row(p).head(n).transpose() / 4.0;
                }
                const Eigen::MatrixXd metric = step == Step::Natural
                                                   ? inverse_fisher(logits.row(p).head(n))
                                                   : damped_power(window.covariance(), -0.5, double{kPolicyDamping});
                Eigen::RowVectorXd row = logits.row(p).head(n) + 0.5 * (metric * gradient).transpose();
                row.array() -= row.mean();
                logits.row(p).head(n) = row.cwiseMax(-double{kLargestLogit}).cwiseMin(double{kLargestLogit});
            }
            run.follow(returns);
            for (std::uint32_t i = 0; i < desc.table.element_count(); ++i)
                EXPECT_NEAR(run.state().parameters[i], logits(i / desc.columns, i % desc.columns), 64 * 200 * 0x1p-24)
                    << "generation " << g << ", element " << i;
        }
        EXPECT_GT(logits.cwiseAbs().maxCoeff(), 0.5);
    }
}

TEST(policy, nothing_to_choose_and_nothing_that_works) {
    for (const Step step : kAllSteps) {
        // Everything fails: no member is better than another, so that the policy stays uniform; each is asked once.
        const auto set = small_set();
        const auto failing = questions(set, 50, {.step = step}, [](std::size_t) { return kInvalidCost; });
        EXPECT_EQ(std::set<std::size_t>(failing.begin(), failing.end()).size(), 12U);
        EXPECT_EQ(failing.size(), 12U);
        PolicyRun run(small_policy(0.5F), step, policy_kernels_on_host());
        for (int g = 0; g < 3; ++g) run.follow(std::vector<float>(kPolicyMembers, -3.2F));
        EXPECT_THAT(run.state().parameters, ::testing::Each(0.0F));
        EXPECT_EQ(run.state().generation, 3U);
        // One parameter; one configuration.
        for (const std::size_t values : {5U, 1U}) {
            std::vector<Value> all;
            for (std::size_t v = 0; v < values; ++v) all.emplace_back(static_cast<double>(v));
            const auto one = std::make_shared<const CandidateSet>(
                CandidateSet::of(Space::create({Parameter::of("a", std::move(all))}).value(), 10, 1).value());
            const auto asked = questions(one, 50, {.step = step}, [](std::size_t c) { return 1.0 + double(c); });
            EXPECT_EQ(std::set<std::size_t>(asked.begin(), asked.end()).size(), values);
            EXPECT_EQ(asked.size(), values);
        }
    }
}

class policy_device : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(policy_device);

// evolve run by hand beside it: scores from the host, its fitness kernel, update and optimizer, and the same bounds.
TEST_P(policy_device, a_generation_is_evolves) {
    const PolicyDesc desc = small_policy(0.5F);
    ASSERT_OK_AND_ASSIGN(auto evaluator, evolve::host_scores_evaluator(device(), kPolicyMembers));
    const std::span<float> returns = evaluator->returns();
    evolve::EvolutionParts parts{.parameters = desc.table,
                                 .initial = std::vector<float>(desc.table.element_count()),
                                 .evaluator = std::move(evaluator)};
    ASSERT_OK_AND_ASSIGN(evolve::Evolution by_hand,
                         evolve::Evolution::create(device(), dispatcher(), std::move(parts), desc.options));
    ASSERT_OK_AND_ASSIGN(const auto policies, DevicePolicies::create(device()));
    PolicyRun on_device(desc, Step::Plain, policies->make());
    PolicyRun on_host(desc, Step::Plain, policy_kernels_on_host());
    for (std::uint32_t g = 0; g < 4; ++g) {
        std::ranges::copy(made_up_returns(g), returns.begin());
        ASSERT_OK(by_hand.step());
        ASSERT_OK(by_hand.set_parameters(about_means(by_hand.parameters(), desc)));
        on_device.follow(returns);
        on_host.follow(returns);
        const std::vector<float> expected(by_hand.parameters().begin(), by_hand.parameters().end());
        EXPECT_EQ(on_device.state().parameters, expected) << g;
        EXPECT_EQ(on_host.state().parameters, expected) << g;
    }
    EXPECT_EQ(on_device.state().generation, by_hand.generations());
    EXPECT_EQ(policies->counts().generations, 4U);
    EXPECT_EQ(policies->counts().take_overs, 0U);
}

// One seed, one search, by every step: the questions are the host's to the last one.
TEST_P(policy_device, asks_what_the_host_asks) {
    const RecordedSurface surface = tiled_product();
    ASSERT_OK_AND_ASSIGN(const auto policies, DevicePolicies::create(device()));
    for (const Step step : kAllSteps) {
        EXPECT_EQ(questions(surface, {.step = step, .policy_kernels = on_device(policies)}),
                  questions(surface, {.step = step}));
    }
    EXPECT_EQ(policies->counts().take_overs, 0U) << policies->counts().reason;
    EXPECT_EQ(policies->counts().searches, 4U);
    EXPECT_EQ(policies->counts().generations, 20U);
    EXPECT_EQ(policies->counts().scored, 24U);
}

// Small spaces, with parameters that have less values than others, and one.
TEST_P(policy_device, small_spaces_are_the_hosts_too) {
    ASSERT_OK_AND_ASSIGN(const auto policies, DevicePolicies::create(device()));
    const auto cost = [](std::size_t c) { return c % 5 == 4 ? kInvalidCost : 1.0 + std::sin(3.0 * double(c)) * 0.5; };
    for (const Step step : kAllSteps) {
        EXPECT_EQ(questions(small_set(), 50, {.step = step, .policy_kernels = on_device(policies)}, cost),
                  questions(small_set(), 50, {.step = step}, cost));
    }
    EXPECT_EQ(policies->counts().take_overs, 0U) << policies->counts().reason;
}

class policy_faults : public testing::DeviceTest {
   protected:
    void SetUp() override { static_cast<void>(testing::instance()); }
    testing::FaultInjector faults_;
};
YOLK_FOR_EACH_DEVICE(policy_faults);

// The device goes away in the middle of a search: the host goes on with the same questions, and it is counted.
TEST_P(policy_faults, a_lost_device_changes_no_question) {
    const RecordedSurface surface = tiled_product();
    ASSERT_OK_AND_ASSIGN(const Device device,
                         Device::create(testing::instance(), testing::device_index(device_name())));
    ASSERT_OK(probe(device));
    ASSERT_OK_AND_ASSIGN(const auto policies, DevicePolicies::create(device));
    const std::vector<std::size_t> right = questions(surface, {});
    Tuner tuner =
        Tuner::create(
            shared(surface),
            {.strategy = "eggroll", .budget = 45, .seed = 3, .settings = {.policy_kernels = on_device(policies)}})
            .value();
    std::vector<std::size_t> asked;
    while (const auto candidate = tuner.ask()) {
        asked.push_back(*candidate);
        if (asked.size() == 20) faults_.fail_nth_call(1, testing::FaultKind::DeviceLost);
        EXPECT_OK(tuner.tell(*candidate, surface.costs()[*candidate]));
    }
    faults_.fail_nothing();
    EXPECT_EQ(asked, right);
    EXPECT_EQ(policies->counts().take_overs, 1U);
    EXPECT_EQ(policies->counts().generations, 2U);
}

}  // namespace
}  // namespace yolk::autotune
