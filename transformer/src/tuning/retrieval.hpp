// SPDX-License-Identifier: Apache-2.0
// Queries and documents by number, and how well vectors find them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "yolk/finetune.hpp"

namespace yolk::transformer {

/// Pairs whose texts have numbers: equal texts the same.
struct NumberedPairs {
    struct Pair {
        std::uint32_t query = 0, document = 0;
    };
    std::vector<std::string> queries{}, documents{};
    std::map<std::string, std::uint32_t> query_numbers{}, document_numbers{};
    std::vector<Pair> pairs{};
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> grades{};  ///< by query and document
};
/// Error: a pair that is there with two grades.
[[nodiscard]] Result<NumberedPairs> number_pairs(std::span<const RelevantPair> pairs);

/// As ndcg(), of some of the pairs: `vectors[i]` is of `of[i]`. Nothing where none of their queries has a relevant
/// document.
[[nodiscard]] Result<std::optional<double>> ndcg_of(const NumberedPairs& all, std::span<const NumberedPairs::Pair> of,
                                                    std::span<const std::span<const float>> vectors);

/// The cosine of two vectors; 0 where one has no length.
[[nodiscard]] double cosine(std::span<const float> a, std::span<const float> b);

}  // namespace yolk::transformer
