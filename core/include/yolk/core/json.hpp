// SPDX-License-Identifier: Apache-2.0
// JSON through nlohmann-json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "yolk/core/json_fwd.hpp"
#include "yolk/core/result.hpp"

namespace yolk {

/// Parses without throwing. `what` names the text in the error ("the header of 'policy.safetensors'").
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view what);

/// One line; non-finite numbers become null, invalid UTF-8 is replaced.
[[nodiscard]] std::string to_line(const Json& value);

/// The double that prints as short as the float does: 0.3 and not 0.30000001192092896; it reads back as the same float.
[[nodiscard]] double shortest(float value);

}  // namespace yolk
