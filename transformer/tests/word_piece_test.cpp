// SPDX-License-Identifier: Apache-2.0
// Words and ids as PyPI's tokenizers makes them (models/make.py).
#include "word_piece.hpp"

#include "models.hpp"

namespace yolk::transformer {
namespace {

using ::yolk::testing::expect_error;

BertNormalizer rules_from(const Json& json) {
    const bool lower = json.at("lowercase").get<bool>();
    const Json& strip = json.at("strip_accents");
    return {.clean = json.at("clean_text").get<bool>(),
            .spaces_ideographs = json.at("handle_chinese_chars").get<bool>(),
            .strip_accents = strip.is_null() ? lower : strip.get<bool>(),
            .lower_case = lower};
}

TEST(word_piece, words_are_those_of_tokenizers) {
    const Json cases = stored_json(models_folder() / "words.json");
    ASSERT_GT(cases.size(), 100U);
    for (const Json& one : cases) {
        const std::string where = one.at("rules").dump() + " of " + one.at("text").dump();
        const std::string plain = normalized(one.at("text").get<std::string>(), rules_from(one.at("rules")));
        EXPECT_EQ(plain, one.at("normalized").get<std::string>()) << where;
        const std::vector<std::string_view> words = split_words(plain);
        EXPECT_EQ(std::vector<std::string>(words.begin(), words.end()), one.at("words").get<std::vector<std::string>>())
            << where;
    }
}

TEST(word_piece, ids_are_those_of_tokenizers) {
    ASSERT_OK_AND_ASSIGN(const WordPiece tokenizer, WordPiece::read(models_folder() / "bert" / "tokenizer.json"));
    const Json texts = stored_json(models_folder() / "texts.json");
    ASSERT_GT(texts.size(), 20U);
    for (const Json& one : texts) {
        ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> ids,
                             tokenizer.ids(one.at("text").get<std::string>(), 24));
        EXPECT_EQ(ids, one.at("ids").get<std::vector<std::uint32_t>>()) << one.at("text").dump();
    }
}

TEST(word_piece, a_text_is_cut_off_inside_the_ids_around_it) {
    ASSERT_OK_AND_ASSIGN(const WordPiece tokenizer, WordPiece::read(models_folder() / "bert" / "tokenizer.json"));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> whole, tokenizer.ids("the cat sat", 100));
    ASSERT_EQ(whole.size(), 5U);
    ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> cut, tokenizer.ids("the cat sat", 4));
    EXPECT_EQ(cut, (std::vector<std::uint32_t>{whole[0], whole[1], whole[2], whole[4]}));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> none, tokenizer.ids("the cat sat", 2));
    EXPECT_EQ(none, (std::vector<std::uint32_t>{whole[0], whole[4]}));
}

TEST(word_piece, a_megabyte_without_a_space_is_one_unknown_word) {
    ASSERT_OK_AND_ASSIGN(const WordPiece tokenizer, WordPiece::read(models_folder() / "bert" / "tokenizer.json"));
    ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> ids, tokenizer.ids(std::string(1U << 20U, 'x'), 100));
    EXPECT_EQ(ids, (std::vector<std::uint32_t>{2, 1, 3}));  // [CLS] [UNK] [SEP]
}

TEST(word_piece, refuses_what_is_not_utf8) {
    ASSERT_OK_AND_ASSIGN(const WordPiece tokenizer, WordPiece::read(models_folder() / "bert" / "tokenizer.json"));
    EXPECT_TRUE(expect_error(tokenizer.ids("a\xC3", 10), ErrorKind::BadInput, "not UTF-8"));
    EXPECT_TRUE(expect_error(tokenizer.ids("\xED\xA0\x80", 10), ErrorKind::BadInput, "not UTF-8"));
}

struct SpoiltTokenizer {
    std::string name;
    std::function<void(Json&)> spoil;
    ErrorKind kind;
    std::string message;
};
TEST(word_piece, refuses_tokenizers_of_other_kinds) {
    const std::vector<SpoiltTokenizer> cases{
        {"model", [](Json& j) { j["model"]["type"] = "BPE"; }, ErrorKind::Unsupported, "model of .* is 'BPE'"},
        {"normalizer",
         [](Json& j) {
             j["normalizer"] = {{"type", "NFC"}};
         },
         ErrorKind::Unsupported, "'NFC'"},
        {"none", [](Json& j) { j["normalizer"] = nullptr; }, ErrorKind::Unsupported, "normalizer of .* is missing"},
        {"splitter", [](Json& j) { j["pre_tokenizer"]["type"] = "ByteLevel"; }, ErrorKind::Unsupported, "'ByteLevel'"},
        {"template", [](Json& j) { j["post_processor"] = nullptr; }, ErrorKind::Unsupported, "post_processor"},
        {"empty", [](Json& j) { j["model"]["vocab"] = Json::object(); }, ErrorKind::BadInput, "no vocabulary"},
        {"hole", [](Json& j) { j["model"]["vocab"]["cat"] = 100000; }, ErrorKind::BadInput, "'cat' has the id 100000"},
        {"twice", [](Json& j) { j["model"]["vocab"]["cat"] = 0; }, ErrorKind::BadInput, "the id 0"},
        {"unknown", [](Json& j) { j["model"]["unk_token"] = "<unk>"; }, ErrorKind::BadInput, "no '<unk>'"},
        {"added", [](Json& j) { j["added_tokens"][0]["id"] = 7; }, ErrorKind::BadInput, "'\\[PAD\\]' .* has the id 7"},
        {"lstrip", [](Json& j) { j["added_tokens"][0]["lstrip"] = true; }, ErrorKind::Unsupported, "'lstrip'"},
        {"type", [](Json& j) { j["post_processor"]["single"][0]["SpecialToken"]["type_id"] = 1; },
         ErrorKind::Unsupported, "only the type 0"},
        {"list", [](Json& j) { j = Json::array(); }, ErrorKind::Unsupported, "missing"},
    };
    for (const SpoiltTokenizer& one : cases) {
        SCOPED_TRACE(one.name);
        const CopiedModel copy;
        copy.change_json("tokenizer.json", one.spoil);
        const auto read = WordPiece::read(copy.folder() / "tokenizer.json");
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().kind, one.kind);
        EXPECT_THAT(read.error().message, ::testing::ContainsRegex(one.message));
    }
}

}  // namespace
}  // namespace yolk::transformer
