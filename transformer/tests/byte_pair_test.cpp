// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE beside PyPI's tokenizers (models/make_decoders.py).
#include "byte_pair.hpp"

#include <gmock/gmock.h>

#include "models.hpp"

namespace yolk::transformer {
namespace {

using ::yolk::testing::expect_error;

std::filesystem::path tokenizer_path(const std::string& kind) {
    return kind == "qwen" ? models_folder() / "qwen-tokenizer.json" : models_folder() / kind / "tokenizer.json";
}

TEST(byte_pair, ids_are_those_of_tokenizers) {
    const Json cases = stored_json(models_folder() / "bpe.json");
    ASSERT_EQ(cases.size(), 3U);
    for (const auto& [kind, texts] : cases.items()) {
        ASSERT_OK_AND_ASSIGN(const BytePair tokenizer, BytePair::read(tokenizer_path(kind)));
        for (const Json& one : texts) {
            const auto text = one.at("text").get<std::string>();
            ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> ids, tokenizer.ids(text));
            EXPECT_EQ(ids, one.at("ids").get<std::vector<std::uint32_t>>()) << kind << ": " << one.dump();
        }
    }
}

TEST(byte_pair, ids_become_the_text_again) {
    const Json cases = stored_json(models_folder() / "bpe.json");
    ASSERT_OK_AND_ASSIGN(const BytePair tokenizer, BytePair::read(tokenizer_path("llama")));
    for (const Json& one : cases.at("llama")) {
        const auto text = one.at("text").get<std::string>();
        if (text.find("<|") != std::string::npos) continue;  // special tokens are left out
        ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> ids, tokenizer.ids(text));
        EXPECT_EQ(tokenizer.text(ids), text);
    }
    ASSERT_OK_AND_ASSIGN(std::vector<std::uint32_t> ids, tokenizer.ids("a🙂<|end|>"));
    EXPECT_EQ(tokenizer.text(ids), "a🙂");
    ASSERT_OK_AND_ASSIGN(ids, tokenizer.ids("é!"));
    ASSERT_EQ(ids.size(), 4U) << "<|begin|>, two bytes and a mark";
    EXPECT_EQ(tokenizer.text(std::span(ids).first(2)), "\uFFFD");
    EXPECT_EQ(tokenizer.text(std::vector<std::uint32_t>{100000}), "") << "a row that pads the table";
}

TEST(byte_pair, long_words_take_no_square_of_their_length) {
    ASSERT_OK_AND_ASSIGN(const BytePair tokenizer, BytePair::read(tokenizer_path("llama")));
    const std::string text(1U << 20U, 'a');
    ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> ids, tokenizer.ids(text));
    EXPECT_EQ(tokenizer.text(ids), text);
}

TEST(byte_pair, refuses_what_is_not_utf8) {
    ASSERT_OK_AND_ASSIGN(const BytePair tokenizer, BytePair::read(tokenizer_path("llama")));
    EXPECT_TRUE(expect_error(tokenizer.ids("a\xC3"), ErrorKind::BadInput, "not UTF-8"));
}

struct SpoiltBytePair {
    std::string name;
    std::function<void(Json&)> spoil;
    ErrorKind kind;
    std::string message;
};
TEST(byte_pair, refuses_tokenizers_of_other_kinds) {
    const auto other = ErrorKind::Unsupported;
    const auto bad = ErrorKind::BadInput;
    const std::vector<SpoiltBytePair> cases{
        {"model", [](Json& j) { j["model"]["type"] = "Unigram"; }, other, "model of .* is 'Unigram'"},
        {"fallback", [](Json& j) { j["model"]["byte_fallback"] = true; }, other, "'byte_fallback' .* is true"},
        {"dropout", [](Json& j) { j["model"]["dropout"] = 0.1; }, other, "'dropout'"},
        {"suffix", [](Json& j) { j["model"]["end_of_word_suffix"] = "</w>"; }, other, "'end_of_word_suffix'"},
        {"normalizer",
         [](Json& j) {
             j["normalizer"] = {{"type", "NFKC"}};
         },
         other, "normalizer of .* is 'NFKC'"},
        {"none", [](Json& j) { j["pre_tokenizer"] = nullptr; }, other, "pre_tokenizer of .* is missing"},
        {"metaspace", [](Json& j) { j["pre_tokenizer"]["type"] = "Metaspace"; }, other, "'Metaspace'"},
        {"expression", [](Json& j) { j["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\w+"; }, other,
         "splits texts by .*w\\+.*; the expressions of GPT-2, Llama 3 and Qwen 2"},
        {"behavior", [](Json& j) { j["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed"; }, other, "Removed"},
        {"prefix", [](Json& j) { j["pre_tokenizer"]["pretokenizers"][1]["add_prefix_space"] = true; }, other,
         "'add_prefix_space'"},
        {"template",
         [](Json& j) {
             j["post_processor"] = {{"type", "RobertaProcessing"}};
         },
         other, "'Roberta"},
        {"around", [](Json& j) { j["added_tokens"].erase(0); }, bad, "puts '<\\|begin\\|>' around each text"},
        {"stripping", [](Json& j) { j["added_tokens"][0]["lstrip"] = true; }, other, "'lstrip'"},
        {"empty", [](Json& j) { j["model"]["vocab"] = Json::object(); }, bad, "no vocabulary"},
        {"byte", [](Json& j) { j["model"]["vocab"].erase("!"); }, bad, "no token for the byte 0x21"},
        {"twice", [](Json& j) { j["model"]["vocab"]["!"] = 1; }, bad, "has the id 1"},
        {"id", [](Json& j) { j["model"]["vocab"]["!"] = -1; }, bad, "'!' has the id -1"},
        {"merge",
         [](Json& j) {
             j["model"]["merges"][3] = Json::array({"t", "q"});
         },
         bad, "Merge 3 of .*\"q\""},
        {"merges", [](Json& j) { j["model"].erase("merges"); }, bad, "no list of merges"},
        {"added", [](Json& j) { j["added_tokens"][0]["id"] = 7; }, bad, "has the id 7"},
    };
    for (const SpoiltBytePair& one : cases) {
        SCOPED_TRACE(one.name);
        const CopiedModel copy("llama");
        copy.change_json("tokenizer.json", one.spoil);
        const auto read = BytePair::read(copy.folder() / "tokenizer.json");
        ASSERT_FALSE(read);
        EXPECT_EQ(read.error().kind, one.kind) << read.error().message;
        EXPECT_THAT(read.error().message, ::testing::ContainsRegex(one.message));
    }
}

}  // namespace
}  // namespace yolk::transformer
