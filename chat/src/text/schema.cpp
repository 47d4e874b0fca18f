// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/chat/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "text.hpp"
#include "yolk/internal/chat/message.hpp"
#include "yolk/json.hpp"

namespace yolk::chat {
namespace {

// Objects of a reply are sorted maps: looking a name up in an ordered one takes as long as there are names before it,
// and a reply may have a million of them.
using ReplyJson = SortedJson;
using Kind = Schema::Kind;

constexpr std::string_view kFence = "```";

Result<void> check_document(const Schema& schema, const std::string& path, std::size_t level);

/// Lists and documents inside one another, at most: everything that goes through them does so by recursion.
constexpr std::size_t kMostDepth = 50;

Result<void> check_at(const Schema& schema, const std::string& path, std::size_t level) {
    if (level > kMostDepth)
        return bad_input("The schema has more than {} lists and documents inside one another, at {}.", kMostDepth,
                         excerpt(path));
    if (!is_utf8(schema.description) || !std::ranges::all_of(schema.values, is_utf8))
        return bad_input("The schema has a text at {} that is not UTF-8.", path);
    switch (schema.kind) {
        case Kind::Enum: {
            const std::set<std::string> distinct(schema.values.begin(), schema.values.end());
            if (schema.values.empty() || distinct.size() != schema.values.size())
                return bad_input(
                    "The schema has an enumeration at {} of {} words, {} of them different; it needs at "
                    "least one word, and each once.",
                    path, schema.values.size(), distinct.size());
            return {};
        }
        case Kind::List:
            if (schema.item.size() != 1)
                return bad_input("The schema has a list at {} with {} item schemas; it needs one.", path,
                                 schema.item.size());
            return check_at(schema.item.front(), path + "[]", level + 1);
        case Kind::Doc: return check_document(schema, path, level);
        default: return {};
    }
}

Result<void> check_document(const Schema& schema, const std::string& path, std::size_t level) {
    if (schema.fields.empty()) return bad_input("The schema has a document without fields at {}.", path);
    std::set<std::string> names;
    for (const Field& field : schema.fields) {
        if (field.name.empty() || !is_utf8(field.name) || !names.insert(field.name).second)
            return bad_input("The schema's document at {} has a field named {}; every field needs a name of its own.",
                             path, excerpt(field.name));
        YOLK_TRY_VOID(check_at(field.schema, fmt::format("{}.{}", path, field.name), level + 1));
    }
    return {};
}

std::string_view wanted(Kind kind) {
    switch (kind) {
        case Kind::Str: return "a string";
        case Kind::Int: return "a whole number of 64 bits";
        case Kind::Float: return "a number";
        case Kind::Bool: return "true or false";
        case Kind::Enum: return "one of the words of the enumeration";
        case Kind::List: return "a list";
        case Kind::Doc: return "an object";
    }
    return "";
}

Error wrong_value(const std::string& path, std::string_view expected, const ReplyJson& found) {
    return failed_work("at {} {} is wanted, and there is {}", path, expected,
                       excerpt(found.is_structured() ? std::string(found.is_array() ? "a list" : "an object")
                                                     : found.dump(-1, ' ', false, ReplyJson::error_handler_t::replace),
                               60));
}

Result<Json> read(const Schema& schema, const ReplyJson& value, const std::string& path);

/// 3, and 3.0, which JSON does not tell from it.
Result<Json> read_integer(const ReplyJson& value, const std::string& path) {
    if (value.is_number_unsigned() &&
        value.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return Json(value.get<std::int64_t>());
    if (value.is_number_integer() && !value.is_number_unsigned()) return Json(value.get<std::int64_t>());
    constexpr double kWhole = 9007199254740992.0;  // 2^53: above it, a double is no longer next to its neighbours
    if (value.is_number_float()) {
        const double number = value.get<double>();
        if (std::abs(number) <= kWhole && std::floor(number) == number) return Json(static_cast<std::int64_t>(number));
    }
    return wrong_value(path, wanted(Kind::Int), value);
}

Result<Json> read_document(const Schema& schema, const ReplyJson& value, const std::string& path) {
    if (!value.is_object()) return wrong_value(path, wanted(Kind::Doc), value);
    Json document = Json::object();
    for (const Field& field : schema.fields) {
        const auto found = value.find(field.name);
        if (found == value.end()) return failed_work("at {} the field '{}' is missing", path, field.name);
        YOLK_TRY(document[field.name], read(field.schema, *found, fmt::format("{}.{}", path, field.name)));
    }
    for (const auto& [name, unused] : value.items()) {
        const bool known = std::ranges::any_of(schema.fields, [&](const Field& field) { return field.name == name; });
        if (!known)
            return failed_work("at {} there is a field {}, which the schema does not have", path, excerpt(name, 60));
    }
    return document;
}

Result<Json> read(const Schema& schema, const ReplyJson& value, const std::string& path) {
    switch (schema.kind) {
        case Kind::Str:
            if (value.is_string()) return Json(value.get<std::string>());
            break;
        case Kind::Int: return read_integer(value, path);
        case Kind::Float:
            if (value.is_number()) return Json(value.get<double>());
            break;
        case Kind::Bool:
            if (value.is_boolean()) return Json(value.get<bool>());
            break;
        case Kind::Enum:
            if (value.is_string() && std::ranges::count(schema.values, value.get_ref<const std::string&>()) != 0)
                return Json(value.get<std::string>());
            return wrong_value(path, fmt::format("one of '{}'", fmt::join(schema.values, "', '")), value);
        case Kind::List: {
            if (!value.is_array()) break;
            Json list = Json::array();
            for (std::size_t i = 0; i < value.size(); ++i) {
                YOLK_TRY(Json item, read(schema.item.front(), value[i], fmt::format("{}[{}]", path, i)));
                list.push_back(std::move(item));
            }
            return list;
        }
        case Kind::Doc: return read_document(schema, value, path);
    }
    return wrong_value(path, wanted(schema.kind), value);
}

/// Between the first ``` and the last, without a language's name; nothing: there are no two.
std::string_view in_fence(std::string_view text) {
    const std::size_t first = text.find(kFence);
    const std::size_t last = text.rfind(kFence);
    if (first == std::string_view::npos || first + kFence.size() > last) return {};
    std::string_view inside = text.substr(first + kFence.size(), last - first - kFence.size());
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    while (!inside.empty() && is_letter(inside.front())) inside.remove_prefix(1);
    return inside;
}

/// The one document of a reply: all of it, or what is in a fence or behind the thoughts. Error: that of the whole.
Result<ReplyJson> document_in(std::string_view reply) {
    constexpr std::string_view kWhat = "The reply";
    Result<ReplyJson> whole = parse_sorted_json(reply, kWhat);
    if (whole) return whole;
    const std::string_view answer = without_thoughts(reply);
    for (const std::string_view text : {answer, in_fence(answer)}) {
        if (Result<ReplyJson> value = parse_sorted_json(text, kWhat)) return value;
    }
    // A document may have the thoughts' mark in a text of its own: then a fence ends behind it.
    const bool is_around = reply.size() - answer.size() < reply.rfind(kFence) + 1;
    if (is_around && !starts_with_thoughts(reply)) {
        if (Result<ReplyJson> value = parse_sorted_json(in_fence(reply), kWhat)) return value;
    }
    return whole;
}

}  // namespace

Schema str(std::string description) { return {.kind = Kind::Str, .description = std::move(description)}; }
Schema integer(std::string description) { return {.kind = Kind::Int, .description = std::move(description)}; }
Schema number(std::string description) { return {.kind = Kind::Float, .description = std::move(description)}; }
Schema boolean(std::string description) { return {.kind = Kind::Bool, .description = std::move(description)}; }
Schema one_of(std::vector<std::string> values, std::string description) {
    return {.kind = Kind::Enum, .description = std::move(description), .values = std::move(values)};
}
Schema list_of(Schema item, std::string description) {
    return {.kind = Kind::List, .description = std::move(description), .item = {std::move(item)}};
}
Schema doc(std::vector<Field> fields, std::string description) {
    return {.kind = Kind::Doc, .description = std::move(description), .fields = std::move(fields)};
}

Result<void> check_schema(const Schema& schema) {
    if (schema.kind != Kind::Doc)
        return bad_input(
            "The schema of a reply is {} outside; it must be a document: put the value into a field of one.",
            wanted(schema.kind));
    return check_at(schema, "$", 0);
}

Json to_json_schema(const Schema& schema) {
    Json result = Json::object();
    if (!schema.description.empty()) result["description"] = schema.description;
    switch (schema.kind) {
        case Kind::Str: result["type"] = "string"; break;
        case Kind::Int: result["type"] = "integer"; break;
        case Kind::Float: result["type"] = "number"; break;
        case Kind::Bool: result["type"] = "boolean"; break;
        case Kind::Enum:
            result["type"] = "string";
            result["enum"] = schema.values;
            break;
        case Kind::List:
            result["type"] = "array";
            result["items"] = to_json_schema(schema.item.front());
            break;
        case Kind::Doc: {
            Json properties = Json::object();
            Json required = Json::array();
            for (const Field& field : schema.fields) {
                properties[field.name] = to_json_schema(field.schema);
                required.push_back(field.name);
            }
            result["type"] = "object";
            result["properties"] = std::move(properties);
            result["required"] = std::move(required);
            result["additionalProperties"] = false;
            break;
        }
    }
    return result;
}

Result<Json> parse_reply(const Schema& schema, std::string_view reply) {
    const Result<ReplyJson> value = document_in(reply);
    if (!value) return failed_work("{} It begins: {}.", value.error().message, excerpt(reply));
    Result<Json> read_value = read(schema, *value, "$");
    if (read_value) return read_value;
    return failed_work("The reply is not of the schema: {}. The reply begins: {}.", read_value.error().message,
                       excerpt(reply));
}

}  // namespace yolk::chat
