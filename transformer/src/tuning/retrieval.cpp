// SPDX-License-Identifier: Apache-2.0
#include "retrieval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "yolk/internal/core/printable.hpp"

namespace yolk::transformer {
namespace {

/// 1 / log2(place + 1), written out: the same bits whatever the library's logarithm.
constexpr std::array<double, 10> kDiscounts{1.0,
                                            0.6309297535714575,
                                            0.5,
                                            0.43067655807339306,
                                            0.38685280723454163,
                                            0.3562071871080222,
                                            0.3333333333333333,
                                            0.31546487678572877,
                                            0.3010299956639812,
                                            0.2890648263178879};

struct RankedDocument {
    double score = 0.0, grade = 0.0;
};

double gain_of(std::span<const RankedDocument> ranked) {
    double sum = 0.0;
    for (std::size_t place = 0; place < std::min(ranked.size(), kDiscounts.size()); ++place)
        sum += ranked[place].grade * kDiscounts[place];
    return sum;
}

/// Nothing for a query without a relevant document.
std::optional<double> ndcg_of_query(std::vector<RankedDocument> documents) {
    std::ranges::sort(documents, [](const RankedDocument& a, const RankedDocument& b) {
        return a.score != b.score ? a.score > b.score : a.grade < b.grade;
    });
    const double found = gain_of(documents);
    std::ranges::sort(documents, std::greater<>(), &RankedDocument::grade);
    const double ideal = gain_of(documents);
    return ideal > 0.0 ? std::optional(found / ideal) : std::nullopt;
}

std::uint32_t numbered(std::map<std::string, std::uint32_t>& known, std::vector<std::string>& texts,
                       const std::string& text) {
    const auto [found, is_new] = known.emplace(text, static_cast<std::uint32_t>(texts.size()));
    if (is_new) texts.push_back(text);
    return found->second;
}

}  // namespace

Result<NumberedPairs> number_pairs(std::span<const RelevantPair> pairs) {
    NumberedPairs all;
    for (const RelevantPair& pair : pairs) {
        const std::uint32_t query = numbered(all.query_numbers, all.queries, pair.query);
        const std::uint32_t document = numbered(all.document_numbers, all.documents, pair.document);
        const auto [known, is_new] = all.grades.emplace(std::pair(query, document), pair.grade);
        if (!is_new && known->second != pair.grade) {
            return bad_input("The query '{}' has one document twice, with the grades {} and {}.", shown(pair.query),
                             known->second, pair.grade);
        }
        if (is_new) all.pairs.push_back({query, document});
    }
    return all;
}

double cosine(std::span<const float> a, std::span<const float> b) {
    double product = 0.0, of_a = 0.0, of_b = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        product += double{a[i]} * double{b[i]};
        of_a += double{a[i]} * double{a[i]};
        of_b += double{b[i]} * double{b[i]};
    }
    const double lengths = std::sqrt(of_a) * std::sqrt(of_b);
    return lengths > 0.0 ? product / lengths : 0.0;
}

Result<std::optional<double>> ndcg_of(const NumberedPairs& all, std::span<const NumberedPairs::Pair> of,
                                      std::span<const std::span<const float>> vectors) {
    std::map<std::uint32_t, std::span<const float>> queries, documents;
    for (std::size_t i = 0; i < of.size(); ++i) {
        const std::size_t width = vectors[i].size() / 2;
        if (!std::ranges::all_of(vectors[i], [](float value) { return std::isfinite(value); }))
            return failed_work("The vectors of pair {} are not finite.", i);
        queries.emplace(of[i].query, vectors[i].first(width));
        documents.emplace(of[i].document, vectors[i].last(width));
    }
    double sum = 0.0;
    std::size_t counted = 0;
    std::vector<RankedDocument> ranked;
    for (const auto& [query, of_query] : queries) {
        ranked.clear();
        for (const auto& [document, of_document] : documents) {
            const auto grade = all.grades.find({query, document});
            ranked.push_back(
                {.score = cosine(of_query, of_document), .grade = grade == all.grades.end() ? 0.0 : grade->second});
        }
        const std::optional<double> found = ndcg_of_query(ranked);
        if (!found) continue;
        sum += *found;
        ++counted;
    }
    return counted == 0 ? std::nullopt : std::optional(sum / static_cast<double>(counted));
}

Result<double> ndcg(std::span<const RelevantPair> pairs, std::span<const float> vectors) {
    if (pairs.empty()) return bad_input("There is no pair to score; give at least one.");
    if (vectors.size() % (2 * pairs.size()) != 0)
        return bad_input("{} numbers are no two vectors for each of {} pairs.", vectors.size(), pairs.size());
    YOLK_TRY(const NumberedPairs all, number_pairs(pairs));
    std::vector<NumberedPairs::Pair> of;
    std::vector<std::span<const float>> each;
    const std::size_t width = vectors.size() / pairs.size();
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        of.push_back({all.query_numbers.at(pairs[i].query), all.document_numbers.at(pairs[i].document)});
        each.push_back(vectors.subspan(i * width, width));
    }
    YOLK_TRY(const std::optional<double> found, ndcg_of(all, of, each));
    if (!found) return bad_input("No query has a relevant document: all grades are 0.");
    return *found;
}

}  // namespace yolk::transformer
