// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE (Sennrich, Haddow, Birch 2016, arXiv:1508.07909; Radford et al. 2019) as a tokenizer.json describes
// it: split as a regular expression would, and the bytes of each word merged in the order of the list of merges.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "word_piece.hpp"
#include "yolk/result.hpp"

namespace yolk::transformer {

/// Which of the regular expressions that are known here splits a text.
enum class WordRule {
    Gpt2,    ///< that of ByteLevel: words, numbers, symbols, each with a space in front
    Llama3,  ///< numbers of at most three digits; one symbol may begin a word
    Qwen2,   ///< the same with one digit
};
/// Nothing is lost: the words side by side are the text. Views of `text`, which is UTF-8.
[[nodiscard]] std::vector<std::string_view> split_by(WordRule rule, std::string_view text);

/// Immutable. Threads may share it.
class BytePair {
   public:
    struct Merge {
        std::uint32_t rank = 0;  ///< the least goes first
        std::uint32_t made = 0;
    };
    struct Rules {
        WordRule words = WordRule::Gpt2;
        bool composes = false;              ///< NFC before anything else
        bool takes_whole_words = false;     ///< a word that is a token is not split ("ignore_merges")
        std::vector<std::string> tokens{};  ///< by id, bytes; empty of ids that the file lacks
        std::vector<bool> is_special{};     ///< by id: no part of a text
        Vocabulary vocabulary{};            ///< by bytes; without tokens that are only added
        std::array<std::uint32_t, 256> of_byte{};
        std::unordered_map<std::uint64_t, Merge> merges{};  ///< by the first id << 32 | the second
        std::vector<std::uint32_t> before{}, after{};       ///< ids around each text
        /// Texts that stand for one id wherever they are.
        std::vector<std::pair<std::string, std::uint32_t>> whole{};
    };
    /// Errors: another kind of tokenizer, a regular expression that is not known here, ids that contradict one another.
    [[nodiscard]] static Result<BytePair> read(const std::filesystem::path& path);
    explicit BytePair(Rules rules) : rules_(std::move(rules)) {}

    /// With those around the text. Error: not UTF-8.
    [[nodiscard]] Result<std::vector<std::uint32_t>> ids(std::string_view text) const;
    /// Without special tokens. What is no UTF-8 becomes U+FFFD, such as half a character.
    [[nodiscard]] std::string text(std::span<const std::uint32_t> ids) const;
    /// One more than the largest id.
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(rules_.tokens.size()); }

   private:
    void add_text(std::string_view text, std::vector<std::uint32_t>& ids) const;
    void add_bytes(std::string_view word, std::vector<std::uint32_t>& ids) const;
    [[nodiscard]] const Merge* merge_of(std::uint32_t first, std::uint32_t second) const;
    Rules rules_;
};

}  // namespace yolk::transformer
