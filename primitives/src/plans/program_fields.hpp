// SPDX-License-Identifier: Apache-2.0
// The text of a program: extents=8-64 inputs=3,2 numbers=1 steps=add:0:1,relu:2
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/primitives/fields.hpp"

namespace yolk {

namespace detail {

[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text, char separator);
[[nodiscard]] std::optional<std::vector<std::uint32_t>> parse_numbers(std::span<const std::string_view> words);
[[nodiscard]] std::string joined_numbers(std::span<const std::uint32_t> numbers, char separator);
[[nodiscard]] std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t most);

template <class Desc, auto kMember, char kSeparator>
std::string print_list(const Desc& desc) {
    return joined_numbers(desc.*kMember, kSeparator);
}
template <class Desc, auto kMember, char kSeparator>
bool parse_list(Desc& desc, std::string_view text) {
    auto numbers = parse_numbers(split_words(text, kSeparator));
    if (numbers) desc.*kMember = std::move(*numbers);
    return numbers.has_value();
}
template <class Desc>
std::string print_number_count(const Desc& desc) {
    return std::to_string(desc.numbers.size());
}
/// Text has their count, not their values.
template <class Desc, std::uint32_t kMost>
bool parse_number_count(Desc& desc, std::string_view text) {
    const auto count = parse_count(text, kMost);
    if (count) desc.numbers.assign(*count, 1.0F);
    return count.has_value();
}

/// The step's type has a word_of_step() and a parse_operation() beside it.
template <class Desc>
std::string print_steps(const Desc& desc) {
    std::string text;
    for (const auto& step : desc.steps) {
        const std::string word = word_of_step(step);
        if (word.starts_with('?')) return word;
        text += (text.empty() ? "" : ",") + word + ":" + joined_numbers(step.operands, ':');
    }
    return text;
}
template <class Desc>
bool parse_steps(Desc& desc, std::string_view text) {
    using Steps = decltype(desc.steps);
    Steps steps;
    for (const std::string_view one : split_words(text, ',')) {
        const std::vector<std::string_view> words = split_words(one, ':');
        auto& step = steps.emplace_back();
        auto operands = parse_numbers(std::span(words).subspan(1));
        if (!operands || !parse_operation(step, words.front())) return false;
        step.operands = std::move(*operands);
    }
    desc.steps = std::move(steps);
    return true;
}

}  // namespace detail

template <class Desc>
Field<Desc> extents_field() {
    return {.info = {.name = "extents",
                     .role = FieldRole::Extent,
                     .allowed = "1 to 16 extents joined by -, outermost first",
                     .fallback = {},
                     .is_list = true},
            .print = &detail::print_list<Desc, &Desc::extents, '-'>,
            .parse = &detail::parse_list<Desc, &Desc::extents, '-'>};
}
template <class Desc>
Field<Desc> inputs_field() {
    return {.info = {.name = "inputs",
                     .role = FieldRole::Variant,
                     .allowed = "for each input, joined by commas, the sum of 2^d over the dimensions d that it has",
                     .fallback = {}},
            .print = &detail::print_list<Desc, &Desc::inputs, ','>,
            .parse = &detail::parse_list<Desc, &Desc::inputs, ','>};
}
template <class Desc, std::uint32_t kMost>
Field<Desc> numbers_field() {
    return {.info = {.name = "numbers",
                     .role = FieldRole::Variant,
                     .allowed = "how many values all elements share, 0 to 4",
                     .fallback = "0"},
            .print = &detail::print_number_count<Desc>,
            .parse = &detail::parse_number_count<Desc, kMost>};
}
template <class Desc>
Field<Desc> steps_field(std::string allowed) {
    return {.info = {.name = "steps", .role = FieldRole::Variant, .allowed = std::move(allowed), .fallback = {}},
            .print = &detail::print_steps<Desc>,
            .parse = &detail::parse_steps<Desc>};
}

}  // namespace yolk
