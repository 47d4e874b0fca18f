// SPDX-License-Identifier: Apache-2.0
// What a reply must look like: numbers, words and documents of named fields. A schema becomes the strict `json_schema`
// of a request, and the reply is held against it here, whatever the server promised.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/result.hpp"

namespace yolk::chat {

struct Field;

/// A plain value; the functions below make one. The outermost is a document.
struct Schema {
    enum class Kind : std::uint8_t { Str, Int, Float, Bool, Enum, List, Doc };
    Kind kind = Kind::Str;
    std::string description{};          ///< for the model; may be empty
    std::vector<std::string> values{};  ///< Enum: the words that are allowed
    std::vector<Schema> item{};         ///< List: one schema, of each item
    std::vector<Field> fields{};        ///< Doc: all of them are required, and no others are allowed
};

/// A named value in a document.
struct Field {
    std::string name;
    Schema schema;
};

[[nodiscard]] Schema str(std::string description = {});
[[nodiscard]] Schema integer(std::string description = {});  ///< within 64 bits, signed
[[nodiscard]] Schema number(std::string description = {});   ///< a double
[[nodiscard]] Schema boolean(std::string description = {});
[[nodiscard]] Schema one_of(std::vector<std::string> values, std::string description = {});
[[nodiscard]] Schema list_of(Schema item, std::string description = {});
[[nodiscard]] Schema doc(std::vector<Field> fields, std::string description = {});

/// Whether it can be asked for. Errors (BadInput) name the place: not a document outside, a document without fields, a
/// field without a name or with another's, an enumeration without words or with a word twice, a list without an item.
[[nodiscard]] Result<void> check_schema(const Schema& schema);

/// The JSON schema, as OpenAI's strict mode wants it: every field required, additionalProperties false.
[[nodiscard]] Json to_json_schema(const Schema& schema);

/// The reply as JSON, its fields in the order of the schema, a whole number for each Int. The document may be in a
/// fence of ```, with words around it, and behind the model's thoughts (without_thoughts). Error (Failed): the reply is
/// not JSON or not of the schema; it names the path ("$.items[2].name"), what is wanted there, what is there, and the
/// reply's beginning.
[[nodiscard]] Result<Json> parse_reply(const Schema& schema, std::string_view reply);

}  // namespace yolk::chat
