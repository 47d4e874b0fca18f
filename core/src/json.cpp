// SPDX-License-Identifier: Apache-2.0
#include "yolk/core/json.hpp"

#include <array>
#include <charconv>

namespace yolk {

Result<Json> parse_json(std::string_view text, std::string_view what) {
    Json value = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded()) return bad_input("{} is not valid JSON.", what);
    return value;
}

std::string to_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

double shortest(float value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    double result = 0.0;
    std::from_chars(text.data(), end, result);
    return result;
}

}  // namespace yolk
