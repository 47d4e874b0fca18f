// SPDX-License-Identifier: Apache-2.0
#include "path_probe.hpp"

#include <fmt/format.h>

#include <bit>

#include "yolk/internal/abi/probe.h"

namespace yolk {
namespace {

/// Knuth's generator: cases are the same on every call.
class Words {
   public:
    std::uint32_t next() noexcept {
        state_ = state_ * abi::probe::kStepMultiplier + abi::probe::kStepIncrement;
        return state_ ^ state_ >> 15U;  // low bits of such a generator have short periods
    }

   private:
    std::uint32_t state_ = 2463534242U;
};

constexpr std::size_t kDrawnCases = 64;

std::int32_t signed_byte(std::uint32_t word, std::uint32_t i) noexcept {
    return static_cast<std::int8_t>(static_cast<std::uint8_t>(word >> (8 * i)));
}

std::uint32_t dot_of(const ProbeWords& given) noexcept {
    std::uint32_t sum = given[2];
    for (std::uint32_t i = 0; i < 4; ++i)
        sum += static_cast<std::uint32_t>(signed_byte(given[0], i) * signed_byte(given[1], i));
    return sum;
}

std::uint32_t weighted_sum(const ProbeWords& given) noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < abi::probe::kHalvesPerCase; ++i)
        sum += (2 * i + 1) * ((given[i / 2] >> (16 * (i % 2))) & 0xFFFFU);
    return sum;
}

std::string count_text(std::size_t results, std::size_t cases) {
    return fmt::format("it was asked {} questions and gave {} answers", cases, results);
}

/// The integers of cooperative_operands.
std::vector<std::int32_t> cooperative_integers(const CooperativeShape& shape) {
    Words words;
    std::vector<std::int32_t> integers(std::size_t{shape.m} * shape.k + std::size_t{shape.k} * shape.n);
    const std::int32_t least = shape.a == ComponentType::I8 ? -128 : -31;
    const auto count = static_cast<std::uint32_t>(shape.a == ComponentType::I8 ? -2 * least : 1 - 2 * least);
    for (std::int32_t& one : integers) one = static_cast<std::int32_t>(words.next() % count) + least;
    return integers;
}

/// Of an integer below 2,048 in size: exact.
std::uint16_t half_of(std::int32_t value) noexcept {
    if (value == 0) return 0;
    const auto magnitude = static_cast<std::uint32_t>(value < 0 ? -value : value);
    const auto exponent = static_cast<std::uint32_t>(std::bit_width(magnitude)) - 1;
    const std::uint32_t mantissa = (magnitude << (10 - exponent)) & 0x3FFU;
    return static_cast<std::uint16_t>((value < 0 ? 0x8000U : 0U) | (exponent + 15) << 10U | mantissa);
}

/// Of an integer of at most 8 bits: exact.
std::uint16_t bf16_of(std::int32_t value) noexcept {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16U);
}

/// A sum's bits as a number.
double sum_of(const CooperativeShape& shape, std::uint32_t bits) noexcept {
    if (shape.result == ComponentType::I32) return static_cast<double>(static_cast<std::int32_t>(bits));
    return static_cast<double>(std::bit_cast<float>(bits));
}

}  // namespace

std::vector<ProbeWords> integer_dot_cases() {
    constexpr std::array<std::uint32_t, 6> kBytes{0x00, 0x01, 0x7F, 0x80, 0x81, 0xFF};
    std::vector<ProbeWords> cases{{0x80808080U, 0x80808080U, 0, 0},
                                  {0x7F7F7F7FU, 0x80808080U, 0xFFFFFFFFU, 0},
                                  {0x01020304U, 0x05060708U, 1000, 0}};
    for (std::uint32_t i = 0; i < 4; ++i) {
        for (const std::uint32_t a : kBytes) {
            for (const std::uint32_t b : kBytes) cases.push_back({a << (8 * i), b << (8 * i), i, 0});
        }
    }
    Words words;
    for (std::size_t i = 0; i < kDrawnCases; ++i) cases.push_back({words.next(), words.next(), words.next() >> 2U, 0});
    return cases;
}

std::string judge_integer_dot(std::span<const ProbeWords> cases, std::span<const std::uint32_t> results) {
    if (results.size() != cases.size()) return count_text(results.size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (results[i] == dot_of(cases[i])) continue;
        return fmt::format("the dot product of the signed bytes of {:#010x} and {:#010x} plus {} gave {} instead of {}",
                           cases[i][0], cases[i][1], static_cast<std::int32_t>(cases[i][2]),
                           static_cast<std::int32_t>(results[i]), static_cast<std::int32_t>(dot_of(cases[i])));
    }
    return {};
}

std::vector<ProbeWords> storage16_cases() {
    std::vector<ProbeWords> cases;
    for (std::uint32_t i = 0; i < abi::probe::kHalvesPerCase; ++i) {
        for (const std::uint32_t half : {1U, 0x8000U, 0xFFFFU}) {
            ProbeWords given{};
            given[i / 2] = half << (16 * (i % 2));
            cases.push_back(given);
        }
    }
    Words words;
    for (std::size_t i = 0; i < kDrawnCases; ++i)
        cases.push_back({words.next(), words.next(), words.next(), words.next()});
    return cases;
}

std::string judge_storage16(std::span<const ProbeWords> cases, std::span<const std::uint32_t> results) {
    if (results.size() != cases.size()) return count_text(results.size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (results[i] == weighted_sum(cases[i])) continue;
        return fmt::format(
            "the 16-bit words of {:#010x} {:#010x} {:#010x} {:#010x}, weighted, gave {:#x} instead of {:#x}",
            cases[i][0], cases[i][1], cases[i][2], cases[i][3], results[i], weighted_sum(cases[i]));
    }
    return {};
}

std::vector<std::byte> cooperative_operands(const CooperativeShape& shape) {
    std::vector<std::byte> bytes;
    for (const std::int32_t integer : cooperative_integers(shape)) {
        if (shape.a == ComponentType::I8) {
            bytes.push_back(static_cast<std::byte>(static_cast<std::uint8_t>(integer)));
            continue;
        }
        const std::uint16_t half = shape.a == ComponentType::BF16 ? bf16_of(integer) : half_of(integer);
        bytes.push_back(static_cast<std::byte>(half & 0xFFU));
        bytes.push_back(static_cast<std::byte>(half >> 8U));
    }
    return bytes;
}

std::string judge_cooperative(const CooperativeShape& shape, std::span<const std::uint32_t> results) {
    const std::size_t elements = std::size_t{shape.m} * shape.n;
    if (results.size() != 2 * elements) return count_text(results.size(), 2 * elements);
    const std::vector<std::int32_t> integers = cooperative_integers(shape);
    const std::size_t b = std::size_t{shape.m} * shape.k;
    for (std::size_t at = 0; at < results.size(); ++at) {
        const std::size_t i = at % elements / shape.n;
        const std::size_t j = at % shape.n;
        std::int32_t sum = 0;
        for (std::size_t q = 0; q < shape.k; ++q) sum += integers[i * shape.k + q] * integers[b + q * shape.n + j];
        const double got = sum_of(shape, results[at]);
        if (got == static_cast<double>(sum)) continue;
        return fmt::format("element [{}, {}] of a {} x {} x {} multiplication of operands from {} is {} instead of {}",
                           i, j, shape.m, shape.n, shape.k, at < elements ? "a buffer" : "shared memory", got, sum);
    }
    return {};
}

}  // namespace yolk
