// SPDX-License-Identifier: Apache-2.0
// tokenizer.json of a byte-level BPE.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "byte_pair.hpp"
#include "tokenizer_json.hpp"
#include "unicode_text.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::transformer {
namespace {

constexpr std::string_view kBytesAlone = "byte-level BPE tokenizers (docs/transformers.md)";
constexpr std::uint64_t kMostIds = 1U << 20U;
constexpr std::uint32_t kNoId = std::numeric_limits<std::uint32_t>::max();

constexpr std::pair<std::string_view, WordRule> kExpressions[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", WordRule::Gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordRule::Llama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     WordRule::Qwen2},
};

/// Each byte as the character that such files write for it: itself where it is printable, otherwise one from U+0100.
std::array<std::int32_t, 256> characters_of_bytes() {
    std::array<std::int32_t, 256> characters{};
    std::int32_t next = 256;
    for (std::int32_t byte = 0; byte < 256; ++byte) {
        const bool is_itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
        characters[static_cast<std::size_t>(byte)] = is_itself ? byte : next++;
    }
    return characters;
}

/// Nothing where a character stands for no byte.
std::optional<std::string> bytes_of(std::string_view token) {
    static const std::array<std::int32_t, 256> kCharacters = characters_of_bytes();
    std::string bytes;
    while (!token.empty()) {
        const Character next = first_character(token);
        const auto found = std::ranges::find(kCharacters, next.code);
        if (found == kCharacters.end()) return std::nullopt;
        bytes += static_cast<char>(found - kCharacters.begin());
        token.remove_prefix(next.bytes.size());
    }
    return bytes;
}

class BytePairFile {
   public:
    BytePairFile(Json json, std::string what) : json_(std::move(json)), what_(std::move(what)) {}

    Result<BytePair::Rules> rules() {
        YOLK_TRY_VOID(read_model());
        YOLK_TRY_VOID(read_words());
        YOLK_TRY_VOID(read_added());
        YOLK_TRY_VOID(read_around(member(json_, "post_processor")));
        const Json& normalizer = member(json_, "normalizer");
        rules_.composes = text_of(member(normalizer, "type")) == "NFC";
        if (!normalizer.is_null() && !rules_.composes) return bytes_alone("normalizer", normalizer);
        return std::move(rules_);
    }

   private:
    Error bytes_alone(std::string_view part, const Json& given) const {
        return other_kind(part, given, what_, kBytesAlone);
    }
    /// A setting that is on, where the default is off.
    Result<void> refuse(const Json& object, const char* name) const {
        const Json& value = member(object, name);
        if (value.is_null() || value == false || value == "") return {};
        return unsupported("'{}' in {} is {}, which is not supported.", name, what_, shown(to_line(value)));
    }
    Result<void> take_id(const Json& id, std::string_view token, std::string bytes, bool is_special) {
        const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() < kMostIds;
        const std::size_t at = fits ? id.get<std::size_t>() : 0;
        if (fits && at >= rules_.tokens.size()) {
            rules_.tokens.resize(at + 1);
            rules_.is_special.resize(at + 1, false);
        }
        if (!fits || !rules_.tokens[at].empty())
            return bad_input("'{}' has the id {} in {}; each id is below {} and has one token.", shown(token),
                             shown(to_line(id)), what_, kMostIds);
        rules_.tokens[at] = std::move(bytes);
        rules_.is_special[at] = is_special;
        return {};
    }
    [[nodiscard]] std::uint32_t id_of(std::string_view bytes) const {
        const auto found = rules_.vocabulary.find(bytes);
        return found == rules_.vocabulary.end() ? kNoId : found->second;
    }

    Result<void> read_model() {
        const Json& model = member(json_, "model");
        if (text_of(member(model, "type")) != "BPE") return bytes_alone("model", model);
        for (const char* const name : {"dropout", "byte_fallback", "continuing_subword_prefix", "end_of_word_suffix"})
            YOLK_TRY_VOID(refuse(model, name));
        YOLK_TRY_VOID(read_flag(model, "ignore_merges", rules_.takes_whole_words, what_));
        const Json& vocabulary = member(model, "vocab");
        if (!vocabulary.is_object() || vocabulary.empty())
            return bad_input("The model of {} has no vocabulary of tokens and their ids.", what_);
        for (const auto& [token, id] : vocabulary.items()) {
            // A token with another character is an added one, which files may list here as well.
            const std::optional<std::string> bytes = bytes_of(token);
            YOLK_TRY_VOID(take_id(id, token, bytes.value_or(token), false));
            if (bytes) rules_.vocabulary.emplace(*bytes, id.get<std::uint32_t>());
        }
        for (std::size_t byte = 0; byte < 256; ++byte) {
            rules_.of_byte[byte] = id_of(std::string(1, static_cast<char>(byte)));
            if (rules_.of_byte[byte] == kNoId)
                return bad_input("{} has no token for the byte 0x{:02X}; a byte-level vocabulary has all 256.", what_,
                                 byte);
        }
        return read_merges(member(model, "merges"));
    }

    /// "a b", and in later files ["a", "b"].
    static std::pair<std::string, std::string> parts_of(const Json& merge) {
        if (merge.is_array() && merge.size() == 2) return {text_of(merge[0]), text_of(merge[1])};
        const std::string both = text_of(merge);
        const std::size_t space = std::min(both.find(' '), both.size());
        return {both.substr(0, space), both.substr(std::min(space + 1, both.size()))};
    }
    Result<void> read_merges(const Json& merges) {
        if (!merges.is_array()) return bad_input("The model of {} has no list of merges.", what_);
        std::uint32_t rank = 0;
        for (const Json& merge : merges) {
            const auto [first, second] = parts_of(merge);
            const std::optional<std::string> a = bytes_of(first), b = bytes_of(second);
            const std::uint32_t left = a ? id_of(*a) : kNoId, right = b ? id_of(*b) : kNoId;
            const std::uint32_t made = a && b ? id_of(*a + *b) : kNoId;
            if (left == kNoId || right == kNoId || made == kNoId)
                return bad_input("Merge {} of {} is {}; its parts and what they make must be in the vocabulary.", rank,
                                 what_, shown(to_line(merge)));
            rules_.merges.emplace(std::uint64_t{left} << 32U | right, BytePair::Merge{.rank = rank, .made = made});
            ++rank;
        }
        return {};
    }

    Result<void> read_words() {
        const Json& splitter = member(json_, "pre_tokenizer");
        const std::string type = text_of(member(splitter, "type"));
        if (type == "ByteLevel") return read_bytes(splitter, true);
        const Json& parts = member(splitter, "pretokenizers");
        if (type != "Sequence" || !parts.is_array() || parts.size() != 2) return bytes_alone("pre_tokenizer", splitter);
        if (text_of(member(parts[0], "type")) != "Split") return bytes_alone("pre_tokenizer", parts[0]);
        if (text_of(member(parts[1], "type")) != "ByteLevel") return bytes_alone("pre_tokenizer", parts[1]);
        YOLK_TRY_VOID(refuse(parts[0], "invert"));
        if (text_of(member(parts[0], "behavior")) != "Isolated")
            return unsupported("'behavior' in {} is {}; only \"Isolated\" is supported.", what_,
                               shown(to_line(member(parts[0], "behavior"))));
        const std::string expression = text_of(member(member(parts[0], "pattern"), "Regex"));
        const auto known = std::ranges::find(kExpressions, expression, &std::pair<std::string_view, WordRule>::first);
        if (known == std::end(kExpressions))
            return unsupported("{} splits texts by {}; the expressions of GPT-2, Llama 3 and Qwen 2 are supported.",
                               what_, shown(to_line(member(parts[0], "pattern"))));
        rules_.words = known->second;
        return read_bytes(parts[1], false);
    }
    Result<void> read_bytes(const Json& byte_level, bool splits) const {
        bool prefix = true, uses_expression = true;  // where the file does not say
        YOLK_TRY_VOID(read_flag(byte_level, "add_prefix_space", prefix, what_));
        YOLK_TRY_VOID(read_flag(byte_level, "use_regex", uses_expression, what_));
        if (prefix) return unsupported("'add_prefix_space' in {} is on; only false is supported.", what_);
        if (uses_expression == splits) return {};
        return unsupported("'use_regex' in {} is {}; {} is supported there.", what_, uses_expression, splits);
    }

    Result<void> read_added() {
        for (const Json& token : member(json_, "added_tokens")) {
            const std::string content = text_of(member(token, "content"));
            if (content.empty()) return bad_input("An added token of {} has no content.", what_);
            for (const char* const rule : {"single_word", "lstrip", "rstrip"}) YOLK_TRY_VOID(refuse(token, rule));
            bool is_special = false;
            YOLK_TRY_VOID(read_flag(token, "special", is_special, what_));
            const Json& id = member(token, "id");
            const bool is_listed = id.is_number_unsigned() && id.get<std::uint64_t>() < rules_.tokens.size() &&
                                   rules_.tokens[id.get<std::size_t>()] == content;
            if (!is_listed) YOLK_TRY_VOID(take_id(id, content, content, is_special));
            rules_.is_special[id.get<std::size_t>()] = is_special;
            rules_.whole.emplace_back(content, id.get<std::uint32_t>());
        }
        return {};
    }

    /// What is put around a text: nothing, a template, or a list of these.
    Result<void> read_around(const Json& processor) {
        const std::string type = text_of(member(processor, "type"));
        if (processor.is_null() || type == "ByteLevel") return {};
        if (type == "Sequence") {
            for (const Json& part : member(processor, "processors")) YOLK_TRY_VOID(read_around(part));
            return {};
        }
        if (type != "TemplateProcessing") return bytes_alone("post_processor", processor);
        bool is_behind = false;
        for (const Json& part : member(processor, "single")) {
            if (part.contains("Sequence")) {
                is_behind = true;
                continue;
            }
            const std::string token = text_of(member(member(part, "SpecialToken"), "id"));
            const auto found = std::ranges::find(rules_.whole, token, &std::pair<std::string, std::uint32_t>::first);
            if (found == rules_.whole.end())
                return bad_input("{} puts '{}' around each text, which is none of its added tokens.", what_,
                                 shown(token));
            (is_behind ? rules_.after : rules_.before).push_back(found->second);
        }
        if (!is_behind) return bad_input("The template of {} has no place for the text.", what_);
        return {};
    }

    Json json_;
    std::string what_;
    BytePair::Rules rules_{};
};

}  // namespace

Result<BytePair> BytePair::read(const std::filesystem::path& path) {
    const std::string what = fmt::format("'{}'", shown(path));
    YOLK_TRY(Json json, read_tokenizer_json(path, what));
    YOLK_TRY(Rules rules, BytePairFile(std::move(json), what).rules());
    return BytePair(std::move(rules));
}

}  // namespace yolk::transformer
