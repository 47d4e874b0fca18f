// SPDX-License-Identifier: Apache-2.0
#include "member_sums.hpp"

namespace yolk::evolve {

Result<std::span<const std::uint32_t>> counted_by(const MemberEvaluator& evaluator, const MemberRange& members,
                                                  std::size_t words) {
    if (words == 0) return std::span<const std::uint32_t>();
    const std::span<const std::uint32_t> counts = evaluator.counts();
    if (counts.size() == words * members.count) return counts;
    return failed_work("An evaluator counted {} words for {} members; {} of each were asked for.", counts.size(),
                       members.count, words);
}

void add_counts(std::span<const std::uint32_t> counts, std::span<std::uint64_t> sums) noexcept {
    for (std::size_t i = 0; i < counts.size(); ++i) sums[i % sums.size()] += counts[i];
}

std::vector<float> tail_after(const MemberCounts& counts, std::span<const float> parameters,
                              std::span<const std::uint64_t> sums) {
    return counts.words == 0 ? std::vector<float>() : counts.follow(parameters.last(counts.elements), sums);
}

}  // namespace yolk::evolve
