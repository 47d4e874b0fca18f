// SPDX-License-Identifier: Apache-2.0
#include "yolk/digest.hpp"

#include <algorithm>

#include "twin_source.hpp"
#include "yolk/internal/abi/digest.h"
#include "yolk/internal/core/philox.hpp"

namespace yolk::reference {
namespace {

void add_pair(std::span<std::uint32_t> sums, std::size_t word, std::uint32_t low, std::uint32_t high) {
    const std::uint64_t sum = (std::uint64_t{sums[word + 1]} << 32U | sums[word]) + (std::uint64_t{high} << 32U | low);
    sums[word] = static_cast<std::uint32_t>(sum);
    sums[word + 1] = static_cast<std::uint32_t>(sum >> 32U);
}

}  // namespace

void run_twin(const DigestDesc& /*desc*/, const HostViews& views, std::uint32_t array) {
    const auto in = views.in<std::uint32_t>(0);
    const auto sums = views.out<std::uint32_t>(1);
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
}
template struct Twin<DigestDesc>;

}  // namespace yolk::reference
