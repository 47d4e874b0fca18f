// SPDX-License-Identifier: Apache-2.0
#include "yolk/core/json.hpp"

#include <fmt/format.h>

namespace yolk {

Result<Json> parse_json(std::string_view text, std::string_view what) {
    Json value = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded()) return bad_input(fmt::format("{} is not valid JSON.", what));
    return value;
}

std::string to_line(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace yolk
