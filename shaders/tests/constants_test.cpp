// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "yolk/internal/abi/noise.h"
#include "yolk/internal/core/noise.hpp"

namespace yolk {
namespace {

// The fp32 number nearest to 1/sqrt(85), shown without floating point: its significand m (times 2^-27) lies so that
// (m - 1/2)^2 85 < 2^54 < (m + 1/2)^2 85.
TEST(constants, noise_scale_is_correctly_rounded) {
    const std::uint32_t bits = abi::noise::kNoiseScaleBits;
    EXPECT_EQ(bits >> 23U, 127U - 4U);  // in [2^-4, 2^-3)
    const std::uint64_t m = (bits & 0x7FFFFFU) | 0x800000U;
    const std::uint64_t variance = kNoiseVariance;
    EXPECT_LT((2 * m - 1) * (2 * m - 1) * variance, std::uint64_t{1} << 56U);
    EXPECT_GT((2 * m + 1) * (2 * m + 1) * variance, std::uint64_t{1} << 56U);
    EXPECT_EQ(bits, std::bit_cast<std::uint32_t>(static_cast<float>(1.0 / std::sqrt(85.0))));
}

}  // namespace
}  // namespace yolk
