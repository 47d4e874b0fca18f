// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "philox_oracle.hpp"

namespace yolk::oracle {
namespace {

using ::testing::ElementsAre;

// Random123's known answers for philox4x32, ten rounds (its file tests/kat_vectors).
TEST(noise_oracle, has_the_published_known_answers) {
    constexpr std::uint32_t kOnes = 0xFFFFFFFFU;
    EXPECT_THAT(philox_oracle({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627E8D5U, 0xE169C58DU, 0xBC57AC4CU, 0x9B00DBD8U));
    EXPECT_THAT(philox_oracle({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
                ElementsAre(0x408F276DU, 0x41C83B0EU, 0xA20BC7C6U, 0x6D5451FDU));
    EXPECT_THAT(philox_oracle({0x243F6A88U, 0x85A308D3U, 0x13198A2EU, 0x03707344U}, {0xA4093822U, 0x299F31D0U}),
                ElementsAre(0xD16CFE09U, 0x94FDCCEBU, 0x5001E420U, 0x24126EA1U));
}

// The check vector of docs/kernels/noise.md.
TEST(noise_oracle, has_the_stated_check_values) {
    constexpr NoiseStream kStream{.seed = 42, .parameter = 5, .domain = Domain::A, .pair = 3, .time = 7};
    std::vector<std::int32_t> block;
    for (std::uint32_t i = 0; i < 8; ++i) block.push_back(noise_oracle(kStream, i));
    EXPECT_THAT(block, ElementsAre(-8, 13, 2, -6, 13, -15, -9, 6));
}

// Each part of a stream where docs/kernels/noise.md puts it: the domain above the 24 bits of the id, by its number
// there.
TEST(noise_oracle, streams_are_counters_and_keys) {
    constexpr std::array kDomains{Domain::A,           Domain::B,    Domain::Vector, Domain::Initialization,
                                  Domain::Environment, Domain::Data, Domain::Policy};
    for (std::uint32_t domain = 0; domain < kDomains.size(); ++domain) {
        const NoiseStream stream{.seed = 0x0123456789ABCDEFU,
                                 .parameter = 0xABCDEF,
                                 .domain = kDomains[domain],
                                 .pair = 0xFEDCBA98U,
                                 .time = 0x76543210U};
        EXPECT_EQ(noise_words_oracle(stream, 9),
                  philox_oracle({9, domain << 24U | 0xABCDEFU, 0xFEDCBA98U, 0x76543210U}, {0x89ABCDEFU, 0x01234567U}));
    }
}

}  // namespace
}  // namespace yolk::oracle
