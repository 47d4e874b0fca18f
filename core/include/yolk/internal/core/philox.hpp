// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11.
#pragma once

#include <array>
#include <cstdint>

namespace yolk {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

inline constexpr std::uint32_t kPhiloxMultiplier0 = 0xD2511F53U;
inline constexpr std::uint32_t kPhiloxMultiplier1 = 0xCD9E8D57U;
inline constexpr std::uint32_t kPhiloxWeyl0 = 0x9E3779B9U;  // golden ratio
inline constexpr std::uint32_t kPhiloxWeyl1 = 0xBB67AE85U;  // sqrt(3) - 1
inline constexpr int kPhiloxRounds = 10;

/// Four random words for one counter. Pure: equal arguments give equal words on every device.
[[nodiscard]] constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) noexcept {
    for (int round = 0; round < kPhiloxRounds; ++round) {
        const std::uint64_t product0 = std::uint64_t{kPhiloxMultiplier0} * counter[0];
        const std::uint64_t product1 = std::uint64_t{kPhiloxMultiplier1} * counter[2];
        counter = {
            static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
            static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
        key[0] += kPhiloxWeyl0;
        key[1] += kPhiloxWeyl1;
    }
    return counter;
}

}  // namespace yolk
