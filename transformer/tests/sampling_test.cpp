// SPDX-License-Identifier: Apache-2.0
#include "sampling.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "yolk/internal/testing/device_test.hpp"

namespace yolk::transformer {
namespace {

/// How often each token comes in some draws of a stream.
std::map<std::uint32_t, double> shares_of(std::span<const float> logits, const GenerateOptions& options) {
    constexpr std::uint32_t kDraws = 20000;
    std::map<std::uint32_t, double> shares;
    for (std::uint32_t place = 0; place < kDraws; ++place) {
        const auto token = next_token(logits, options, 3, place);
        EXPECT_OK(token);
        shares[*token] += 1.0 / kDraws;
    }
    return shares;
}

const std::vector<float> kLogits{std::log(0.1F), std::log(0.4F), std::log(0.3F), std::log(0.2F)};
constexpr double kSpread = 0.0175;  // five standard deviations of a share of .5 in 20,000 draws

TEST(sampling, without_temperature_the_likeliest_comes) {
    ASSERT_OK_AND_ASSIGN(const std::uint32_t token, next_token(kLogits, {.seed = 1}, 0, 0));
    EXPECT_EQ(token, 1U);
    const std::vector<float> equal{1, 2, 2};
    ASSERT_OK_AND_ASSIGN(const std::uint32_t first, next_token(equal, {}, 0, 0));
    EXPECT_EQ(first, 1U) << "the first of equals";
}

TEST(sampling, draws_have_the_probabilities) {
    const auto shares = shares_of(kLogits, {.temperature = 1.0});
    for (const auto& [token, share] : std::map<std::uint32_t, double>{{0, 0.1}, {1, 0.4}, {2, 0.3}, {3, 0.2}})
        EXPECT_NEAR(shares.at(token), share, kSpread);
    const auto cold = shares_of(kLogits, {.temperature = 0.5});  // squares
    EXPECT_NEAR(cold.at(1), 0.16 / 0.30, kSpread);
}

TEST(sampling, top_k_and_top_p_keep_the_likeliest) {
    const auto two = shares_of(kLogits, {.temperature = 1.0, .top_k = 2});
    EXPECT_EQ(two.size(), 2U);
    EXPECT_NEAR(two.at(1), 4.0 / 7.0, kSpread);
    EXPECT_EQ(shares_of(kLogits, {.temperature = 1.0, .top_p = 0.65}).size(), 2U);
    EXPECT_EQ(shares_of(kLogits, {.temperature = 1.0, .top_p = 0.75}).size(), 3U);
    EXPECT_EQ(shares_of(kLogits, {.temperature = 1.0, .top_p = 1e-9}).size(), 1U);
    EXPECT_EQ(shares_of(kLogits, {.temperature = 1.0, .top_k = 1000}).size(), 4U);
}

TEST(sampling, a_draw_is_a_function_of_seed_stream_and_place) {
    const std::vector<float> many(1000, 0.0F);
    const auto drawn = [&](std::uint64_t seed, std::uint32_t stream) {
        std::vector<std::uint32_t> tokens;
        for (std::uint32_t place = 0; place < 4; ++place)
            tokens.push_back(next_token(many, {.temperature = 1.0, .seed = seed}, stream, place).value());
        return tokens;
    };
    EXPECT_EQ(drawn(1, 2), drawn(1, 2));
    EXPECT_NE(drawn(1, 2), drawn(2, 2));
    EXPECT_NE(drawn(1, 2), drawn((std::uint64_t{1} << 32U) + 1, 2));
    EXPECT_NE(drawn(1, 2), drawn(1, 3));
    EXPECT_NE(drawn(1, 2)[0], drawn(1, 2)[1]);
}

TEST(sampling, logits_that_are_not_finite_are_an_error) {
    const std::vector<float> spoilt{0.0F, std::numeric_limits<float>::quiet_NaN()};
    for (const double temperature : {0.0, 1.0})
        EXPECT_TRUE(::yolk::testing::expect_error(next_token(spoilt, {.temperature = temperature}, 0, 7),
                                                  ErrorKind::Failed, "The logit of token 1 at place 7 is nan"));
}

}  // namespace
}  // namespace yolk::transformer
