// SPDX-License-Identifier: Apache-2.0
// BERT's tokenizer as a tokenizer.json describes it: normalized, split at spaces and punctuation, and each word into
// the longest pieces that the vocabulary has (WordPiece).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::transformer {

struct BertNormalizer {
    bool clean = true;  ///< unprintable characters go, and every space becomes ' '
    bool spaces_ideographs = true;
    bool strip_accents = true;
    bool lower_case = true;
};
[[nodiscard]] std::string normalized(std::string_view text, const BertNormalizer& rules);
/// Without spaces; each character of punctuation alone. Views of `text`.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
};
using Vocabulary = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;

/// Immutable. Threads may share it.
class WordPiece {
   public:
    struct Rules {
        Vocabulary vocabulary{};
        BertNormalizer normalizer{};
        std::uint32_t unknown = 0;
        std::string continuing = "##";                 ///< in front of a piece that does not begin a word
        std::uint64_t longest_word = 100;              ///< characters; a longer one is unknown
        std::vector<std::uint32_t> before{}, after{};  ///< ids around each text
        /// Texts that stand for one id wherever they are, before anything is normalized.
        std::vector<std::pair<std::string, std::uint32_t>> whole{};
    };
    /// Errors: another kind of tokenizer, a vocabulary with holes, ids that it does not have.
    [[nodiscard]] static Result<WordPiece> read(const std::filesystem::path& path);
    explicit WordPiece(Rules rules) : rules_(std::move(rules)) {}

    /// At most `most` ids, those around the text included. Error: not UTF-8.
    [[nodiscard]] Result<std::vector<std::uint32_t>> ids(std::string_view text, std::uint32_t most) const;
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(rules_.vocabulary.size()); }
    [[nodiscard]] std::size_t around() const noexcept { return rules_.before.size() + rules_.after.size(); }

   private:
    void add_plain(std::string_view text, std::size_t most, std::vector<std::uint32_t>& ids) const;
    void add_word(std::string_view word, std::vector<std::uint32_t>& ids) const;
    Rules rules_;
};

}  // namespace yolk::transformer
