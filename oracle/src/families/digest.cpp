// SPDX-License-Identifier: Apache-2.0
// The table of digest: counts around a block of four words and around workgroups, sums that overflow, words of any
// bits.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "check_tools.hpp"
#include "philox_oracle.hpp"
#include "yolk/digest.hpp"
#include "yolk/internal/abi/digest.h"
#include "yolk/internal/oracle/families.hpp"
#include "yolk/internal/oracle/operation_problem.hpp"

namespace yolk::oracle {
namespace {

using DigestSums = std::array<std::uint32_t, abi::digest::kSumWords>;

/// One 16-bit column at a time, carries after all additions, the last word first: another order and another arithmetic
/// than the kernel's and the twin's.
std::vector<Bounded> digest_oracle(std::span<const std::uint32_t> in, std::uint32_t array,
                                   std::span<const std::uint32_t> start) {
    std::array<std::uint64_t, 8> columns{};
    const auto add = [&columns](std::size_t word, std::uint32_t value) {
        columns.at(2 * word) += value & 0xFFFFU;
        columns.at(2 * word + 1) += value >> 16U;
    };
    for (std::size_t word = 0; word < 4; ++word) add(word, start[word]);
    std::uint32_t not_finite = start[abi::digest::kSumNotFinite];
    for (const std::uint32_t word : in) not_finite += std::isfinite(std::bit_cast<float>(word)) ? 0U : 1U;
    for (std::size_t block = (in.size() + 3) / 4; block-- > 0;) {
        std::array<std::uint32_t, 4> words{};
        for (std::size_t i = 4 * block; i < in.size() && i < 4 * block + 4; ++i) words.at(i - 4 * block) = in[i];
        const auto mixed = philox_oracle(words, {static_cast<std::uint32_t>(block), array});
        for (std::size_t word = 0; word < 4; ++word) add(word, mixed.at(word));
    }
    for (std::size_t column = 0; column < columns.size(); ++column) {
        const bool ends_a_sum = column % 4 == 3;
        if (!ends_a_sum) columns.at(column + 1) += columns.at(column) >> 16U;
        columns.at(column) &= 0xFFFFU;
    }
    std::vector<Bounded> values;
    for (std::size_t word = 0; word < 4; ++word)
        values.push_back({static_cast<double>(columns.at(2 * word) + 65536 * columns.at(2 * word + 1)), 0.0});
    values.push_back({static_cast<double>(not_finite), 0.0});
    return values;
}

class DigestProblem final : public OperationProblem<DigestDesc> {
   public:
    explicit DigestProblem(const DigestDesc& desc, std::uint32_t array = 0, const DigestSums& start = {},
                           std::uint64_t seed = 1)
        : OperationProblem(desc, fmt::format("array {}", array), array), start_(start), seed_(seed) {}

    /// A Philox block takes about a hundred operations.
    [[nodiscard]] Work work() const override {
        const double count = desc().count;
        return {.operations = 25.0 * count, .bytes = 4.0 * count};
    }

   protected:
    [[nodiscard]] std::vector<ByteVector> contents() const override {
        return {bytes_of_values(input()), bytes_of_values(std::vector<std::uint32_t>(start_.begin(), start_.end()))};
    }
    [[nodiscard]] std::vector<OracleValues> oracle(const HostViews& given, const HostViews& /*made*/) const override {
        return {digest_oracle(given.in<std::uint32_t>(0), argument<0>(), given.in<std::uint32_t>(1))};
    }

   private:
    /// Any bits, infinities and NaNs among them.
    [[nodiscard]] std::vector<std::uint32_t> input() const {
        Draws draws(seed_, 91);
        std::vector<std::uint32_t> words(desc().count);
        for (std::size_t i = 0; i < words.size(); ++i) {
            words[i] = std::bit_cast<std::uint32_t>(draws.uniform(-2.0F, 2.0F));
            if (i % 11 == 5) words[i] |= 0x7F800000U;
            if (i % 13 == 7) words[i] = 0;
        }
        return words;
    }

    DigestSums start_;
    std::uint64_t seed_;
};

// Nothing, around a block, primes, around a workgroup's tile, several workgroups of the largest tile.
constexpr std::array<std::uint32_t, 12> kDigestCounts{0, 1, 3, 4, 5, 61, 255, 256, 257, 1021, 4099, 40009};

Problems digest_cases(std::uint64_t seed) {
    // As a first array finds them, and one addition away from every overflow.
    constexpr DigestSums kNone{};
    constexpr DigestSums kFull{0xFFFFFFFFU, 0xFFFFFFFFU, 0xFFFFFFFFU, 0xFFFFFFFFU, 0xFFFFFFFFU};
    Problems problems;
    for (const std::uint32_t count : kDigestCounts) {
        problems.push_back(std::make_unique<DigestProblem>(DigestDesc{.count = count}, 0, kNone, seed));
        problems.push_back(std::make_unique<DigestProblem>(DigestDesc{.count = count}, 0xFFFFFFFFU, kFull, seed + 1));
    }
    return problems;
}

/// Shapes worth timing.
Problems digest_benchmarks() { return problems_of<DigestProblem>({{.count = 1U << 16U}, {.count = 1U << 22U}}); }

/// An invocation takes 2 and 4 blocks.
Problems large_digests() { return problems_of<DigestProblem>({{.count = 1U << 19U}, {.count = 1U << 20U}}); }

}  // namespace

const Family& digest_family() noexcept {
    static constexpr Family kFamily{.name = "digest",
                                    .exactness = "E",
                                    .cases = &digest_cases,
                                    .benchmarks = &digest_benchmarks,
                                    .operation = &kOperationText<DigestDesc, &make_problem<DigestProblem>>,
                                    .large = &large_digests};
    return kFamily;
}

}  // namespace yolk::oracle
