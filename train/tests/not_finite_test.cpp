// SPDX-License-Identifier: Apache-2.0
// Environments whose rewards are not finite now and then: training goes on, says so, and never calls it solved.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include "policy_runner.hpp"
#include "temporary_folder.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"
#include "yolk/train.hpp"

namespace yolk::train {
namespace {

using ::yolk::testing::expect_error;

TEST(return_statistics, are_of_what_is_finite) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    const ReturnStatistics some = statistics_of(std::vector<float>{kNan, 3.0F, kInfinity, -2.0F, -kInfinity});
    EXPECT_EQ(some.worst, -2.0);
    EXPECT_EQ(some.best, 3.0);
    EXPECT_EQ(some.not_finite, 3U);
    EXPECT_FALSE(std::isfinite(some.mean));
    const ReturnStatistics none = statistics_of(std::vector<float>{kInfinity, kNan});
    EXPECT_TRUE(std::isnan(none.best) && std::isnan(none.worst));
    const ReturnStatistics all = statistics_of(std::vector<float>{1.0F, 2.0F});
    EXPECT_EQ(all.mean, 1.5);
    EXPECT_EQ(all.best, 2.0);
    EXPECT_EQ(all.not_finite, 0U);
}

/// CartPole whose reward is infinite where the cart begins right of 1 cm: in two of five generations for all members,
/// which share their beginning.
class not_finite_training : public ::yolk::testing::DeviceTest {
   protected:
    TrainOptions options(std::uint64_t seed) {
        std::string text = text_of(YOLK_SHADERS_FOLDER "/environments/cartpole.glsl");
        const std::string before = "result.reward = exact_from_bits(kExactOne);";
        const std::size_t at = text.find(before);
        EXPECT_NE(at, std::string::npos) << "the environment writes its reward in another way now";
        if (at != std::string::npos) {
            text.replace(at, before.size(),
                         "result.reward = exact_from_bits(position > exact_from_bits(0x3C23D70Au) ? 0x7F800000u : "
                         "kExactOne);");
        }
        write_text(folder_.path() / "right.glsl", text);
        const auto own = load_environment(folder_.path() / "right.glsl");
        EXPECT_OK(own);
        TrainOptions options{.evolution = {.population = 32, .optimizer = OptimizerRule::Adam, .seed = seed},
                             .generations = 12,
                             .max_steps = 2,
                             .out = folder_.path() / ("out" + std::to_string(seed)),
                             .evaluation_episodes = 20};
        if (!own) return options;
        options.network.widths = {(*own)->info().observation_count, 4, (*own)->info().action_count};
        options.own_environment = *own;
        return options;
    }
    TemporaryFolder folder_;
};
YOLK_FOR_EACH_DEVICE(not_finite_training);

TEST_P(not_finite_training, goes_on_and_is_never_solved) {
    std::uint32_t refused = 0;
    std::optional<TrainOutcome> outcome;
    TrainOptions run;
    for (std::uint64_t seed = 1; seed <= 8 && !outcome; ++seed) {
        run = options(seed);
        const Result<TrainOutcome> made = train(device(), run);
        if (made) {
            outcome = *made;
        } else {
            // In its first generation, it has nothing to go on with.
            EXPECT_TRUE(expect_error(made, ErrorKind::Failed, "In generation 0 no member has a finite score"));
            ++refused;
        }
    }
    ASSERT_TRUE(outcome.has_value()) << refused;
    EXPECT_EQ(outcome->generations, 12U) << "an infinite return of the policy does not end it as solved";
    EXPECT_FALSE(outcome->solved);
    EXPECT_FALSE(std::isfinite(outcome->eval_mean_return));
    EXPECT_GE(outcome->generations_without_finite, 1U);
    EXPECT_GE(outcome->not_finite, 32U);
    std::istringstream lines(text_of(run.out / "metrics.jsonl"));
    std::uint32_t bad = 0, good = 0;
    for (std::string line; std::getline(lines, line);) {
        const Json json = Json::parse(line);
        if (!json.contains("generation")) continue;
        (json["best_return"].is_null() ? bad : good) += 1;
        EXPECT_EQ(json["best_return"].is_null(), json["not_finite"] == 32) << line;
    }
    EXPECT_EQ(bad, outcome->generations_without_finite);
    EXPECT_EQ(bad + good, 12U);
    // Its log and checkpoint are as good as any.
    run.resume = true;
    run.generations = 13;
    ASSERT_OK_AND_ASSIGN(const TrainOutcome longer, train(device(), run));
    EXPECT_EQ(longer.resumed_from, 12U);
}

}  // namespace
}  // namespace yolk::train
