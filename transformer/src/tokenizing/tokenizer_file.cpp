// SPDX-License-Identifier: Apache-2.0
// tokenizer.json, as Hugging Face's tokenizers write it.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "tokenizer_json.hpp"
#include "word_piece.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::transformer {
namespace {

constexpr std::string_view kBertAlone = "tokenizers of BERT (WordPiece)";

class TokenizerFile {
   public:
    TokenizerFile(Json json, std::string what) : json_(std::move(json)), what_(std::move(what)) {}

    Result<WordPiece::Rules> rules() {
        YOLK_TRY_VOID(read_vocabulary());
        YOLK_TRY_VOID(read_normalizer());
        const Json& splitter = member(json_, "pre_tokenizer");
        if (text_of(member(splitter, "type")) != "BertPreTokenizer") return bert_alone("pre_tokenizer", splitter);
        YOLK_TRY_VOID(read_added_tokens());
        YOLK_TRY_VOID(read_template());
        return std::move(rules_);
    }

   private:
    Error bert_alone(const char* part, const Json& given) const { return other_kind(part, given, what_, kBertAlone); }
    Result<std::uint32_t> id_of(const std::string& token, std::string_view why) const {
        const auto found = rules_.vocabulary.find(token);
        if (found != rules_.vocabulary.end()) return found->second;
        return bad_input("{} has no '{}' in its vocabulary, which is {}.", what_, shown(token), why);
    }

    Result<void> read_vocabulary() {
        const Json& model = member(json_, "model");
        if (text_of(member(model, "type")) != "WordPiece") return bert_alone("model", model);
        const Json& vocabulary = member(model, "vocab");
        if (!vocabulary.is_object() || vocabulary.empty())
            return bad_input("The model of {} has no vocabulary of words and their ids.", what_);
        std::vector<bool> taken(vocabulary.size(), false);
        for (const auto& [word, id] : vocabulary.items()) {
            const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < taken.size();
            if (!fits || taken[id.get<std::size_t>()]) {
                return bad_input("'{}' has the id {} in {}; the {} words need the ids from 0, each once.", shown(word),
                                 shown(to_line(id)), what_, taken.size());
            }
            taken[id.get<std::size_t>()] = true;
            rules_.vocabulary.emplace(word, static_cast<std::uint32_t>(id.get<std::uint64_t>()));
        }
        const Json& continuing = member(model, "continuing_subword_prefix");
        if (!continuing.is_null()) rules_.continuing = text_of(continuing);
        const Json& longest = member(model, "max_input_chars_per_word");
        if (longest.is_number_unsigned()) rules_.longest_word = longest.get<std::uint64_t>();
        YOLK_TRY(rules_.unknown, id_of(text_of(member(model, "unk_token")), "what words that it lacks become"));
        return {};
    }

    Result<void> read_normalizer() {
        const Json& normalizer = member(json_, "normalizer");
        if (text_of(member(normalizer, "type")) != "BertNormalizer") return bert_alone("normalizer", normalizer);
        BertNormalizer& rules = rules_.normalizer;
        YOLK_TRY_VOID(read_flag(normalizer, "clean_text", rules.clean, what_));
        YOLK_TRY_VOID(read_flag(normalizer, "handle_chinese_chars", rules.spaces_ideographs, what_));
        YOLK_TRY_VOID(read_flag(normalizer, "lowercase", rules.lower_case, what_));
        rules.strip_accents = rules.lower_case;  // where the file does not say
        return read_flag(normalizer, "strip_accents", rules.strip_accents, what_);
    }

    Result<void> read_added_tokens() {
        for (const Json& token : member(json_, "added_tokens")) {
            const std::string content = text_of(member(token, "content"));
            YOLK_TRY(const std::uint32_t id, id_of(content, "one of its added tokens"));
            if (member(token, "id") != id)
                return bad_input("The added token '{}' of {} has the id {}, and {} in the vocabulary.", shown(content),
                                 what_, shown(to_line(member(token, "id"))), id);
            for (const char* const rule : {"single_word", "lstrip", "rstrip", "normalized"}) {
                bool is_on = false;
                YOLK_TRY_VOID(read_flag(token, rule, is_on, what_));
                if (is_on)
                    return unsupported("The added token '{}' of {} has '{}', which is not supported.", shown(content),
                                       what_, rule);
            }
            rules_.whole.emplace_back(content, id);
        }
        return {};
    }

    Result<void> read_template() {
        const Json& processor = member(json_, "post_processor");
        const std::string type = text_of(member(processor, "type"));
        if (type == "BertProcessing") {
            for (const auto& [name, ids] : {std::pair("cls", &rules_.before), std::pair("sep", &rules_.after)}) {
                const Json& pair = member(processor, name);
                const std::string token = pair.is_array() && !pair.empty() ? text_of(pair[0]) : std::string();
                YOLK_TRY(const std::uint32_t id, id_of(token, "put around each text"));
                ids->push_back(id);
            }
            return {};
        }
        if (type != "TemplateProcessing") return bert_alone("post_processor", processor);
        bool is_behind = false;
        for (const Json& part : member(processor, "single")) {
            const Json& special = member(part, "SpecialToken");
            const Json& piece = special.is_null() ? member(part, "Sequence") : special;
            if (member(piece, "type_id") != 0U)
                return unsupported("The template of {} has {}; only the type 0 is supported.", what_,
                                   shown(to_line(part)));
            if (special.is_null()) {
                is_behind = true;
                continue;
            }
            YOLK_TRY(const std::uint32_t id, id_of(text_of(member(special, "id")), "put around each text"));
            (is_behind ? rules_.after : rules_.before).push_back(id);
        }
        if (!is_behind) return bad_input("The template of {} has no place for the text.", what_);
        return {};
    }

    Json json_;
    std::string what_;
    WordPiece::Rules rules_{};
};

}  // namespace

Result<WordPiece> WordPiece::read(const std::filesystem::path& path) {
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(Json json, read_tokenizer_json(path, what));
    YOLK_TRY(Rules rules, TokenizerFile(std::move(json), what).rules());
    return WordPiece(std::move(rules));
}

}  // namespace yolk::transformer
