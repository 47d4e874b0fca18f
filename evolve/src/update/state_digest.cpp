// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/state_digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "yolk/digest.hpp"
#include "yolk/internal/abi/digest.h"
#include "yolk/twin.hpp"

namespace yolk::evolve {
namespace {

std::uint64_t wide(std::span<const std::uint32_t> sums, std::uint32_t word) {
    return std::uint64_t{sums[word + 1]} << 32U | sums[word];
}

using Sums = std::array<std::uint32_t, abi::digest::kSumWords>;

void add(std::span<const std::uint32_t> words, std::uint32_t array, Sums& sums) {
    reference::twin_of(DigestDesc{.count = static_cast<std::uint32_t>(words.size())}, {words, sums}, array);
}
void add(std::span<const float> values, std::uint32_t array, Sums& sums) {
    std::vector<std::uint32_t> words(values.size());
    std::ranges::transform(values, words.begin(), [](float value) { return std::bit_cast<std::uint32_t>(value); });
    add(std::span<const std::uint32_t>(words), array, sums);
}

}  // namespace

Result<std::string> state_digest(std::span<const std::uint32_t> sums, const StateCounts& counts) {
    if (const std::uint32_t bad = sums[abi::digest::kSumNotFinite]; bad != 0) {
        return failed_work(
            "After {} generations {} values of the parameters and the optimizer's state are not finite: training has "
            "diverged. Lower the learning rate or sigma.",
            counts.generations, bad);
    }
    const std::array block{static_cast<std::uint32_t>(counts.generations),
                           static_cast<std::uint32_t>(counts.generations >> 32U), counts.parameters,
                           counts.optimizer_state};
    Sums all{};
    std::ranges::copy(sums.first(all.size()), all.begin());
    add(std::span<const std::uint32_t>(block), kDigestOfCounts, all);
    return fmt::format("{:016x}{:016x}", wide(all, abi::digest::kSumSecond), wide(all, abi::digest::kSumFirst));
}

Result<std::string> state_digest(std::span<const float> parameters, std::span<const float> optimizer_state,
                                 std::uint64_t generations) {
    Sums sums{};
    add(parameters, kDigestOfParameters, sums);
    add(optimizer_state, kDigestOfOptimizer, sums);
    return state_digest(sums, {.parameters = static_cast<std::uint32_t>(parameters.size()),
                               .optimizer_state = static_cast<std::uint32_t>(optimizer_state.size()),
                               .generations = generations});
}

}  // namespace yolk::evolve
