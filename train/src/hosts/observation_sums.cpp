// SPDX-License-Identifier: Apache-2.0
#include "observation_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace yolk::train {
namespace {

// kObservationDigits in all.
constexpr std::size_t kCountDigits = 2, kStepsDigits = 4, kSquaresDigits = 5;
static_assert(kCountDigits + kStepsDigits + kSquaresDigits == kObservationDigits);
constexpr unsigned kDigitBits = 24;
constexpr std::uint64_t kWellKnown = std::uint64_t{1} << 47U;  // no generation adds as much again
constexpr ObservationSum kMostSteps = 0xFFFFFFFFU;             // of one value

std::span<float> write_digits(ObservationSum number, std::size_t digits, std::span<float> to) {
    for (std::size_t i = 0; i < digits; ++i, number >>= kDigitBits)
        to[i] = static_cast<float>(static_cast<std::uint32_t>(number & ((1U << kDigitBits) - 1)));
    return to.subspan(digits);
}

std::optional<ObservationSum> read_digits(std::span<const float> digits) {
    ObservationSum number = 0;
    for (std::size_t i = digits.size(); i > 0; --i) {
        const float digit = digits[i - 1];
        if (!(digit >= 0.0F && digit < 0x1p24F) || digit != std::floor(digit)) return std::nullopt;
        number = (number << kDigitBits) | static_cast<std::uint32_t>(digit);
    }
    return number;
}

std::optional<ObservationSums> read_sums(std::span<const float> digits) {
    const auto count = read_digits(digits.first(kCountDigits));
    const auto steps = read_digits(digits.subspan(kCountDigits, kStepsDigits));
    const auto squares = read_digits(digits.subspan(kCountDigits + kStepsDigits, kSquaresDigits));
    if (!count || !steps || !squares) return std::nullopt;
    // What that many values can sum to; and no sum of squares is below the square of the mean times their number.
    if (*steps > kMostSteps * *count || *squares > kMostSteps * kMostSteps * *count) return std::nullopt;
    if (*count > 0) {
        const ObservationSum mean = *steps / *count;
        if (*squares < mean * (*steps + *steps % *count)) return std::nullopt;
    }
    return ObservationSums{.count = static_cast<std::uint64_t>(*count), .steps = *steps, .squares = *squares};
}

/// Its whole part.
ObservationSum root_of(ObservationSum number) {
    ObservationSum root = 0;
    for (int bit = 63; bit >= 0; --bit) {
        const ObservationSum more = root | (ObservationSum{1} << static_cast<unsigned>(bit));
        if (more * more <= number) root = more;
    }
    return root;
}

}  // namespace

ObservationScale scale_of(const ObservationSums& sums) noexcept {
    if (sums.count == 0) return {};
    const ObservationSum count = sums.count;
    // The mean in steps of 2^-32 above -2^15; below 2^48, so exact in double.
    const auto mean = static_cast<std::int64_t>((sums.steps << 16U) / count);
    const auto shift = static_cast<float>(std::ldexp(static_cast<double>(mean - (std::int64_t{1} << 47U)), -32));
    // sum (s - m)^2 = sum s^2 - m (sum s + sum s - count m), m the mean's whole steps, which leave a rest below count.
    const ObservationSum whole = sums.steps / count;
    const ObservationSum spread = sums.squares - whole * (sums.steps + sums.steps % count);
    // In 2^-16 squares of steps, then its root in 2^-8 steps: 2^-24.
    const ObservationSum variance = ((spread / count) << 16U) + ((spread % count) << 16U) / count;
    const ObservationSum deviation = root_of(variance);
    if (deviation < 256) return {.shift = shift, .scale = 1.0F};
    return {.shift = shift, .scale = static_cast<float>(0x1p24 / static_cast<double>(deviation))};
}

std::vector<float> normalizer_of(std::span<const ObservationSums> sums) {
    const std::size_t values = sums.size();
    std::vector<float> normalizer((2 + kObservationDigits) * values);
    std::span<float> digits = std::span(normalizer).subspan(2 * values);
    for (std::size_t i = 0; i < values; ++i) {
        const ObservationScale scale = scale_of(sums[i]);
        normalizer[i] = scale.shift;
        normalizer[values + i] = scale.scale;
        digits = write_digits(sums[i].count, kCountDigits, digits);
        digits = write_digits(sums[i].steps, kStepsDigits, digits);
        digits = write_digits(sums[i].squares, kSquaresDigits, digits);
    }
    return normalizer;
}

std::optional<std::vector<ObservationSums>> sums_of(std::span<const float> normalizer) {
    const std::size_t values = normalizer.size() / (2 + kObservationDigits);
    std::vector<ObservationSums> sums;
    for (std::size_t i = 0; i < values; ++i) {
        const auto read = read_sums(normalizer.subspan(2 * values + i * kObservationDigits, kObservationDigits));
        if (!read) return std::nullopt;
        sums.push_back(*read);
    }
    return sums;
}

std::vector<float> normalizer_after(std::span<const float> before, std::span<const std::uint64_t> words) {
    const std::size_t values = before.size() / (2 + kObservationDigits);
    std::vector<ObservationSums> sums = sums_of(before).value_or(std::vector<ObservationSums>(values));
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto own = words.subspan(i * kObservationCounts, kObservationCounts);
        if (sums[i].count >= kWellKnown) continue;
        const auto joined = [](std::span<const std::uint64_t> parts) {
            ObservationSum sum = 0;
            for (std::size_t part = parts.size(); part > 0; --part) sum = (sum << 32U) + parts[part - 1];
            return sum;
        };
        sums[i].count += own[0];
        sums[i].steps += joined(own.subspan(1, 2));
        sums[i].squares += joined(own.subspan(3, 3));
    }
    return normalizer_of(sums);
}

void add_observations(std::span<std::uint32_t> to, std::span<const std::uint32_t> from) noexcept {
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < to.size(); ++i) {
        const std::size_t word = i % kObservationCounts;
        if (word == 0 || word == 1 || word == 3) carry = 0;  // the low word of the next number
        carry += std::uint64_t{to[i]} + from[i];
        to[i] = static_cast<std::uint32_t>(carry);
        carry >>= 32U;
    }
}

evolve::MemberCounts observation_counts(const PolicyNetwork& network) {
    if (!network.normalized) return {};
    return {.words = kObservationCounts * network.widths.front(),
            .elements = network.normalizer_elements(),
            .follow = &normalizer_after};
}

}  // namespace yolk::train
