// SPDX-License-Identifier: Apache-2.0
// What may go wrong in a stage that a function of the caller's replaces: each mistake is an error that says where it
// is and what was given.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "fixtures.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr std::uint32_t kStaged = 16;
constexpr float kSpoiltValue = std::numeric_limits<float>::quiet_NaN();

/// Scores by their number alone.
Result<std::uint64_t> drawn_returns(const HostQuestion& question, std::span<float> returns) {
    const std::vector<float> scores = drawn_scores(kStaged);
    for (std::uint32_t i = 0; i < question.members.count; ++i) returns[i] = scores[question.members.first + i];
    return question.members.count;
}

ShapedGeneration shaped_right(std::span<const float> returns) {
    return shaped_by_twin({.population = kStaged}, returns);
}

class stages : public ::yolk::testing::DeviceTest {
   protected:
    using MakeMembers = decltype(PoolParts::members);
    /// Of one step.
    Result<GenerationSummary> step(Stages with, const EvolutionOptions& options = {.population = kStaged},
                                   const MakeMembers& members = {}) {
        YOLK_TRY(Evolution run, create(std::move(with), options, members));
        return run.step();
    }
    Result<Evolution> create(Stages with, const EvolutionOptions& options, const MakeMembers& members = {}) {
        if (!pool_ || pool_->options().determinism != options.determinism) {
            YOLK_TRY(pool_, DevicePool::create(std::span(&device(), 1), {.determinism = options.determinism}));
        }
        PoolParts parts{.parameters = layered_table(1)};
        parts.initial.assign(parts.parameters.element_count(), 0.25F);
        parts.members =
            members ? members
                    : MakeMembers([](const Device*, Dispatcher*) { return Result(host_members(drawn_returns)); });
        parts.stages = std::move(with);
        return Evolution::create(*pool_, std::move(parts), options);
    }
    [[nodiscard]] bool is_device_used() const { return pool_->in_use() == 1; }

    std::optional<DevicePool> pool_;
};
YOLK_FOR_EACH_DEVICE(stages);

TEST_P(stages, weights_that_are_not_the_rules_are_refused) {
    const auto shaping = [](auto change) {
        return Stages{.shape = [change](std::span<const float> returns, const NoiseContext&) {
            ShapedGeneration shaped = shaped_right(returns);
            change(shaped);
            return Result(std::move(shaped));
        }};
    };
    EXPECT_TRUE(testing::expect_ok(step(shaping([](ShapedGeneration&) {}))));
    EXPECT_TRUE(expect_error(step(shaping([](ShapedGeneration& s) { s.integer_weights.pop_back(); })),
                             ErrorKind::BadInput,
                             "While shaping by Stages::shape: There are 7 int8 and 0 fp32 weights; this run has 8"));
    const auto floats = [](ShapedGeneration& s) {
        s.integer_weights.clear();
        s.float_weights.assign(8, 0.5F);
    };
    EXPECT_TRUE(expect_error(step(shaping(floats)), ErrorKind::BadInput, "There are 0 int8 and 8 fp32 weights"));
    EXPECT_TRUE(expect_error(step(shaping([](ShapedGeneration& s) { s.float_weights.assign(8, 0.5F); })),
                             ErrorKind::BadInput, "There are 8 int8 and 8 fp32 weights"));
    EXPECT_TRUE(expect_error(step(shaping([](ShapedGeneration& s) { s.integer_weights[3] = -128; })),
                             ErrorKind::BadInput, "There is a weight of -128"));
    EXPECT_TRUE(expect_error(step(shaping([](ShapedGeneration& s) { s.summary.coefficient = kSpoiltValue; })),
                             ErrorKind::BadInput, "coefficient is nan"));
    EXPECT_TRUE(expect_error(step(shaping([](ShapedGeneration& s) { s.summary = {}; })), ErrorKind::BadInput,
                             "finite_count of 0"));
    EXPECT_TRUE(expect_error(step(shaping([](ShapedGeneration& s) { s.summary.coefficient = 0.0F; })),
                             ErrorKind::BadInput, "coefficient is 0"));
    const auto not_finite = [](ShapedGeneration& s) {
        s.integer_weights.clear();
        s.float_weights.assign(8, 0.5F);
        s.float_weights[2] = kSpoiltValue;
    };
    const EvolutionOptions of_floats{
        .population = kStaged, .fitness = FitnessRule::ZScore, .determinism = Determinism::Fast};
    EXPECT_TRUE(expect_error(step(shaping(not_finite), of_floats), ErrorKind::BadInput,
                             "Element 2 of the weights would be nan"));
}

/// An empty one would be EGGROLL's own without a word.
TEST_P(stages, gradients_that_do_not_fit_are_refused) {
    const auto updating = [](std::vector<float> gradient, bool own_optimizer) {
        Stages made{.update = [gradient](const ShapedGeneration&, const NoiseContext&) { return Result(gradient); }};
        if (own_optimizer) made.optimize = [](const Stages::Step&) { return Result<void>(); };
        return made;
    };
    for (const bool own_optimizer : {false, true}) {
        EXPECT_TRUE(testing::expect_ok(step(updating(std::vector<float>(36, 1.0F), own_optimizer))));
        EXPECT_TRUE(expect_error(step(updating({}, own_optimizer)), ErrorKind::BadInput,
                                 "While estimating the gradient by Stages::update: There are 0 values of a gradient "
                                 "for 36 parameter elements"));
        EXPECT_TRUE(expect_error(step(updating({1.0F, 2.0F}, own_optimizer)), ErrorKind::BadInput, "There are 2"));
        std::vector<float> gradient(36, 1.0F);
        gradient[5] = kSpoiltValue;
        EXPECT_TRUE(expect_error(step(updating(gradient, own_optimizer)), ErrorKind::BadInput,
                                 "Element 5 of the gradient would be nan"));
    }
}

TEST_P(stages, are_not_given_what_apply_refuses) {
    std::uint32_t calls = 0;
    const auto update = [&](const ShapedGeneration&, const NoiseContext&) {
        ++calls;
        return Result(std::vector<float>(36, 1.0F));
    };
    const auto optimize = [&](const Stages::Step&) {
        ++calls;
        return Result<void>();
    };
    ASSERT_OK_AND_ASSIGN(Evolution run, create({.update = update, .optimize = optimize}, {.population = kStaged}));
    ShapedGeneration shaped = shaped_right(drawn_scores(kStaged));
    EXPECT_TRUE(expect_error(run.apply(shaped, std::vector<float>(3)), ErrorKind::BadInput, "There are 3 values"));
    shaped.integer_weights.pop_back();
    EXPECT_TRUE(expect_error(run.apply(shaped), ErrorKind::BadInput, "There are 7 int8 and 0 fp32 weights"));
    EXPECT_EQ(calls, 0U);
    shaped.integer_weights.push_back(1);
    EXPECT_TRUE(testing::expect_ok(run.apply(shaped)));
    EXPECT_EQ(calls, 2U);
}

TEST_P(stages, an_optimizer_that_diverges_is_refused) {
    const EvolutionOptions options{.population = kStaged, .optimizer = OptimizerRule::Momentum};
    const auto optimizing = [](auto change) {
        return Stages{.optimize = [change](const Stages::Step& step) {
            change(step);
            return Result<void>();
        }};
    };
    EXPECT_TRUE(expect_error(step(optimizing([](const Stages::Step& s) { s.parameters[7] = INFINITY; }), options),
                             ErrorKind::BadInput,
                             "While stepping by Stages::optimize: Element 7 of the parameters would be inf"));
    EXPECT_TRUE(expect_error(step(optimizing([](const Stages::Step& s) { s.state[35] = kSpoiltValue; }), options),
                             ErrorKind::BadInput, "Element 35 of the optimizer's state would be nan"));
}

/// Also one of a kind that drops a device: the lead is not to blame, and the function is not asked again.
TEST_P(stages, an_error_of_a_stage_ends_the_run) {
    for (const ErrorKind kind : {ErrorKind::OutOfMemory, ErrorKind::DeviceLost, ErrorKind::Io}) {
        const Error error{kind, "The engine has closed.", 0};
        const ErrorKind expected = kind == ErrorKind::Io ? ErrorKind::Io : ErrorKind::Failed;
        const auto shape = [&](std::span<const float>, const NoiseContext&) { return Result<ShapedGeneration>(error); };
        const auto update = [&](const ShapedGeneration&, const NoiseContext&) {
            return Result<std::vector<float>>(error);
        };
        const auto optimize = [&](const Stages::Step&) { return Result<void>(error); };
        EXPECT_TRUE(expect_error(step({.shape = shape}), expected, "shape: The engine has closed."));
        EXPECT_TRUE(expect_error(step({.update = update}), expected, "update: The engine has closed."));
        EXPECT_TRUE(expect_error(step({.optimize = optimize}), expected, "optimize: The engine has closed."));
        EXPECT_TRUE(is_device_used());
    }
}

/// Takes what it is told, and fits the run only if that does.
class SizedMembers final : public MemberEvaluator {
   public:
    SizedMembers(std::uint32_t episodes, std::uint32_t most) : episodes_(episodes), most_(most) {}
    [[nodiscard]] std::uint32_t episodes() const noexcept override { return episodes_; }
    [[nodiscard]] std::uint32_t most_members() const noexcept override { return most_; }
    [[nodiscard]] Result<void> begin(std::span<const float>, const NoiseContext&) override { return {}; }
    [[nodiscard]] Result<std::uint64_t> evaluate(const MemberRange& members, std::span<float> returns) override {
        std::ranges::fill(returns, 1.0F);
        return members.count;
    }

   private:
    std::uint32_t episodes_, most_;
};

TEST_P(stages, evaluators_that_do_not_fit_the_run_are_refused) {
    const auto giving = [](std::uint32_t episodes, std::uint32_t most) {
        return [=](const Device*, Dispatcher*) {
            return Result<std::unique_ptr<MemberEvaluator>>(std::make_unique<SizedMembers>(episodes, most));
        };
    };
    const EvolutionOptions options{.population = kStaged, .episodes = 2};
    EvolutionOptions singles = options;
    singles.antithetic = false;
    singles.fitness = FitnessRule::CentredRank;
    EXPECT_TRUE(testing::expect_ok(step({}, options, giving(2, 2))));
    EXPECT_TRUE(testing::expect_ok(step({}, singles, giving(2, 1))));
    EXPECT_TRUE(expect_error(step({}, options, giving(3, 2)), ErrorKind::BadInput,
                             "gives 3 returns per member; the options ask for 2."));
    EXPECT_TRUE(expect_error(step({}, options, giving(2, 1)), ErrorKind::BadInput,
                             "takes at most 1 members at once; it must take 2, a pair."));
    EXPECT_TRUE(expect_error(step({}, singles, giving(2, 0)), ErrorKind::BadInput, "it must take 1."));
    const auto nothing = [](const Device*, Dispatcher*) { return Result(std::unique_ptr<MemberEvaluator>()); };
    EXPECT_TRUE(expect_error(step({}, options, nothing), ErrorKind::BadInput, "PoolParts::members gave no evaluator"));
    const auto no_function = [](const Device*, Dispatcher*) { return Result(host_members({}, 2)); };
    EXPECT_TRUE(expect_error(step({}, options, no_function), ErrorKind::BadInput, "There is no function to score"));
    EXPECT_TRUE(is_device_used());
}

TEST_P(stages, a_judge_with_other_episodes_is_refused) {
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&device(), 1), {.host_workers = 1}));
    PoolParts parts{.parameters = layered_table(1)};
    parts.initial.assign(parts.parameters.element_count(), 0.25F);
    parts.members = [](const Device*, Dispatcher*) { return Result(host_members(drawn_returns)); };
    parts.judge = host_members(drawn_returns, 3);
    EXPECT_TRUE(expect_error(Evolution::create(pool, std::move(parts), {.population = kStaged}), ErrorKind::BadInput,
                             "The evaluator of the judge gives 3 returns per member"));
}

/// Zeros would be scores like any other.
TEST_P(stages, what_a_host_function_leaves_out_is_not_a_score) {
    const auto leaving = [](const HostQuestion& question, std::span<float> returns) -> Result<std::uint64_t> {
        for (std::uint32_t i = 0; i < question.members.count; ++i) {
            if (question.members.first + i != 5) returns[i] = static_cast<float>(i);
        }
        return question.members.count;
    };
    ASSERT_OK_AND_ASSIGN(
        const GenerationSummary summary,
        step({}, {.population = kStaged}, [&](const Device*, Dispatcher*) { return Result(host_members(leaving)); }));
    EXPECT_EQ(summary.not_finite, 1U);
    EXPECT_EQ(summary.first_not_finite, 5U);
}

TEST(rollout_twin_members, refuse_parameters_of_another_network) {
    const PolicyNetwork network{.widths = {4, 5, 2}};
    const auto twin = rollout_twin_members(
        {.network = network, .parameters = *ParameterTable::create(network.parameters()), .members = 2});
    std::vector<float> returns(2);
    ASSERT_OK(twin->begin(std::vector<float>(3), {}));
    EXPECT_TRUE(expect_error(twin->evaluate({.first = 0, .count = 2}, returns), ErrorKind::BadInput,
                             "There are 3 parameter elements; the network of the roll-out has 37."));
    EXPECT_TRUE(expect_error(twin->evaluate({.first = 0, .count = 1}, returns), ErrorKind::BadInput,
                             "2 returns were asked for; 1 members with 1 episodes have 1."));
}

}  // namespace
}  // namespace yolk::evolve
