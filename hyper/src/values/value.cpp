// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "article.hpp"
#include "yolk/json.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {
namespace {

/// 2^53: integers up to it are doubles, and whole doubles up to it are one integer each.
constexpr std::int64_t kExact = std::int64_t{1} << 53U;

Result<void> check_depth(std::string_view what, std::size_t depth) {
    if (depth <= kMostValueDepth) return {};
    return bad_input("A {} has {} records and lists inside one another; they may be {} deep.", what, depth,
                     kMostValueDepth);
}

/// Whether a double holds it.
bool is_double(std::int64_t integer) {
    if (integer >= -kExact && integer <= kExact) return true;
    const auto number = static_cast<double>(integer);
    return number < 0x1p63 && static_cast<std::int64_t>(number) == integer;
}

bool equal_numbers(std::int64_t integer, double number) {
    return is_double(integer) && static_cast<double>(integer) == number;
}

Result<std::int64_t> whole(double number) {
    if (number == std::floor(number) && std::abs(number) <= static_cast<double>(kExact))
        return static_cast<std::int64_t>(number);
    return bad_input("{} was given where an integer is needed: a whole number of at most 2^53.", number);
}

/// Appends the numbers of a value whose extents below `dimension` must be those found before.
Result<void> collect(const Value& value, std::size_t dimension, std::vector<std::uint64_t>& extents,
                     std::vector<float>& values) {
    if (value.list() == nullptr) {
        const bool is_one = value.number() != nullptr || value.integer() != nullptr || value.boolean() != nullptr;
        if (!is_one) return bad_input("{} is among its items, which must be numbers", with_article(type_of(value)));
        if (dimension != extents.size()) return bad_input("a number is beside lists among its items");
        values.push_back(value.boolean() != nullptr ? (*value.boolean() ? 1.0F : 0.0F) : as_fp32(value));
        return {};
    }
    const List::Items& items = value.list()->items();
    if (dimension == extents.size()) {
        if (!values.empty()) return bad_input("a list is beside numbers among its items");
        extents.push_back(items.size());
    }
    if (extents[dimension] != items.size())
        return bad_input("lists of {} and of {} items are side by side in it", extents[dimension], items.size());
    for (const Value& item : items) YOLK_TRY_VOID(collect(item, dimension + 1, extents, values));
    return {};
}

}  // namespace

struct Record::Storage {
    Fields fields{};
    std::size_t depth = 1;
};
struct List::Storage {
    Items items{};
    std::size_t depth = 1;
};

Record::Record() : Record(Storage()) {}
Record::Record(Storage storage) : storage_(std::make_shared<const Storage>(std::move(storage))) {}

Result<Record> Record::create(Fields fields) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::string& name = fields[i].first;
        if (name.empty()) return bad_input("Field {} of a record has no name; give each one.", i);
        for (std::size_t j = 0; j < i; ++j) {
            if (fields[j].first == name)
                return bad_input("Fields {} and {} of a record are both '{}'; each name is there once.", j, i, name);
        }
        depth = std::max(depth, fields[i].second.depth());
    }
    YOLK_TRY_VOID(check_depth("record", depth + 1));
    return Record(Storage{std::move(fields), depth + 1});
}

const Record::Fields& Record::fields() const noexcept { return storage_->fields; }

const Value* Record::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find_if(fields(), [&](const auto& field) { return field.first == name; });
    return found != fields().end() ? &found->second : nullptr;
}

bool operator==(const Record& a, const Record& b) { return a.storage_ == b.storage_ || a.fields() == b.fields(); }

List::List() : List(Storage()) {}
List::List(Storage storage) : storage_(std::make_shared<const Storage>(std::move(storage))) {}

Result<List> List::create(Items items) {
    std::size_t depth = 0;
    for (const Value& item : items) depth = std::max(depth, item.depth());
    YOLK_TRY_VOID(check_depth("list", depth + 1));
    return List(Storage{std::move(items), depth + 1});
}

List List::of_texts(std::vector<std::string> texts) {
    Storage storage;
    for (std::string& text : texts) storage.items.emplace_back(std::move(text));
    return List(std::move(storage));
}

const List::Items& List::items() const noexcept { return storage_->items; }

bool operator==(const List& a, const List& b) { return a.storage_ == b.storage_ || a.items() == b.items(); }

std::string_view to_string(ValueKind kind) noexcept {
    constexpr std::array<std::string_view, 7> kWords{"tensor", "text",    "number", "boolean",
                                                     "record", "integer", "list"};
    const auto index = static_cast<std::size_t>(kind);
    return index < kWords.size() ? kWords[index] : "unknown";
}

bool operator==(const Value& a, const Value& b) {
    if (a.integer() != nullptr && b.number() != nullptr) return equal_numbers(*a.integer(), *b.number());
    if (a.number() != nullptr && b.integer() != nullptr) return equal_numbers(*b.integer(), *a.number());
    return a.state_ == b.state_;
}

Result<double> Value::as_number() const {
    if (number() != nullptr) return *number();
    if (boolean() != nullptr) return *boolean() ? 1.0 : 0.0;
    if (tensor() != nullptr && tensor()->values().size() == 1) return double{tensor()->values()[0]};
    if (integer() != nullptr) {
        if (is_double(*integer())) return static_cast<double>(*integer());
        return bad_input("The integer {} was given where a number is needed, and no double is equal to it.",
                         *integer());
    }
    return bad_input(
        "{} was given where a number is needed: a number, an integer, a boolean, or a tensor of one "
        "element.",
        begun_with_article(type_of(*this)));
}

Result<double> Value::as_written_number() const {
    if (tensor() == nullptr || tensor()->values().size() != 1) return as_number();
    return tensor()->numbers().empty() ? shortest(tensor()->values()[0]) : tensor()->numbers()[0];
}

Result<std::int64_t> Value::as_integer() const {
    if (integer() != nullptr) return *integer();
    YOLK_TRY(const double number, as_written_number());
    return whole(number);
}

Result<Value> Value::at(std::int64_t index) const {
    if (list() == nullptr) return bad_input("{} has no items; a list has.", begun_with_article(type_of(*this)));
    const List::Items& items = list()->items();
    const auto count = static_cast<std::int64_t>(items.size());
    if (index >= count || index < -count)
        return bad_input("There is no item {} in a list of {}; items count from 0, or from -1 at the end.", index,
                         count);
    return items[static_cast<std::size_t>(index < 0 ? index + count : index)];
}

Result<Value> Value::at(std::string_view field) const {
    if (record() == nullptr) return bad_input("{} has no fields; a record has.", begun_with_article(type_of(*this)));
    if (const Value* found = record()->find(field)) return *found;
    return bad_input("There is no field '{}' in {}.", field, with_article(type_of(*this)));
}

std::size_t Value::depth() const noexcept {
    if (record() != nullptr) return record()->storage_->depth;
    return list() != nullptr ? list()->storage_->depth : 0;
}

float as_fp32(const Value& value) noexcept {
    if (value.number() != nullptr) return static_cast<float>(*value.number());
    return value.integer() != nullptr ? static_cast<float>(static_cast<double>(*value.integer())) : 0.0F;
}

ValueType type_of(const Value& value) {
    ValueType type{.kind = value.kind()};
    if (value.tensor() != nullptr) type.shape = value.tensor()->shape();
    if (const Record* record = value.record()) {
        for (const auto& [name, field] : record->fields()) type.fields.emplace_back(name, type_of(field));
    }
    return type;
}

Value blank_of(const ValueType& type) {
    switch (type.kind) {
        case ValueKind::Tensor: return Tensor::filled(type.shape, 0.0F);
        case ValueKind::Text: return "";
        case ValueKind::Boolean: return false;
        case ValueKind::Number: return 0.0;
        case ValueKind::Integer: return 0;
        case ValueKind::List: return List();
        case ValueKind::Record: break;
    }
    Record::Fields fields;
    for (const auto& [name, field] : type.fields) fields.emplace_back(name, blank_of(field));
    return Record::create(std::move(fields)).value();
}

Result<Value> conformed(Value value, const ValueType& type) {
    if (value.integer() != nullptr && type.kind == ValueKind::Number) {
        YOLK_TRY(const double number, value.as_number());
        return Value(number);
    }
    if (value.number() != nullptr && type.kind == ValueKind::Integer) {
        YOLK_TRY(const std::int64_t integer, whole(*value.number()));
        return Value(integer);
    }
    const Record* record = value.record();
    if (record == nullptr || type.kind != ValueKind::Record || record->fields().size() != type.fields.size())
        return value;
    if (type_of(value) == type) return value;
    Record::Fields fields = record->fields();
    for (std::size_t i = 0; i < fields.size(); ++i) {
        auto field = conformed(std::move(fields[i].second), type.fields[i].second);
        if (!field) return std::move(field).error().while_doing(fmt::format("reading field '{}'", fields[i].first));
        fields[i].second = *std::move(field);
    }
    YOLK_TRY(Record made, Record::create(std::move(fields)));
    return Value(std::move(made));
}

Result<Tensor> tensor_of(const Value& value) {
    if (value.tensor() != nullptr) return *value.tensor();
    if (value.list() == nullptr)
        return bad_input("{} was given where a list of numbers is needed.", begun_with_article(type_of(value)));
    std::vector<std::uint64_t> extents;
    std::vector<float> values;
    if (auto done = collect(value, 0, extents, values); !done)
        return bad_input("The list {} is no tensor: {}.", to_string(value), done.error().message);
    return Tensor::create(Shape(std::move(extents)), std::move(values));
}

}  // namespace yolk::hyper
