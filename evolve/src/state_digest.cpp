// SPDX-License-Identifier: Apache-2.0
#include "yolk/evolve/state_digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "yolk/reference/digest.hpp"

namespace yolk::evolve {
namespace {

std::uint64_t wide(std::span<const std::uint32_t> sums, std::uint32_t word) {
    return std::uint64_t{sums[word + 1]} << 32U | sums[word];
}

reference::DigestSums add(std::span<const float> values, std::uint32_t array, const reference::DigestSums& sums) {
    std::vector<std::uint32_t> words(values.size());
    std::ranges::transform(values, words.begin(), [](float value) { return std::bit_cast<std::uint32_t>(value); });
    return reference::digest_twin(words, array, sums);
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
    reference::DigestSums all{};
    std::ranges::copy(sums.first(all.size()), all.begin());
    all = reference::digest_twin(block, kDigestOfCounts, all);
    return fmt::format("{:016x}{:016x}", wide(all, abi::digest::kSumSecond), wide(all, abi::digest::kSumFirst));
}

Result<std::string> state_digest(std::span<const float> parameters, std::span<const float> optimizer_state,
                                 std::uint64_t generations) {
    const reference::DigestSums sums =
        add(optimizer_state, kDigestOfOptimizer, add(parameters, kDigestOfParameters, {}));
    return state_digest(sums, {.parameters = static_cast<std::uint32_t>(parameters.size()),
                               .optimizer_state = static_cast<std::uint32_t>(optimizer_state.size()),
                               .generations = generations});
}

}  // namespace yolk::evolve
