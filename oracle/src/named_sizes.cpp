// SPDX-License-Identifier: Apache-2.0
#include "named_sizes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace yolk::oracle {

namespace {

std::optional<std::uint32_t> number_in(std::string_view text) {
    std::uint32_t value = 0;
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<void> Sizes::parse(std::string_view words) {
    while (!words.empty()) {
        const std::size_t end = std::min(words.find_first_of(" \t"), words.size());
        const std::string_view word = words.substr(0, end);
        words.remove_prefix(std::min(end + 1, words.size()));
        if (word.empty()) continue;
        const std::size_t sign = word.find('=');
        if (sign == std::string_view::npos || sign + 1 == word.size())
            return bad_input(
                fmt::format("'{}' of the shape '{}' is not name=value, such as m=512 or operation=max.", word, text_));
        values_[std::string(word.substr(0, sign))] = word.substr(sign + 1);
    }
    return {};
}

std::uint32_t Sizes::get(const char* name, std::uint32_t fallback) {
    read_.insert(name);
    const auto found = values_.find(name);
    if (found == values_.end()) return fallback;
    const std::optional<std::uint32_t> number = number_in(found->second);
    if (!number) refuse(fmt::format("{}={}; it is a number below 2^32", name, found->second));
    return number.value_or(fallback);
}

std::uint32_t Sizes::need(const char* name) {
    const std::uint32_t value = get(name, 0);
    if (value == 0 && wrong_.empty() && missing_.empty()) missing_ = name;
    return value;
}

std::uint32_t Sizes::below(const char* name, std::uint32_t count, std::uint32_t fallback) {
    const std::uint32_t value = get(name, fallback);
    if (value < count) return value;
    refuse(fmt::format("{}={}; it may be 0 to {}", name, value, count - 1));
    return fallback;
}

void Sizes::refuse(std::string what) {
    if (wrong_.empty()) wrong_ = std::move(what);
}

Result<void> Sizes::check() const {
    if (!missing_.empty()) return bad_input(fmt::format("The shape '{}' needs {}, which is above 0.", text_, missing_));
    if (!wrong_.empty()) return bad_input(fmt::format("The shape '{}' has {}.", text_, wrong_));
    for (const auto& [name, value] : values_) {
        if (read_.contains(name)) continue;
        std::string known;
        for (const std::string& other : read_) known += (known.empty() ? "" : ", ") + other;
        return bad_input(fmt::format("The shape '{}' has '{}'; its family knows {}.", text_, name, known));
    }
    return {};
}

}  // namespace yolk::oracle
