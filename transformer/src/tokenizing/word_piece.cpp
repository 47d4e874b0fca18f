// SPDX-License-Identifier: Apache-2.0
#include "word_piece.hpp"

#include <algorithm>

#include "longest_token.hpp"
#include "unicode_text.hpp"
#include "yolk/internal/core/utf8.hpp"

namespace yolk::transformer {
namespace {

template <class Visit>
void each_character(std::string_view text, Visit visit) {
    while (!text.empty()) {
        const Character next = first_character(text);
        visit(next);
        text.remove_prefix(next.bytes.size());
    }
}

std::string cleaned(std::string_view text) {
    std::string clean;
    each_character(text, [&](const Character& c) {
        if (c.code == 0 || c.code == 0xFFFD || is_unprintable(c.code)) return;
        clean += is_space(c.code) ? std::string_view(" ") : c.bytes;
    });
    return clean;
}

std::string with_spaced_ideographs(std::string_view text) {
    std::string spaced;
    each_character(text, [&](const Character& c) {
        const bool alone = is_ideograph(c.code);
        if (alone) spaced += ' ';
        spaced += c.bytes;
        if (alone) spaced += ' ';
    });
    return spaced;
}

}  // namespace

std::string normalized(std::string_view text, const BertNormalizer& rules) {
    std::string result = rules.clean ? cleaned(text) : std::string(text);
    if (rules.spaces_ideographs) result = with_spaced_ideographs(result);
    if (rules.strip_accents) result = without_accents(result);
    if (rules.lower_case) result = lower_case(result);
    return result;
}

std::vector<std::string_view> split_words(std::string_view text) {
    std::vector<std::string_view> words;
    std::size_t begin = 0, at = 0;
    const auto end_word = [&] {
        if (at > begin) words.push_back(text.substr(begin, at - begin));
    };
    each_character(text, [&](const Character& c) {
        const bool alone = is_punctuation(c.code);
        if (alone || is_space(c.code)) {
            end_word();
            if (alone) words.push_back(c.bytes);
            begin = at + c.bytes.size();
        }
        at += c.bytes.size();
    });
    end_word();
    return words;
}

void WordPiece::add_word(std::string_view word, std::vector<std::uint32_t>& ids) const {
    std::vector<std::size_t> ends;  // of characters, in bytes
    each_character(word,
                   [&](const Character& c) { ends.push_back((ends.empty() ? 0 : ends.back()) + c.bytes.size()); });
    if (ends.size() > rules_.longest_word) return ids.push_back(rules_.unknown);
    const std::size_t before = ids.size();
    std::size_t begin = 0, first = 0;  // in bytes and characters
    std::string piece;
    while (first < ends.size()) {
        piece = begin == 0 ? std::string() : rules_.continuing;
        const std::size_t marked = piece.size();
        piece += word.substr(begin);
        std::size_t last = ends.size();
        auto found = rules_.vocabulary.find(piece);
        while (found == rules_.vocabulary.end() && --last > first) {
            piece.resize(marked + ends[last - 1] - begin);
            found = rules_.vocabulary.find(piece);
        }
        if (found == rules_.vocabulary.end()) {  // a word is unknown as a whole
            ids.resize(before);
            return ids.push_back(rules_.unknown);
        }
        ids.push_back(found->second);
        begin = ends[last - 1];
        first = last;
    }
}

void WordPiece::add_plain(std::string_view text, std::size_t most, std::vector<std::uint32_t>& ids) const {
    const std::string plain = normalized(text, rules_.normalizer);
    for (const std::string_view word : split_words(plain)) {
        if (ids.size() >= most) return;
        add_word(word, ids);
    }
}

Result<std::vector<std::uint32_t>> WordPiece::ids(std::string_view text, std::uint32_t most) const {
    if (!is_utf8(text)) return bad_input("The text is not UTF-8; it must be.");
    const std::size_t room = most - std::min<std::size_t>(most, around());
    std::vector<std::uint32_t> inside;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size() && inside.size() < room;) {
        const auto* const found = longest_at_beginning(rules_.whole, text.substr(at));
        if (found == nullptr) {
            ++at;
            continue;
        }
        add_plain(text.substr(begin, at - begin), room, inside);
        inside.push_back(found->second);
        begin = at += found->first.size();
    }
    if (inside.size() < room) add_plain(text.substr(begin), room, inside);
    inside.resize(std::min(inside.size(), room));
    std::vector<std::uint32_t> all = rules_.before;
    all.insert(all.end(), inside.begin(), inside.end());
    all.insert(all.end(), rules_.after.begin(), rules_.after.end());
    return all;
}

}  // namespace yolk::transformer
