// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/digest.hpp"

#include <algorithm>

#include "yolk/core/philox.hpp"

namespace yolk::reference {
namespace {

void add_pair(DigestSums& sums, std::size_t word, std::uint32_t low, std::uint32_t high) {
    const std::uint64_t sum =
        (std::uint64_t{sums.at(word + 1)} << 32U | sums.at(word)) + (std::uint64_t{high} << 32U | low);
    sums.at(word) = static_cast<std::uint32_t>(sum);
    sums.at(word + 1) = static_cast<std::uint32_t>(sum >> 32U);
}

}  // namespace

DigestSums digest_twin(std::span<const std::uint32_t> in, std::uint32_t array, DigestSums sums) {
    for (std::size_t first = 0; first < in.size(); first += 4) {
        PhiloxCounter words{};
        for (std::size_t i = 0; i < std::min<std::size_t>(4, in.size() - first); ++i) {
            words.at(i) = in[first + i];
            if ((words.at(i) & 0x7F800000U) == 0x7F800000U) ++sums[abi::digest::kSumNotFinite];
        }
        const PhiloxCounter mixed = philox4x32(words, {static_cast<std::uint32_t>(first / 4), array});
        add_pair(sums, abi::digest::kSumFirst, mixed[0], mixed[1]);
        add_pair(sums, abi::digest::kSumSecond, mixed[2], mixed[3]);
    }
    return sums;
}

}  // namespace yolk::reference
