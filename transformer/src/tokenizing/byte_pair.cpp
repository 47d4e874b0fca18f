// SPDX-License-Identifier: Apache-2.0
#include "byte_pair.hpp"

#include <limits>
#include <queue>
#include <tuple>

#include "longest_token.hpp"
#include "unicode_text.hpp"
#include "yolk/internal/core/utf8.hpp"

namespace yolk::transformer {
namespace {

constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

/// The ids of a word as a list, from which merges take out neighbours.
struct Symbol {
    std::uint32_t id = 0;
    std::uint32_t before = kNobody, behind = kNobody;
    bool is_gone = false;
};
/// By rank, then by place: what a queue hands out first.
using Candidate = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // rank, place, id that it makes

}  // namespace

const BytePair::Merge* BytePair::merge_of(std::uint32_t first, std::uint32_t second) const {
    const auto found = rules_.merges.find(std::uint64_t{first} << 32U | second);
    return found == rules_.merges.end() ? nullptr : &found->second;
}

void BytePair::add_bytes(std::string_view word, std::vector<std::uint32_t>& ids) const {
    if (rules_.takes_whole_words) {
        const auto whole = rules_.vocabulary.find(word);
        if (whole != rules_.vocabulary.end()) return ids.push_back(whole->second);
    }
    const auto size = static_cast<std::uint32_t>(word.size());
    std::vector<Symbol> symbols(size);
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
    const auto consider = [&](std::uint32_t place) {
        if (place == kNobody || symbols[place].behind == kNobody) return;
        const Merge* const merge = merge_of(symbols[place].id, symbols[symbols[place].behind].id);
        if (merge != nullptr) queue.emplace(merge->rank, place, merge->made);
    };
    for (std::uint32_t i = 0; i < size; ++i) {
        symbols[i] = {.id = rules_.of_byte[static_cast<unsigned char>(word[i])],
                      .before = i == 0 ? kNobody : i - 1,
                      .behind = i + 1 == size ? kNobody : i + 1};
    }
    for (std::uint32_t i = 0; i < size; ++i) consider(i);
    while (!queue.empty()) {
        const auto [rank, place, made] = queue.top();
        queue.pop();
        Symbol& first = symbols[place];
        if (first.is_gone || first.behind == kNobody) continue;
        Symbol& second = symbols[first.behind];
        const Merge* const merge = merge_of(first.id, second.id);
        if (merge == nullptr || merge->rank != rank) continue;  // one of the two has changed meanwhile
        first.id = made;
        first.behind = second.behind;
        second.is_gone = true;
        if (first.behind != kNobody) symbols[first.behind].before = place;
        consider(first.before);
        consider(place);
    }
    for (std::uint32_t at = 0; at < size; at = symbols[at].behind) ids.push_back(symbols[at].id);
}

void BytePair::add_text(std::string_view text, std::vector<std::uint32_t>& ids) const {
    const std::string made = rules_.composes ? composed(text) : std::string();
    for (const std::string_view word : split_by(rules_.words, rules_.composes ? made : text)) add_bytes(word, ids);
}

Result<std::vector<std::uint32_t>> BytePair::ids(std::string_view text) const {
    if (!is_utf8(text)) return bad_input("The text is not UTF-8; it must be.");
    std::vector<std::uint32_t> ids = rules_.before;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto* const found = longest_at_beginning(rules_.whole, text.substr(at));
        if (found == nullptr) {
            ++at;
            continue;
        }
        add_text(text.substr(begin, at - begin), ids);
        ids.push_back(found->second);
        begin = at += found->first.size();
    }
    add_text(text.substr(begin), ids);
    ids.insert(ids.end(), rules_.after.begin(), rules_.after.end());
    return ids;
}

std::string BytePair::text(std::span<const std::uint32_t> ids) const {
    std::string bytes;
    for (const std::uint32_t id : ids) {
        if (id < size() && !rules_.is_special[id]) bytes += rules_.tokens[id];
    }
    std::string text;
    for (std::string_view rest = bytes; !rest.empty();) {
        const Character next = first_character(rest);
        text += next.code < 0 ? std::string_view("\xEF\xBF\xBD") : next.bytes;
        rest.remove_prefix(next.bytes.size());
    }
    return text;
}

}  // namespace yolk::transformer
