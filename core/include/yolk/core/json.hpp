// SPDX-License-Identifier: Apache-2.0
// JSON through nlohmann-json. Objects keep insertion order, so that lines read the same from run to run.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "yolk/core/result.hpp"

namespace yolk {

using Json = nlohmann::ordered_json;

/// Parses without throwing. `what` names the text in the error ("the header of 'policy.safetensors'").
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view what);

/// One line; non-finite numbers become null, invalid UTF-8 is replaced.
[[nodiscard]] std::string to_line(const Json& value);

}  // namespace yolk
