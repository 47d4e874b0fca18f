// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_place.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace yolk::autotune {

Result<void> Place::object(std::initializer_list<std::string_view> keys) const {
    if (!json.is_object()) return wrong("it is {}; an object with {} is expected.", kind(), fmt::join(keys, ", "));
    for (const auto& [key, value] : json.items()) {
        if (std::ranges::find(keys, std::string_view(key)) == keys.end())
            return wrong("it has '{}'; there are {}.", key, fmt::join(keys, ", "));
    }
    return {};
}

Result<Place> Place::need(const char* key) const {
    if (has(key)) return at(key);
    return wrong("it needs '{}'.", key);
}

Result<void> Place::array(std::size_t least, std::size_t most) const {
    if (json.is_array() && json.size() >= least && json.size() <= most) return {};
    const std::string given = json.is_array() ? fmt::format("a list of {}", json.size()) : kind();
    return wrong("it is {}; a list of {} to {} is expected.", given, least, most);
}

Result<std::string> Place::text() const {
    if (json.is_string() && !json.get<std::string>().empty()) return json.get<std::string>();
    return wrong("it is {}; a text is expected.", kind());
}

Result<double> Place::number() const {
    if (json.is_number() && std::isfinite(json.get<double>())) return json.get<double>();
    return wrong("it is {}; a number is expected.", kind());
}

Result<std::uint64_t> Place::whole(std::uint64_t most) const {
    if (json.is_number_unsigned() && json.get<std::uint64_t>() <= most) return json.get<std::uint64_t>();
    return wrong("it is {}; an integer from 0 to {} is expected.", kind(), most);
}

Result<bool> Place::truth() const {
    if (json.is_boolean()) return json.get<bool>();
    return wrong("it is {}; true or false is expected.", kind());
}

Result<ExpressionValue> Place::value() const {
    if (json.is_boolean()) return ExpressionValue(json.get<bool>());
    if (json.is_string()) return ExpressionValue(json.get<std::string>());
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
        return wrong("the integer has more than 63 bits.");
    if (json.is_number_integer()) return ExpressionValue(json.get<std::int64_t>());
    YOLK_TRY(const double real, number());
    return ExpressionValue(real);
}

Result<Expression> Place::expression(std::span<const std::string> scope) const {
    if (!json.is_string()) {
        YOLK_TRY(ExpressionValue constant, value());
        return Expression::constant(std::move(constant));
    }
    Result<Expression> parsed = Expression::parse(json.get<std::string>(), scope);
    if (!parsed) return wrong(parsed.error().message);
    return parsed;
}

std::string Place::kind() const {
    if (json.is_object() || json.is_array()) return fmt::format("a list or object ({} entries)", json.size());
    std::string dumped = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (dumped.size() > 40) dumped = dumped.substr(0, 40) + "...";
    return dumped;
}

bool is_identifier(const std::string& text) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !text.empty() && letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace yolk::autotune
