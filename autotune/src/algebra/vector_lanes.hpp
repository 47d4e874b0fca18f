// SPDX-License-Identifier: Apache-2.0
// Loops over many candidates, compiled twice: for every x86-64 processor (or any other one), and for those with AVX2.
// Both do the same operations element by element in the same order, without fused multiply-adds, so they give the same
// bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace yolk::autotune {

#if defined(__x86_64__) && defined(__GNUC__)
#define YOLK_AVX2 __attribute__((target("avx2")))
#define YOLK_INLINE inline __attribute__((always_inline))
[[nodiscard]] inline bool has_avx2() noexcept {
    static const bool has = __builtin_cpu_supports("avx2") != 0;
    return has;
}
#else
#define YOLK_AVX2
#define YOLK_INLINE inline
[[nodiscard]] inline bool has_avx2() noexcept { return false; }
#endif

/// exp(-r) for r >= 0, within 2e-16 of it relatively, as a polynomial that loops vectorize; below 1e-304 it stays
/// there.
YOLK_INLINE double exp_of_negative(double r) noexcept {
    constexpr double kMost = 700.0;
    constexpr double kLog2 = 1.4426950408889634;
    constexpr double kLn2High = 0x1.62e42fee00000p-1;
    constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
    constexpr double kRounds = 6755399441055744.0;  // 1.5 * 2^52: a sum with it ends in a whole number
    const double x = r < kMost ? -r : -kMost;
    const double shifted = x * kLog2 + kRounds;
    const double whole = shifted - kRounds;
    const double f = (x - whole * kLn2High) - whole * kLn2Low;
    double p = 1.0 / 479001600.0;
    p = p * f + 1.0 / 39916800.0;
    p = p * f + 1.0 / 3628800.0;
    p = p * f + 1.0 / 362880.0;
    p = p * f + 1.0 / 40320.0;
    p = p * f + 1.0 / 5040.0;
    p = p * f + 1.0 / 720.0;
    p = p * f + 1.0 / 120.0;
    p = p * f + 1.0 / 24.0;
    p = p * f + 1.0 / 6.0;
    p = p * f + 0.5;
    p = p * f + 1.0;
    p = p * f + 1.0;
    const std::uint64_t scale = (std::bit_cast<std::uint64_t>(shifted) << 52U) + 0x3ff0000000000000U;
    return p * std::bit_cast<double>(scale);
}

/// Elements that are worked on together: eight vectors of four doubles.
inline constexpr std::size_t kLane = 4;
inline constexpr std::size_t kTile = 8 * kLane;

}  // namespace yolk::autotune
