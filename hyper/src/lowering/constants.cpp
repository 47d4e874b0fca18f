// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "emitter.hpp"
#include "yolk/internal/core/shape.hpp"

namespace yolk::hyper::population {
namespace {

std::vector<Value> values_of(const Constants::Origin& origin) {
    std::vector<Value> values;
    for (std::uint32_t e = 0; e < origin.examples; ++e)
        values.push_back(traced_value(origin.group->examples[e], origin.place));
    return values;
}

/// Equal numbers may have different signs of zero.
bool makes_same_words(const Value& a, const Value& b) {
    if (a.tensor() != nullptr && b.tensor() != nullptr) return a == b;
    return a.kind() == b.kind() && a.tensor() == nullptr &&
           std::bit_cast<std::uint32_t>(as_fp32(a)) == std::bit_cast<std::uint32_t>(as_fp32(b));
}

}  // namespace

BufferRef Constants::add(const std::string& key, Fill fill, Origin origin) {
    if (const auto found = known.find(key); found != known.end()) return found->second.buffer;
    const std::size_t begin = round_up(words.size(), kViewAlignment / kElementBytes);
    words.resize(begin);
    fill(words);
    const BufferRef buffer{.home = BufferRef::Home::Constants,
                           .offset = kElementBytes * begin,
                           .bytes = kElementBytes * (words.size() - begin)};
    known.emplace(key, Piece{buffer, std::move(fill), origin, values_of(origin)});
    return buffer;
}

Result<void> Constants::refill() {
    std::vector<std::uint32_t> filled;
    for (auto& [key, piece] : known) {
        std::vector<Value> now = values_of(piece.origin);
        if (std::ranges::equal(now, piece.made_of, &makes_same_words)) continue;
        filled.clear();
        piece.fill(filled);
        if (kElementBytes * filled.size() != piece.buffer.bytes) {
            return bad_input(
                "The examples' data ({}) has {} bytes now; it had {}. Give examples of the same structure.", key,
                kElementBytes * filled.size(), piece.buffer.bytes);
        }
        std::ranges::copy(filled, words.begin() + static_cast<std::ptrdiff_t>(piece.buffer.offset / kElementBytes));
        piece.made_of = std::move(now);
        if (std::ranges::find(refilled, piece.buffer.offset, &BufferRef::offset) == refilled.end())
            refilled.push_back(piece.buffer);
    }
    return {};
}

}  // namespace yolk::hyper::population
