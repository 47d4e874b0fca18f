// SPDX-License-Identifier: Apache-2.0
// The text of a program: lists of numbers, and steps with their operands.
#include "element_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace yolk {
namespace {

std::vector<std::string_view> split_words(std::string_view text, char separator) {
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t end = std::min(text.find(separator), text.size());
        words.push_back(text.substr(0, end));
        if (end == text.size()) return words;
        text.remove_prefix(end + 1);
    }
}

bool parse_numbers(std::span<const std::string_view> words, std::vector<std::uint32_t>& numbers) {
    std::vector<std::uint32_t> parsed(words.size());
    for (std::size_t i = 0; i < words.size(); ++i)
        if (!detail::parse_number(words[i], parsed[i])) return false;
    numbers = std::move(parsed);
    return true;
}

template <auto kMember, char kSeparator>
std::string print_numbers(const ElementwiseDesc& desc) {
    static constexpr std::array kText{kSeparator, '\0'};
    return fmt::format("{}", fmt::join(desc.*kMember, kText.data()));
}
template <auto kMember, char kSeparator>
bool parse_member_numbers(ElementwiseDesc& desc, std::string_view text) {
    return parse_numbers(split_words(text, kSeparator), desc.*kMember);
}

std::string print_steps(const ElementwiseDesc& desc) {
    std::string text;
    for (const ElementwiseStep& step : desc.steps) {
        const std::string_view word = word_of(step.operation);
        if (word == "?") return fmt::format("?operation {}", static_cast<std::uint32_t>(step.operation));
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", word, fmt::join(step.operands, ":"));
    }
    return text;
}
bool parse_steps(ElementwiseDesc& desc, std::string_view text) {
    static constexpr auto kWords = enum_words(ElementwiseOperation{});
    std::vector<ElementwiseStep> steps;
    for (const std::string_view one : split_words(text, ',')) {
        const std::vector<std::string_view> words = split_words(one, ':');
        ElementwiseStep step;
        const auto found = std::ranges::find(kWords, words.front());
        if (found == kWords.end()) return false;
        step.operation = static_cast<ElementwiseOperation>(found - kWords.begin());
        if (!parse_numbers(std::span(words).subspan(1), step.operands)) return false;
        steps.push_back(std::move(step));
    }
    desc.steps = std::move(steps);
    return true;
}

std::string print_number_count(const ElementwiseDesc& desc) { return std::to_string(desc.numbers.size()); }
/// Text has their count, not their values.
bool parse_number_count(ElementwiseDesc& desc, std::string_view text) {
    std::uint32_t count = 0;
    if (!detail::parse_number(text, count) || count > abi::elementwise::kMostNumbers) return false;
    desc.numbers.assign(count, 1.0F);
    return true;
}

}  // namespace

std::vector<Field<ElementwiseDesc>> elementwise_fields() {
    using Desc = ElementwiseDesc;
    return {{.info = {.name = "extents",
                      .role = FieldRole::Extent,
                      .allowed = "1 to 16 extents joined by -, outermost first",
                      .fallback = {},
                      .is_list = true},
             .print = &print_numbers<&Desc::extents, '-'>,
             .parse = &parse_member_numbers<&Desc::extents, '-'>},
            {.info = {.name = "inputs",
                      .role = FieldRole::Variant,
                      .allowed = "for each input, joined by commas, the sum of 2^d over the dimensions d that it has",
                      .fallback = {}},
             .print = &print_numbers<&Desc::inputs, ','>,
             .parse = &parse_member_numbers<&Desc::inputs, ','>},
            {.info = {.name = "numbers",
                      .role = FieldRole::Variant,
                      .allowed = "how many values all elements share, 0 to 4",
                      .fallback = "0"},
             .print = &print_number_count,
             .parse = &parse_number_count},
            {.info = {.name = "steps",
                      .role = FieldRole::Variant,
                      .allowed = "operations and their operands, such as add:0:1,relu:2, where 2 is what add gave",
                      .fallback = {}},
             .print = &print_steps,
             .parse = &parse_steps}};
}

}  // namespace yolk
