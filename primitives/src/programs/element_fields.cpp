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

constexpr std::string_view kChoice = "where";

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
std::string print_numbers(const ElementProgramDesc& desc) {
    static constexpr std::array kText{kSeparator, '\0'};
    return fmt::format("{}", fmt::join(desc.*kMember, kText.data()));
}
template <auto kMember, char kSeparator>
bool parse_member_numbers(ElementProgramDesc& desc, std::string_view text) {
    return parse_numbers(split_words(text, kSeparator), desc.*kMember);
}

std::string print_steps(const ElementProgramDesc& desc) {
    std::string text;
    for (const ElementStep& step : desc.steps) {
        text += fmt::format("{}{}:{}", text.empty() ? "" : ",", step.operation ? word_of(*step.operation) : kChoice,
                            fmt::join(step.operands, ":"));
    }
    return text;
}
bool parse_steps(ElementProgramDesc& desc, std::string_view text) {
    static constexpr auto kWords = enum_words(ElementwiseOperation{});
    std::vector<ElementStep> steps;
    for (const std::string_view one : split_words(text, ',')) {
        const std::vector<std::string_view> words = split_words(one, ':');
        ElementStep step;
        if (words.front() != kChoice) {
            const auto found = std::ranges::find(kWords, words.front());
            if (found == kWords.end()) return false;
            step.operation = static_cast<ElementwiseOperation>(found - kWords.begin());
        }
        if (!parse_numbers(std::span(words).subspan(1), step.operands)) return false;
        steps.push_back(std::move(step));
    }
    desc.steps = std::move(steps);
    return true;
}

}  // namespace

std::vector<Field<ElementProgramDesc>> element_program_fields() {
    using Desc = ElementProgramDesc;
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
            {.info = {.name = "steps",
                      .role = FieldRole::Variant,
                      .allowed = "operations and their operands, such as add:0:1,relu:2, where 2 is what add gave",
                      .fallback = {}},
             .print = &print_steps,
             .parse = &parse_steps}};
}

}  // namespace yolk
