// SPDX-License-Identifier: Apache-2.0
// The regular expressions of byte-level tokenizers, written out. Each alternative is tried where the last word ended,
// in the order of the expression.
#include <algorithm>
#include <array>

#include "byte_pair.hpp"
#include "unicode_text.hpp"

namespace yolk::transformer {
namespace {

enum class Kind : std::uint8_t { Letter, Number, Space, Other };

struct Place {
    std::int32_t code = 0;
    std::size_t begin = 0;  // in bytes
    Kind kind = Kind::Other;
};

Kind kind_of(std::int32_t code) {
    if (is_space(code)) return Kind::Space;
    if (is_letter(code)) return Kind::Letter;
    return is_number(code) ? Kind::Number : Kind::Other;
}

class WordScanner {
   public:
    WordScanner(WordRule rule, std::string_view text) : rule_(rule), text_(text) {
        for (std::size_t at = 0; at < text.size();) {
            const Character next = first_character(text.substr(at));
            places_.push_back({.code = next.code, .begin = at, .kind = kind_of(next.code)});
            at += next.bytes.size();
        }
    }
    std::vector<std::string_view> words() {
        std::vector<std::string_view> all;
        for (std::size_t at = 0; at < places_.size();) {
            const std::size_t end = end_of(at);
            const std::size_t last = end == places_.size() ? text_.size() : places_[end].begin;
            all.push_back(text_.substr(places_[at].begin, last - places_[at].begin));
            at = end;
        }
        return all;
    }

   private:
    [[nodiscard]] bool is(std::size_t at, Kind kind) const { return at < places_.size() && places_[at].kind == kind; }
    [[nodiscard]] std::int32_t code(std::size_t at) const { return at < places_.size() ? places_[at].code : -1; }
    [[nodiscard]] bool is_line_end(std::size_t at) const { return code(at) == '\r' || code(at) == '\n'; }
    [[nodiscard]] std::size_t run(std::size_t at, Kind kind) const {
        while (is(at, kind)) ++at;
        return at;
    }
    /// In lower case, where the rule does not tell cases apart; U+017F is an s then, by Unicode's folding.
    [[nodiscard]] std::int32_t folded(std::size_t at) const {
        const std::int32_t c = code(at);
        if (rule_ == WordRule::Gpt2) return c;
        if (c == 0x17F) return 's';
        return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
    }
    /// 's|'t|'re|'ve|'m|'ll|'d
    [[nodiscard]] std::size_t contraction(std::size_t at) const {
        if (code(at) != '\'') return at;
        const std::int32_t first = folded(at + 1), second = folded(at + 2);
        if (first == 's' || first == 't' || first == 'm' || first == 'd') return at + 2;
        const bool is_long = ((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l');
        return is_long ? at + 3 : at;
    }
    /// \s+(?!\S)|\s+
    [[nodiscard]] std::size_t spaces(std::size_t at) const {
        const std::size_t end = run(at, Kind::Space);
        return end == places_.size() || end == at + 1 ? end : end - 1;
    }
    [[nodiscard]] std::size_t gpt2_end(std::size_t at) const {
        const std::size_t word = code(at) == ' ' ? at + 1 : at;
        for (const Kind kind : {Kind::Letter, Kind::Number, Kind::Other}) {
            if (is(word, kind)) return run(word, kind);
        }
        return spaces(at);
    }
    [[nodiscard]] std::size_t llama3_end(std::size_t at) const {
        const bool may_lead = !is(at, Kind::Letter) && !is(at, Kind::Number) && !is_line_end(at);
        if (const std::size_t word = may_lead ? at + 1 : at; is(word, Kind::Letter)) return run(word, Kind::Letter);
        if (is(at, Kind::Number)) return std::min(run(at, Kind::Number), at + (rule_ == WordRule::Llama3 ? 3U : 1U));
        if (const std::size_t word = code(at) == ' ' ? at + 1 : at; is(word, Kind::Other)) {
            std::size_t end = run(word, Kind::Other);
            while (is_line_end(end)) ++end;
            return end;
        }
        for (std::size_t end = run(at, Kind::Space); end > at; --end) {  // \s*[\r\n]+
            if (is_line_end(end - 1)) return end;
        }
        return spaces(at);
    }
    [[nodiscard]] std::size_t end_of(std::size_t at) const {
        if (const std::size_t end = contraction(at); end > at) return end;
        return rule_ == WordRule::Gpt2 ? gpt2_end(at) : llama3_end(at);
    }

    WordRule rule_;
    std::string_view text_;
    std::vector<Place> places_;
};

}  // namespace

std::vector<std::string_view> split_by(WordRule rule, std::string_view text) { return WordScanner(rule, text).words(); }

}  // namespace yolk::transformer
