// SPDX-License-Identifier: Apache-2.0
#include "score_ranks.hpp"

#include <array>
#include <bit>

namespace yolk::evolve {
namespace {

/// A digit of 11 bits: three of them are a key, and the counters of one stay in the first cache.
constexpr std::uint32_t kSortDigitBits = 11;
constexpr std::uint32_t kSortDigitValues = 1U << kSortDigitBits;

/// The key in the order of the finite floats, above the member.
std::uint64_t keyed_member(float score, std::uint32_t member) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(score);
    const std::uint32_t key = (bits >> 31U) != 0 ? ~bits : bits | 0x80000000U;
    return (std::uint64_t{key} << 32U) | member;
}

/// By key; equal ones stay in their order.
void sort_by_key(std::vector<std::uint64_t>& entries) {
    std::vector<std::uint64_t> moved(entries.size());
    for (std::uint32_t shift = 32; shift < 64; shift += kSortDigitBits) {
        std::array<std::uint32_t, kSortDigitValues> places{};
        const auto digit = [shift](std::uint64_t entry) { return (entry >> shift) % kSortDigitValues; };
        for (const std::uint64_t entry : entries) ++places[digit(entry)];
        std::uint32_t next = 0;
        for (std::uint32_t& place : places) {
            const std::uint32_t count = place;
            place = next;
            next += count;
        }
        for (const std::uint64_t entry : entries) moved[places[digit(entry)]++] = entry;
        entries.swap(moved);
    }
}

}  // namespace

std::vector<std::int32_t> centred_score_ranks(std::span<const float> scores) {
    std::vector<std::uint64_t> entries(scores.size());
    for (std::uint32_t member = 0; member < scores.size(); ++member)
        entries[member] = keyed_member(scores[member], member);
    sort_by_key(entries);
    std::vector<std::int32_t> ranks(scores.size());
    for (std::size_t begin = 0; begin < entries.size();) {
        std::size_t end = begin;
        while (end < entries.size() && entries[end] >> 32U == entries[begin] >> 32U) ++end;
        const auto doubled = static_cast<std::int32_t>(begin + end) - static_cast<std::int32_t>(entries.size());
        for (; begin < end; ++begin) ranks[entries[begin] & UINT32_MAX] = doubled;
    }
    return ranks;
}

}  // namespace yolk::evolve
