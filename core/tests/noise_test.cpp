// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace yolk {
namespace {

constexpr NoiseStream kStream{.seed = 42, .parameter = 5, .domain = Domain::A, .pair = 3, .time = 7};

std::vector<int> block_of(const NoiseStream& stream, std::uint32_t block) {
    const auto elements = noise_block(stream, block);
    return {elements.begin(), elements.end()};
}

// The check vector of the numeric contract.
TEST(noise, contract_vector) { EXPECT_THAT(block_of(kStream, 0), testing::ElementsAre(-8, 13, 2, -6, 13, -15, -9, 6)); }

// Low half word first: element 2k is the low half of word k.
TEST(noise, elements_follow_the_words_low_half_first) {
    const PhiloxCounter words = philox_block(kStream, 9);
    EXPECT_EQ(noise_element(kStream, 72), nibble_noise(words[0] & 0xffffU));
    EXPECT_EQ(noise_element(kStream, 73), nibble_noise(words[0] >> 16U));
    EXPECT_EQ(noise_element(kStream, 79), nibble_noise(words[3] >> 16U));
}

TEST(noise, extremes_of_a_half_word) {
    EXPECT_EQ(nibble_noise(0x0000U), -30);
    EXPECT_EQ(nibble_noise(0xffffU), 30);
    EXPECT_EQ(nibble_noise(0xabcd0000U), -30);  // the high half does not leak in
}

// Changing any part of the counter or key changes the stream; the same arguments repeat it.
TEST(noise, every_argument_matters) {
    std::set<std::vector<int>> seen{block_of(kStream, 0)};
    EXPECT_EQ(block_of(kStream, 0), *seen.begin());
    NoiseStream s = kStream;
    auto expect_new = [&](const NoiseStream& stream, std::uint32_t block) {
        EXPECT_TRUE(seen.insert(block_of(stream, block)).second);
    };
    expect_new(s, 1);
    s.seed = 43, expect_new(s, 0), s = kStream;
    s.seed = 42 | (std::uint64_t{1} << 32U), expect_new(s, 0), s = kStream;
    s.parameter = 6, expect_new(s, 0), s = kStream;
    s.domain = Domain::B, expect_new(s, 0), s = kStream;
    s.pair = 4, expect_new(s, 0), s = kStream;
    s.time = 8, expect_new(s, 0);
}

// Mean 0 and variance 85 within five standard errors over 80,000 draws (fixed seed, so it cannot flake).
TEST(noise, moments) {
    double sum = 0.0;
    double squares = 0.0;
    constexpr std::uint32_t kBlocks = 10000;
    for (std::uint32_t block = 0; block < kBlocks; ++block) {
        for (const int element : noise_block(kStream, block)) {
            sum += element;
            squares += static_cast<double>(element) * element;
        }
    }
    constexpr double kCount = 8.0 * kBlocks;
    EXPECT_NEAR(sum / kCount, 0.0, 5.0 * std::sqrt(85.0 / kCount));
    EXPECT_NEAR(squares / kCount, kNoiseVariance, 5.0 * 85.0 * std::sqrt(2.0 / kCount));
}

}  // namespace
}  // namespace yolk
