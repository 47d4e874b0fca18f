// SPDX-License-Identifier: Apache-2.0
// The tuner's random numbers: Philox words in order, and draws made of them by rules of our own, so that a seed gives
// the same search with every standard library.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

#include "yolk/internal/core/check.hpp"
#include "yolk/internal/core/philox.hpp"

namespace yolk::autotune {

/// A stream of random numbers, by value: a copy repeats it. Streams of one seed are independent.
class Random {
   public:
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept
        : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)}, stream_(stream) {}

    [[nodiscard]] std::uint32_t word() noexcept {
        if (used_ == words_.size()) {
            words_ = philox4x32({static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32U),
                                 static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32U)},
                                key_);
            ++block_;
            used_ = 0;
        }
        return words_[used_++];
    }
    /// Below `count`, which is above 0; biased by less than count / 2^64.
    [[nodiscard]] std::size_t below(std::size_t count) noexcept {
        YOLK_ASSERT(count > 0);
        const std::uint64_t high = word();
        const std::uint64_t both = high << 32U | word();
        // 64 x 64 -> upper 64 bits, by halves: no 128-bit type in ISO C++.
        const std::uint64_t n = count;
        const std::uint64_t low_low = (both & 0xFFFFFFFFU) * (n & 0xFFFFFFFFU);
        const std::uint64_t high_low = (both >> 32U) * (n & 0xFFFFFFFFU) + (low_low >> 32U);
        const std::uint64_t low_high = (both & 0xFFFFFFFFU) * (n >> 32U) + (high_low & 0xFFFFFFFFU);
        return static_cast<std::size_t>((both >> 32U) * (n >> 32U) + (high_low >> 32U) + (low_high >> 32U));
    }
    /// In (0, 1): never 0, so that its logarithm is finite.
    [[nodiscard]] double uniform() noexcept {
        const std::uint64_t high = word() >> 5U;
        const std::uint64_t low = word() >> 6U;
        return (static_cast<double>(high << 26U | low) + 0.5) * 0x1p-53;
    }
    [[nodiscard]] double normal() noexcept {
        const double radius = std::sqrt(-2.0 * std::log(uniform()));
        return radius * std::cos(2.0 * std::numbers::pi * uniform());
    }
    [[nodiscard]] double gumbel() noexcept { return -std::log(-std::log(uniform())); }

    template <class T>
    void shuffle(std::span<T> values) noexcept {
        for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
    }

   private:
    PhiloxKey key_;
    std::uint64_t stream_;
    std::uint64_t block_ = 0;
    PhiloxCounter words_{};
    std::size_t used_ = 4;
};

}  // namespace yolk::autotune
