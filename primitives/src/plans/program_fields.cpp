// SPDX-License-Identifier: Apache-2.0
#include "program_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace yolk::detail {

std::vector<std::string_view> split_words(std::string_view text, char separator) {
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t end = std::min(text.find(separator), text.size());
        words.push_back(text.substr(0, end));
        if (end == text.size()) return words;
        text.remove_prefix(end + 1);
    }
}

std::optional<std::vector<std::uint32_t>> parse_numbers(std::span<const std::string_view> words) {
    std::vector<std::uint32_t> numbers(words.size());
    for (std::size_t i = 0; i < words.size(); ++i)
        if (!parse_number(words[i], numbers[i])) return {};
    return numbers;
}

std::string joined_numbers(std::span<const std::uint32_t> numbers, char separator) {
    const std::array text{separator, '\0'};
    return fmt::format("{}", fmt::join(numbers, text.data()));
}

std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t most) {
    std::uint32_t count = 0;
    if (!parse_number(text, count) || count > most) return {};
    return count;
}

}  // namespace yolk::detail
