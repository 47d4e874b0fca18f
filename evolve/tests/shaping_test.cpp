// SPDX-License-Identifier: Apache-2.0
// Shaping on the host, split over ranks: the bits of the exact twin, whatever the scores, the rule and the split.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "yolk/internal/core/philox.hpp"
#include "yolk/internal/evolve/shaping.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"
#include "yolk/twin.hpp"

namespace yolk::evolve {
namespace {

using ::yolk::testing::expect_error;

constexpr float kInfiniteReturn = std::numeric_limits<float>::infinity();
constexpr float kNanReturn = std::numeric_limits<float>::quiet_NaN();

std::uint32_t draw(std::uint32_t index, std::uint32_t seed) { return philox4x32({index, 0, 0, 0}, {seed, 31})[0]; }
float fraction(std::uint32_t drawn) { return static_cast<float>(drawn >> 8U) * 0x1p-24F; }

/// Everything that has ever broken a normalisation.
constexpr int kScoreKinds = 13;
float drawn_return(int kind, std::uint32_t index) {
    const std::uint32_t drawn = draw(index, static_cast<std::uint32_t>(kind));
    const float sign = (drawn & 1U) != 0 ? 1.0F : -1.0F;
    switch (kind) {
        case 0: return sign * fraction(drawn);
        case 1: return static_cast<float>(8 + drawn % 20);
        case 2: return -3.25F;
        case 3: return 0.0F;
        case 4: return sign * fraction(drawn) * 1e30F;
        case 5: return 1e-30F + 4e-30F * fraction(drawn);
        case 6: return sign * std::exp2(160.0F * fraction(drawn) - 80.0F);
        case 7: return sign * std::numeric_limits<float>::max();
        case 8: return std::nextafter(1.0F, static_cast<float>(drawn % 3));
        case 9: return drawn % 8 == 0 ? 1e12F : sign * fraction(drawn);
        case 10: return std::array{1.0F, 2.0F, -3.0F, kNanReturn, kInfiniteReturn, -kInfiniteReturn}[drawn % 6];
        case 11: return drawn % 2 == 0 ? kNanReturn : -kInfiniteReturn;
        default: return std::bit_cast<float>(drawn);  // any bits, denormals included
    }
}

/// As unequal as ranges can be, in units of whole pairs where there are pairs; some may be empty.
std::vector<MemberRange> drawn_split(const FitnessDesc& desc, std::uint32_t ranks, std::uint32_t seed) {
    const std::uint32_t unit = desc.antithetic ? 2 : 1;
    std::vector<std::uint32_t> ends{desc.population};
    for (std::uint32_t i = 1; i < ranks; ++i) ends.push_back(draw(i, seed) % (desc.population / unit + 1) * unit);
    std::ranges::sort(ends);
    std::vector<MemberRange> split;
    for (std::uint32_t first = 0; const std::uint32_t end : ends) {
        split.push_back({.first = first, .count = end - first});
        first = end;
    }
    return split;
}

std::vector<float> returns_of(const FitnessDesc& desc, const std::vector<float>& returns, const MemberRange& members) {
    std::vector<float> part;
    for (std::size_t episode = 0; episode < desc.episodes; ++episode) {
        const auto row = returns.begin() + static_cast<std::ptrdiff_t>(episode * desc.population + members.first);
        part.insert(part.end(), row, row + members.count);
    }
    return part;
}

ShapedGeneration twin_of(const FitnessDesc& desc, const std::vector<float>& returns) {
    const std::vector<float> scores = mean_scores(returns, desc.episodes);
    const auto twin = reference::twin_result<float>(desc, {returns});
    EXPECT_EQ(std::memcmp(scores.data(), twin.data(), scores.size() * sizeof(float)), 0);
    return shaped_by_twin(desc, returns);
}

std::string text_of(const ShapedGeneration& shaped) {
    const abi::fitness::Summary& s = shaped.summary;
    std::string text =
        fmt::format("c {} mean {} best {} worst {} variance {} bad {} first {} good {};", s.coefficient, s.mean, s.best,
                    s.worst, s.variance, s.not_finite_count, s.first_not_finite, s.finite_count);
    for (const std::int8_t weight : shaped.integer_weights) text += fmt::format(" {}", weight);
    for (const float weight : shaped.float_weights) text += fmt::format(" {}", weight);
    return text;
}

void compare_with_twin(const FitnessDesc& desc, std::uint32_t seed) {
    for (int kind = 0; kind < kScoreKinds; ++kind) {
        SCOPED_TRACE(fmt::format("{} population {} episodes {} groups {} robust {} pairs {} kind {}",
                                 to_string(desc.rule), desc.population, desc.episodes, desc.group_size, desc.robust,
                                 desc.antithetic, kind));
        std::vector<float> returns(std::size_t{desc.population} * desc.episodes);
        for (std::uint32_t i = 0; i < returns.size(); ++i) returns[i] = drawn_return(kind, i + 1000 * seed);
        const ShapedGeneration expected = twin_of(desc, returns);
        ASSERT_OK_AND_ASSIGN(const ShapedGeneration alone, shape_scores(desc, returns));
        EXPECT_EQ(alone, expected) << text_of(alone) << "\n" << text_of(expected);
        for (const std::uint32_t ranks : {2U, 3U, 7U}) {
            const std::vector<MemberRange> split = drawn_split(desc, ranks, seed + ranks);
            testing::on_ranks<Exchange>(ranks, [&](Exchange& exchange) {
                const MemberRange mine = split[exchange.rank()];
                const Result<ShapedGeneration> shaped =
                    shape_scores(desc, mine, returns_of(desc, returns, mine), exchange);
                ASSERT_TRUE(shaped.has_value()) << shaped.error().message;
                EXPECT_EQ(*shaped, expected)
                    << "rank " << exchange.rank() << " of " << ranks << ": " << mine.first << " + " << mine.count;
            });
        }
    }
}

TEST(shaping, is_the_twins_for_every_rule_and_any_split) {
    struct Rule {
        FitnessRule rule;
        bool robust = false;
        bool antithetic = true;
    };
    for (const Rule& rule : {Rule{FitnessRule::PairDifference}, Rule{FitnessRule::PairDifference, true},
                             Rule{FitnessRule::PairSign}, Rule{FitnessRule::CentredRank}, Rule{FitnessRule::ZScore},
                             Rule{FitnessRule::GroupZScore}, Rule{FitnessRule::CentredRank, false, false},
                             Rule{FitnessRule::ZScore, false, false}, Rule{FitnessRule::GroupZScore, false, false}}) {
        struct Size {
            std::uint32_t population, episodes, group_size;
        };
        for (const Size& size : {Size{2, 1, 2}, Size{14, 2, 7}, Size{126, 1, 63}, Size{130, 3, 2}, Size{546, 1, 3}}) {
            compare_with_twin({.population = size.population,
                               .episodes = size.episodes,
                               .rule = rule.rule,
                               .robust = rule.robust,
                               .group_size = rule.rule == FitnessRule::GroupZScore ? size.group_size : 0,
                               .antithetic = rule.antithetic,
                               .config = {}},
                              size.population);
        }
    }
}

TEST(shaping, takes_the_largest_population) {
    constexpr std::uint32_t kLargest = 1U << 20U;
    std::vector<float> returns(kLargest);
    for (std::uint32_t i = 0; i < kLargest; ++i) returns[i] = drawn_return(0, i);
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::CentredRank}) {
        const FitnessDesc desc{.population = kLargest, .rule = rule, .config = {}};
        ASSERT_OK_AND_ASSIGN(const ShapedGeneration shaped, shape_scores(desc, returns));
        EXPECT_TRUE(shaped == twin_of(desc, returns));
    }
}

/// What one rank of four gives and gets in a generation.
Traffic traffic_of(const FitnessDesc& desc) {
    std::vector<float> returns(desc.population);
    for (std::uint32_t i = 0; i < returns.size(); ++i) returns[i] = drawn_return(0, i);
    Traffic traffic;
    testing::on_ranks<Exchange>(4, [&](Exchange& exchange) {
        const MemberRange mine{.first = desc.population / 4 * exchange.rank(), .count = desc.population / 4};
        EXPECT_TRUE(shape_scores(desc, mine, returns_of(desc, returns, mine), exchange).has_value());
        if (exchange.rank() == 2) traffic = exchange.traffic();
    });
    return traffic;
}

TEST(shaping, exchanges_one_byte_per_pair_and_a_few_statistics) {
    constexpr std::uint32_t kQuarter = (1U << 20U) / 4;
    const auto traffic = [](FitnessRule rule, bool robust = false) {
        return traffic_of({.population = 4 * kQuarter, .rule = rule, .robust = robust, .config = {}});
    };
    constexpr std::uint64_t kOwn = 28 + 64 + kQuarter / 2;
    EXPECT_EQ(traffic(FitnessRule::PairDifference),
              (Traffic{.rounds = 3, .sent_bytes = kOwn, .received_bytes = 3 * kOwn}));
    EXPECT_LT(4 * kOwn, 629'145U);  // 0.6 MiB
    EXPECT_EQ(traffic(FitnessRule::PairSign), (Traffic{.rounds = 3, .sent_bytes = kOwn, .received_bytes = 3 * kOwn}));
    constexpr std::uint64_t kMedian = std::uint64_t{4} * 1024;
    EXPECT_EQ(traffic(FitnessRule::PairDifference, true),
              (Traffic{.rounds = 7, .sent_bytes = kOwn + kMedian, .received_bytes = 3 * (kOwn + kMedian)}));
    constexpr std::uint64_t kScores = 8 + 4 * std::uint64_t{kQuarter};
    EXPECT_EQ(traffic(FitnessRule::CentredRank),
              (Traffic{.rounds = 1, .sent_bytes = kScores, .received_bytes = 3 * kScores}));
    constexpr std::uint64_t kFloats = 28 + 64 + 4 * std::uint64_t{kQuarter} / 2;
    EXPECT_EQ(traffic(FitnessRule::ZScore),
              (Traffic{.rounds = 3, .sent_bytes = kFloats, .received_bytes = 3 * kFloats}));
}

TEST(shaping, refuses_what_is_not_the_population) {
    const FitnessDesc desc{.population = 8, .config = {}};
    SoloExchange alone;
    const std::vector<float> returns(8, 1.0F);
    EXPECT_TRUE(expect_error(shape_scores(desc, std::span(returns).first(7)), ErrorKind::BadInput,
                             "There are 7 returns for 8 members of 1 episodes each."));
    EXPECT_TRUE(expect_error(shape_scores(desc, {.first = 1, .count = 4}, std::span(returns).first(4), alone),
                             ErrorKind::BadInput, "There are 4 members from member 1; members come in pairs"));
    EXPECT_TRUE(expect_error(shape_scores(desc, {.first = 0, .count = 6}, std::span(returns).first(6), alone),
                             ErrorKind::BadInput, "The ranks have 6 members; the population is 8."));
    for (const FitnessRule rule : {FitnessRule::PairDifference, FitnessRule::CentredRank}) {
        testing::on_ranks<Exchange>(2, [&](Exchange& exchange) {
            EXPECT_TRUE(expect_error(shape_scores({.population = 8, .rule = rule, .config = {}},
                                                  {.first = 0, .count = 4}, std::span(returns).first(4), exchange),
                                     ErrorKind::BadInput,
                                     "Rank 1 has 4 members from member 0; those of the ranks before it end at 4"));
        });
    }
}

}  // namespace
}  // namespace yolk::evolve
