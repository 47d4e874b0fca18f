// SPDX-License-Identifier: Apache-2.0
#include "tokenizer_json.hpp"

#include <fmt/format.h>

#include "yolk/internal/core/printable.hpp"
#include "yolk/internal/core/text_file.hpp"

namespace yolk::transformer {
namespace {

constexpr std::size_t kMostTokenizerBytes = std::size_t{64} << 20U;

}  // namespace

const Json& member(const Json& object, const char* name) {
    static const Json null;
    if (!object.is_object()) return null;
    const auto found = object.find(name);
    return found == object.end() ? null : *found;
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

Result<void> read_flag(const Json& object, const char* name, bool& flag, std::string_view what) {
    const Json& value = member(object, name);
    if (value.is_null()) return {};
    if (!value.is_boolean())
        return bad_input("'{}' in {} is {}; it must be true or false.", name, what, shown(to_line(value)));
    flag = value.get<bool>();
    return {};
}

Error other_kind(std::string_view part, const Json& given, std::string_view what, std::string_view supported) {
    return unsupported("The {} of {} is {}; {} are supported.", part, what,
                       given.is_null() ? "missing" : fmt::format("'{}'", shown(text_of(member(given, "type")))),
                       supported);
}

Result<Json> read_tokenizer_json(const std::filesystem::path& path, const std::string& what) {
    YOLK_TRY(const std::string text, read_text(path, kMostTokenizerBytes));
    return parse_json(text, what);
}

}  // namespace yolk::transformer
