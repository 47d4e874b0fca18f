// SPDX-License-Identifier: Apache-2.0
// Values as texts and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "yolk/internal/core/printable.hpp"
#include "yolk/json.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {
namespace {

constexpr std::size_t kShownElements = 8;

Json nested(const Tensor& tensor, std::size_t dimension, std::size_t& next) {
    if (dimension == tensor.shape().rank()) return shortest(tensor.values()[next++]);
    Json array = Json::array();
    for (std::uint64_t i = 0; i < tensor.shape()[dimension]; ++i) array.push_back(nested(tensor, dimension + 1, next));
    return array;
}

/// Whether fp32 holds the integer, or has a number near the other one.
bool is_fp32(const Json& number) {
    if (!number.is_number_integer()) return std::isfinite(number.get<float>());
    const auto is_kept = [](auto integer) {
        const auto rounded = static_cast<double>(static_cast<float>(integer));
        return std::abs(rounded) < 0x1p63 && static_cast<decltype(integer)>(rounded) == integer;
    };
    return number.is_number_unsigned() ? is_kept(number.get<std::uint64_t>()) : is_kept(number.get<std::int64_t>());
}

/// Appends the elements of `json`, whose extents below `dimension` must be those found before. Whether it is a tensor.
bool collect(const Json& json, std::size_t dimension, std::vector<std::uint64_t>& extents, std::vector<float>& values) {
    if (!json.is_array()) {
        if (!json.is_number() || dimension != extents.size() || !is_fp32(json)) return false;
        values.push_back(json.get<float>());
        return true;
    }
    if (dimension >= kMostValueDepth) return false;
    if (dimension == extents.size()) {
        if (!values.empty()) return false;
        extents.push_back(json.size());
    }
    if (extents[dimension] != json.size()) return false;
    return std::ranges::all_of(json, [&](const Json& item) { return collect(item, dimension + 1, extents, values); });
}

Error too_deep() {
    return bad_input("This JSON has more than {} arrays and objects inside one another; a value may be that deep.",
                     kMostValueDepth);
}

Result<Value> value_at(const Json& json, std::size_t level);

Result<Value> array_value(const Json& json, std::size_t level) {
    std::vector<std::uint64_t> extents;
    std::vector<float> values;
    if (collect(json, 0, extents, values)) {
        YOLK_TRY(Tensor tensor, Tensor::create(Shape(std::move(extents)), std::move(values)));
        return Value(std::move(tensor));
    }
    List::Items items;
    for (const Json& item : json) {
        auto value = value_at(item, level + 1);
        if (!value) return std::move(value).error().while_doing(fmt::format("reading item {}", items.size()));
        items.push_back(*std::move(value));
    }
    YOLK_TRY(List list, List::create(std::move(items)));
    return Value(std::move(list));
}

Result<Value> object_value(const Json& json, std::size_t level) {
    Record::Fields fields;
    for (const auto& [name, field] : json.items()) {
        auto value = value_at(field, level + 1);
        if (!value) return std::move(value).error().while_doing(fmt::format("reading field '{}'", shown(name)));
        fields.emplace_back(name, *std::move(value));
    }
    YOLK_TRY(Record record, Record::create(std::move(fields)));
    return Value(std::move(record));
}

Result<Value> value_at(const Json& json, std::size_t level) {
    if (level > kMostValueDepth) return too_deep();
    if (json.is_boolean()) return Value(json.get<bool>());
    if (json.is_string()) return Value(json.get<std::string>());
    if (json.is_number_unsigned()) {
        const auto integer = json.get<std::uint64_t>();
        if (integer <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            return Value(static_cast<std::int64_t>(integer));
        return bad_input("{} has more than 64 bits with its sign; write it as text, or with a point, as a number.",
                         integer);
    }
    if (json.is_number_integer()) return Value(json.get<std::int64_t>());
    if (json.is_number()) return Value(json.get<double>());
    if (json.is_object()) return object_value(json, level);
    if (json.is_array()) return array_value(json, level);
    return bad_input("{} is not a value: values are numbers, true and false, texts, arrays and objects of them.",
                     to_line(json));
}

std::string elements_to_string(std::span<const float> values) {
    const auto listed = values.first(std::min(values.size(), kShownElements));
    return fmt::format("{}{}", fmt::join(listed, ", "), listed.size() < values.size() ? ", ..." : "");
}

/// A number stays one: 3.0 and not 3, which is an integer.
std::string number_text(double number) {
    return std::isfinite(number) ? to_line(Json(number)) : fmt::format("{}", number);
}

void append_elements(std::string& out, const Tensor& tensor, std::size_t dimension, std::size_t& next) {
    if (dimension == tensor.shape().rank()) {
        out += number_text(shortest(tensor.values()[next++]));
        return;
    }
    out += '[';
    for (std::uint64_t i = 0; i < tensor.shape()[dimension]; ++i) {
        if (i > 0) out += ',';
        append_elements(out, tensor, dimension + 1, next);
    }
    out += ']';
}

/// JSON, but for infinities and NaN.
void append_json(std::string& out, const Value& value) {
    const std::size_t begin = out.size();
    const auto separate = [&] { out += out.size() > begin + 1 ? "," : ""; };
    if (value.text() != nullptr) {
        out += to_line(Json(*value.text()));
    } else if (const List* list = value.list()) {
        out += '[';
        for (const Value& item : list->items()) {
            separate();
            append_json(out, item);
        }
        out += ']';
    } else if (const Record* record = value.record()) {
        out += '{';
        for (const auto& [name, field] : record->fields()) {
            separate();
            out += to_line(Json(name)) + ':';
            append_json(out, field);
        }
        out += '}';
    } else {
        out += text_of(value);
    }
}

}  // namespace

std::string to_string(const ValueType& type) {
    const std::string kind(to_string(type.kind));
    if (type.kind == ValueKind::Record) {
        std::vector<std::string> fields;
        for (const auto& [name, field] : type.fields) fields.push_back(name + ": " + to_string(field));
        return fmt::format("{} {{{}}}", kind, fmt::join(fields, ", "));
    }
    return type.kind == ValueKind::Tensor ? kind + " " + type.shape.to_string() : kind;
}

std::string to_string(const Value& value) {
    if (value.text() != nullptr) return to_line(Json(*value.text()));
    if (const Tensor* tensor = value.tensor())
        return fmt::format("tensor {} ({})", tensor->shape().to_string(), elements_to_string(tensor->values()));
    if (const Record* record = value.record()) {
        std::vector<std::string> fields;
        for (const auto& [name, field] : record->fields()) fields.push_back(name + ": " + to_string(field));
        return fmt::format("{{{}}}", fmt::join(fields, ", "));
    }
    if (const List* list = value.list()) {
        const std::size_t count = list->items().size();
        std::vector<std::string> items;
        for (std::size_t i = 0; i < std::min(count, kShownElements); ++i) items.push_back(to_string(list->items()[i]));
        if (items.size() < count) items.emplace_back("...");
        return fmt::format("[{}]", fmt::join(items, ", "));
    }
    if (value.number() != nullptr) return fmt::format("{}", *value.number());
    return text_of(value);
}

std::string text_of(const Value& value) {
    if (value.text() != nullptr) return *value.text();
    if (value.number() != nullptr) return number_text(*value.number());
    if (value.integer() != nullptr) return fmt::format("{}", *value.integer());
    if (value.boolean() != nullptr) return *value.boolean() ? "true" : "false";
    std::string out;
    if (const Tensor* tensor = value.tensor()) {
        std::size_t next = 0;
        append_elements(out, *tensor, 0, next);
    } else {
        append_json(out, value);
    }
    return out;
}

Json to_json(const Value& value) {
    if (value.text() != nullptr) return *value.text();
    if (value.number() != nullptr) return *value.number();
    if (value.integer() != nullptr) return *value.integer();
    if (value.boolean() != nullptr) return *value.boolean();
    if (const Record* record = value.record()) {
        Json object = Json::object();
        for (const auto& [name, field] : record->fields()) object[name] = to_json(field);
        return object;
    }
    if (const List* list = value.list()) {
        Json array = Json::array();
        for (const Value& item : list->items()) array.push_back(to_json(item));
        return array;
    }
    std::size_t next = 0;
    return nested(*value.tensor(), 0, next);
}

Result<Value> value_from_json(const Json& json) { return value_at(json, 0); }

}  // namespace yolk::hyper
