// SPDX-License-Identifier: Apache-2.0
#include "copy_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace yolk {
namespace {

std::vector<std::byte> counted(std::size_t size, unsigned salt) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + (i >> 9U) + salt) & 255U);
    return bytes;
}

// Alone, in shares, with rests, from addresses that are no multiple of anything, again and again.
TEST(copy_team, copies_every_byte_and_no_other) {
    for (std::size_t helpers = 0; helpers <= CopyTeam::kMostHelpers; ++helpers) {
        CopyTeam team(helpers);
        EXPECT_EQ(team.helpers(), helpers);
        for (unsigned round = 0; round < 20; ++round) {
            for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{70001}, CopyTeam::kWorthSharing,
                                           CopyTeam::kWorthSharing + 1, 3 * CopyTeam::kWorthSharing - 77}) {
                const std::vector<std::byte> from = counted(size + 3, round);
                std::vector<std::byte> to(size + 8, std::byte{170});
                team.copy(std::span(to).subspan(5, size), std::span(from).subspan(3));
                ASSERT_TRUE(std::equal(from.begin() + 3, from.end(), to.begin() + 5)) << size << ", " << helpers;
                EXPECT_TRUE(
                    std::ranges::all_of(std::span(to).first(5), [](std::byte b) { return b == std::byte{170}; }));
                EXPECT_TRUE(
                    std::ranges::all_of(std::span(to).last(3), [](std::byte b) { return b == std::byte{170}; }));
            }
        }
    }
}

TEST(copy_team, has_a_thread_for_each_processor_up_to_four) {
    EXPECT_EQ(CopyTeam::helpers_for(0), 0U);  // the system does not say
    EXPECT_EQ(CopyTeam::helpers_for(1), 0U);
    EXPECT_EQ(CopyTeam::helpers_for(2), 1U);
    EXPECT_EQ(CopyTeam::helpers_for(4), 3U);
    EXPECT_EQ(CopyTeam::helpers_for(128), 3U);
    EXPECT_EQ(CopyTeam(100).helpers(), CopyTeam::kMostHelpers);
}

}  // namespace
}  // namespace yolk
