// SPDX-License-Identifier: Apache-2.0
#include "numbers.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace yolk::cli {
namespace {

template <class T>
Result<T> parse_whole(std::string_view text) {
    T value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) {
        return bad_input("'{}' is not a whole number from 0 to {}.", text, std::numeric_limits<T>::max());
    }
    return value;
}

template <class T>
Result<T> parse_finite(std::string_view text, const char* type) {
    T value{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value))
        return bad_input("'{}' is not a finite number that {} can hold.", text, type);
    return value;
}

}  // namespace

template <>
Result<std::uint32_t> parse_number(std::string_view text) {
    return parse_whole<std::uint32_t>(text);
}

template <>
Result<std::uint64_t> parse_number(std::string_view text) {
    return parse_whole<std::uint64_t>(text);
}

template <>
Result<float> parse_number(std::string_view text) {
    return parse_finite<float>(text, "fp32");
}

template <>
Result<double> parse_number(std::string_view text) {
    return parse_finite<double>(text, "fp64");
}

std::vector<std::string_view> split_commas(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t comma = text.find(',');
        parts.push_back(text.substr(0, comma));
        if (comma == std::string_view::npos) return parts;
        text.remove_prefix(comma + 1);
    }
}

Result<std::vector<std::uint32_t>> parse_numbers(std::string_view text) {
    std::vector<std::uint32_t> numbers;
    for (const std::string_view part : split_commas(text)) {
        YOLK_TRY(const std::uint32_t number, parse_number<std::uint32_t>(part));
        numbers.push_back(number);
    }
    return numbers;
}

}  // namespace yolk::cli
