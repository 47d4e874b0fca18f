// SPDX-License-Identifier: Apache-2.0
// JSON through nlohmann-json. All JSON that Yolk reads comes through parse_json() or parse_sorted_json(), which no text
// makes take more memory than their limit; the test repository.layering.holds refuses any other way.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/result.hpp"

namespace yolk {

struct JsonLimits {
    std::size_t depth = 64;  ///< arrays and objects inside one another
    /// What the values may take. A value counts as 48 bytes, a string and a key as 48 more and their length: at least
    /// what the parser allocates, while an array grows, too.
    std::size_t memory_bytes = std::size_t{256} << 20U;
    bool non_finite_as_null = false;  ///< reads NaN, Infinity and -Infinity, which Python writes, as null
};

/// Exactly one JSON document, with white space around it and perhaps a byte order mark. Throws nothing. `what` names
/// the text in errors ("the header of 'policy.safetensors'"). Errors name line and column. BadInput: not JSON, cut off,
/// text after the document, a NUL byte, one name twice in an object, nesting or memory above the limits. OutOfMemory.
[[nodiscard]] Result<Json> parse_json(std::string_view text, std::string_view what, const JsonLimits& limits = {});
/// The same with sorted names, for objects that may have many: Json looks a name up in the time of all before it.
[[nodiscard]] Result<SortedJson> parse_sorted_json(std::string_view text, std::string_view what,
                                                   const JsonLimits& limits = {});

/// "line 3, column 7" of the byte at `offset`; of a text of one line "column 7".
[[nodiscard]] std::string text_place(std::string_view text, std::size_t offset);

/// One line; non-finite numbers become null, invalid UTF-8 is replaced.
[[nodiscard]] std::string to_line(const Json& value);

/// The double that prints as short as the float does: 0.3 and not 0.30000001192092896; it reads back as the same float.
[[nodiscard]] double shortest(float value);

}  // namespace yolk
