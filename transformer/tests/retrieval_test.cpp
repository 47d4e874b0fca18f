// SPDX-License-Identifier: Apache-2.0
// NDCG@10 beside values worked out by hand, and files of pairs.
#include <gmock/gmock.h>

#include <fstream>

#include "models.hpp"
#include "yolk/finetune.hpp"

namespace yolk::transformer {
namespace {

using ::testing::ElementsAre;

constexpr double kSecond = 0.6309297535714575;  // 1 / log2(3)

/// Vectors of two numbers each: the query's, then the document's.
std::vector<float> vectors_of(std::initializer_list<std::initializer_list<float>> pairs) {
    std::vector<float> all;
    for (const auto& pair : pairs) all.insert(all.end(), pair);
    return all;
}

TEST(retrieval, ndcg_of_one_relevant_document_each) {
    // "a" finds its document first; "b", at (0, 1), finds that of "a" (cosine .8) before its own (cosine .6).
    const std::vector<RelevantPair> pairs{{"a", "of a"}, {"b", "of b"}};
    ASSERT_OK_AND_ASSIGN(const double found, ndcg(pairs, vectors_of({{.6F, .8F, .6F, .8F}, {0, 1, -.8F, .6F}})));
    EXPECT_DOUBLE_EQ(found, (1.0 + kSecond) / 2.0);
    // Lengths do not matter.
    ASSERT_OK_AND_ASSIGN(const double again, ndcg(pairs, vectors_of({{6, 8, 3, 4}, {0, 5, -.8F, .6F}})));
    EXPECT_DOUBLE_EQ(again, found);
}

TEST(retrieval, ndcg_with_grades) {
    // Places: "x" with 0, "z" with 2, "y" with 1. DCG = 0 + 2 / log2(3) + 1 / log2(4); the best order has 2 + 1 /
    // log2(3).
    const std::vector<RelevantPair> pairs{{"q", "x", 0.0}, {"q", "y", 1.0}, {"q", "z", 2.0}};
    ASSERT_OK_AND_ASSIGN(const double found, ndcg(pairs, vectors_of({{1, 0, 1, 0}, {1, 0, 0, 1}, {1, 0, .6F, .8F}})));
    EXPECT_DOUBLE_EQ(found, (2.0 * kSecond + 0.5) / (2.0 + kSecond));
}

TEST(retrieval, ndcg_ends_at_the_tenth_place_and_ties_are_lost) {
    std::vector<RelevantPair> pairs{{"q", "mine"}};
    std::vector<float> vectors = vectors_of({{1, 0, .5F, 1}});
    for (int i = 0; i < 10; ++i) {
        const auto name = std::to_string(i);
        pairs.push_back({"q", "other " + name, 0.0});
        const std::vector<float> one = vectors_of({{1, 0, 1, 0}});
        vectors.insert(vectors.end(), one.begin(), one.end());
        ASSERT_OK_AND_ASSIGN(const double found, ndcg(pairs, vectors));
        EXPECT_EQ(found > 0.0, i < 9) << "the eleventh place gains nothing";
    }
    vectors[2] = 1;
    vectors[3] = 0;
    EXPECT_EQ(ndcg(pairs, vectors).value(), 0.0) << "a model whose vectors are all the same finds nothing";
}

TEST(retrieval, a_text_of_several_pairs_counts_once) {
    const std::vector<RelevantPair> once{{"a", "x"}, {"b", "y"}}, twice{{"a", "x"}, {"b", "y"}, {"b", "x"}};
    const std::vector<float> vectors = vectors_of({{1, 0, .6F, .8F}, {0, 1, 1, 0}});
    ASSERT_OK_AND_ASSIGN(const double of_once, ndcg(once, vectors));
    EXPECT_DOUBLE_EQ(of_once, kSecond) << "both find the other's document first";
    std::vector<float> more = vectors;
    more.insert(more.end(), {0, 1, .6F, .8F});
    ASSERT_OK_AND_ASSIGN(const double of_twice, ndcg(twice, more));
    EXPECT_DOUBLE_EQ(of_twice, (kSecond + 1.0) / 2.0) << "both documents are relevant to 'b'";
}

TEST(retrieval, ndcg_of_nothing) {
    using ::yolk::testing::expect_error;
    EXPECT_TRUE(expect_error(ndcg({}, {}), ErrorKind::BadInput, "no pair"));
    const std::vector<RelevantPair> pairs{{"a", "x", 0.0}, {"b", "y", 0.0}};
    EXPECT_TRUE(expect_error(ndcg(pairs, std::vector<float>(8, 1.0F)), ErrorKind::BadInput, "all grades are 0"));
    EXPECT_TRUE(expect_error(ndcg(pairs, std::vector<float>(7, 1.0F)), ErrorKind::BadInput, "7 numbers"));
    EXPECT_TRUE(expect_error(ndcg(pairs, std::vector<float>(8, NAN)), ErrorKind::Failed, "not finite"));
    const std::vector<RelevantPair> two_grades{{"a", "x", 1.0}, {"a", "x", 2.0}};
    EXPECT_TRUE(expect_error(ndcg(two_grades, std::vector<float>(8, 1.0F)), ErrorKind::BadInput, "grades 1 and 2"));
}

class pair_files : public ::testing::Test {
   protected:
    void SetUp() override { std::filesystem::create_directories(folder_); }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    [[nodiscard]] std::filesystem::path write(const std::string& name, std::string_view text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
        return folder_ / name;
    }
    void refused(const std::string& name, std::string_view text, const std::string& why) const {
        EXPECT_TRUE(::yolk::testing::expect_error(read_pairs(write(name, text)), ErrorKind::BadInput, why)) << text;
    }
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("yolk-pairs-" + std::to_string(::getpid()));
};

TEST_F(pair_files, of_columns_and_of_json) {
    ASSERT_OK_AND_ASSIGN(const auto columns,
                         read_pairs(write("a.tsv", "a cat\tthe cat\r\n\nb\tx y\t2.5\n\xC3\xA9\td\t0")));
    ASSERT_OK_AND_ASSIGN(const auto json,
                         read_pairs(write("a.jsonl",
                                          "{\"query\": \"a cat\", \"document\": \"the cat\", \"more\": 1}\n"
                                          "{\"document\": \"x y\", \"query\": \"b\", \"grade\": 2.5}\n"
                                          "{\"query\": \"\\u00e9\", \"document\": \"d\", \"grade\": 0}\n")));
    for (const auto& pairs : {columns, json}) {
        ASSERT_EQ(pairs.size(), 3U);
        std::vector<double> grades;
        for (const RelevantPair& pair : pairs) grades.push_back(pair.grade);
        EXPECT_THAT(grades, ElementsAre(1.0, 2.5, 0.0));
        EXPECT_EQ(pairs[0].query + "|" + pairs[0].document, "a cat|the cat");
        EXPECT_EQ(pairs[1].document, "x y");
        EXPECT_EQ(pairs[2].query, "\xC3\xA9");
    }
}

TEST_F(pair_files, mistakes_are_named_by_line) {
    refused("a.tsv", "", "has no pair");
    refused("a.tsv", "\n\n", "has no pair");
    refused("a.tsv", "a\tb\nno document\n", "line 2 has no tabulator");
    refused("a.tsv", "a\tb\nc\t\n", "line 2 has an empty document");
    refused("a.tsv", "a\tb\n\n \tc\n", "line 3 has an empty query");
    refused("a.tsv", "a\tb\t1\t2\n", "line 1 has more than two tabulators");
    refused("a.tsv", "a\tb\tgood\n", "line 1: the grade 'good' is no number");
    refused("a.tsv", "a\tb\t\n", "line 1: the grade '' is no number");
    refused("a.tsv", "a\tb\t-1\n", "line 1: the grade is -1; it must be from 0 to 1000");
    refused("a.tsv", "a\tb\tnan\n", "line 1: the grade is nan");
    refused("a.tsv", "a\tb\nc\xFF\td\n", "line 2 is not UTF-8");
    refused("a.jsonl", "{\"query\": \"a\", \"document\": \"b\"}\n{\"query\": \"a\"}\n",
            "line 2 has no text 'document'");
    refused("a.jsonl", "{\"query\": 1, \"document\": \"b\"}\n", "line 1 has no text 'query'");
    refused("a.jsonl", "[1]\n", "line 1 is no JSON object");
    refused("a.jsonl", "{\"query\"\n", "line 1");
    refused("a.jsonl", "{\"query\": \"a\", \"document\": \"b\", \"grade\": \"1\"}\n", "line 1: the grade");
    EXPECT_TRUE(::yolk::testing::expect_error(read_pairs(folder_ / "none"), ErrorKind::Io, "none"));
}

}  // namespace
}  // namespace yolk::transformer
