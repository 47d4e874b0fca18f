// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/core/philox.hpp"

#include <gtest/gtest.h>

namespace yolk {
namespace {

// The published known-answer vectors of Random123 for philox4x32, ten rounds.
TEST(philox, zero_vector) {
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
}
TEST(philox, all_ones_vector) {
    constexpr std::uint32_t ones = 0xffffffffU;
    EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
              (PhiloxCounter{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
}
TEST(philox, digits_of_pi_vector) {
    EXPECT_EQ(philox4x32({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
              (PhiloxCounter{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

}  // namespace
}  // namespace yolk
