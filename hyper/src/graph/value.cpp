// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/value.hpp"
#include "yolk/core/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "operations_impl.hpp"

namespace yolk::hyper {
namespace {

constexpr std::size_t kShownElements = 8;

/// What lies before and behind one dimension, as counts of elements.
struct Around {
    std::size_t outer = 1;
    std::size_t inner = 1;
};
Around around(const Shape& shape, std::size_t dimension) {
    Around result;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
        if (i < dimension) result.outer *= shape[i];
        if (i > dimension) result.inner *= shape[i];
    }
    return result;
}

Result<std::size_t> checked_dimension(const char* what, const Shape& shape, std::int64_t dimension) {
    const auto rank = static_cast<std::int64_t>(shape.rank());
    if (dimension >= rank || dimension < -rank) {
        return bad_input("{}: dimension {} of a tensor {}; it must be from {} to {}.", what, dimension,
                         shape.to_string(), -rank, rank - 1);
    }
    return static_cast<std::size_t>(dimension < 0 ? dimension + rank : dimension);
}

Json nested(const Tensor& tensor, std::size_t dimension, std::size_t& next) {
    if (dimension == tensor.shape().rank()) return shortest(tensor.values()[next++]);
    Json array = Json::array();
    for (std::uint64_t i = 0; i < tensor.shape()[dimension]; ++i) array.push_back(nested(tensor, dimension + 1, next));
    return array;
}

/// Appends the elements of `json`, whose extents below `dimension` must be those found before.
Result<void> collect(const Json& json, std::size_t dimension, std::vector<std::uint64_t>& extents,
                     std::vector<float>& values) {
    if (!json.is_array()) {
        if (!json.is_number() || dimension != extents.size())
            return bad_input(
                "This array is not a tensor: {} among its elements. Tensors are numbers, or arrays of the same length, "
                "at every level.",
                to_line(json));
        values.push_back(json.get<float>());
        return {};
    }
    if (dimension == extents.size()) {
        if (!values.empty()) return bad_input("This array is not a tensor: numbers beside arrays.");
        extents.push_back(json.size());
    }
    if (extents[dimension] != json.size())
        return bad_input("This array is not a tensor: {} elements beside {} at level {}.", json.size(),
                         extents[dimension], dimension);
    for (const Json& element : json) YOLK_TRY_VOID(collect(element, dimension + 1, extents, values));
    return {};
}

std::string elements_to_string(std::span<const float> values) {
    const auto shown = values.first(std::min(values.size(), kShownElements));
    return fmt::format("{}{}", fmt::join(shown, ", "), shown.size() < values.size() ? ", ..." : "");
}

}  // namespace

Tensor::Tensor() : Tensor(Shape{0}, {}) {}
Tensor::Tensor(Shape shape, std::vector<float> values)
    : storage_(std::make_shared<const Storage>(Storage{std::move(shape), std::move(values)})),
      values_(storage_->values) {}
Tensor::Tensor(std::shared_ptr<const Storage> storage, std::span<const float> values)
    : storage_(std::move(storage)), values_(values) {}

Result<Tensor> Tensor::create(Shape shape, std::vector<float> values) {
    YOLK_TRY(const std::uint64_t count, shape.element_count());
    if (count != values.size()) {
        return bad_input("A tensor {} has {} elements; {} were given.", shape.to_string(), count, values.size());
    }
    return Tensor(std::move(shape), std::move(values));
}

Result<std::vector<Tensor>> Tensor::slices(Shape each, std::vector<float> values) {
    YOLK_TRY(const std::uint64_t count, each.element_count());
    if (count == 0 || values.size() % count != 0) {
        return bad_input("Tensors {} of {} elements each were to share {} elements; they must fill them.",
                         each.to_string(), count, values.size());
    }
    const auto storage = std::make_shared<const Storage>(Storage{std::move(each), std::move(values)});
    const std::span<const float> all = storage->values;
    std::vector<Tensor> tensors;
    tensors.reserve(all.size() / count);
    for (std::size_t at = 0; at < all.size(); at += count) tensors.push_back(Tensor(storage, all.subspan(at, count)));
    return tensors;
}

Tensor Tensor::vector(std::vector<float> values) {
    Shape shape{values.size()};
    return {std::move(shape), std::move(values)};
}

Tensor Tensor::filled(Shape shape, float value) {
    const std::uint64_t count = shape.element_count().value();
    return {std::move(shape), std::vector<float>(count, value)};
}

bool operator==(const Tensor& a, const Tensor& b) {
    if (a.shape() != b.shape()) return false;
    return a.values_.data() == b.values_.data() || a.values_.empty() ||
           std::memcmp(a.values_.data(), b.values_.data(), a.values_.size_bytes()) == 0;
}

Result<Tensor> concat(std::span<const Tensor> parts, std::int64_t dimension) {
    if (parts.empty()) return bad_input("concat: no parts were given; it needs at least one.");
    const Shape& first = parts[0].shape();
    YOLK_TRY(const std::size_t along, checked_dimension("concat", first, dimension));
    std::uint64_t extent = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Shape& shape = parts[i].shape();
        if (shape.rank() != first.rank() || with_extent(shape, along, first[along]) != first) {
            return bad_input("concat: part {} is {}, the first is {}; they may differ along dimension {} only.", i,
                             shape.to_string(), first.to_string(), along);
        }
        extent += shape[along];
    }
    const Around counts = around(first, along);
    std::vector<float> values;
    values.reserve(counts.outer * extent * counts.inner);
    for (std::size_t o = 0; o < counts.outer; ++o) {
        for (const Tensor& part : parts) {
            const std::size_t size = part.shape()[along] * counts.inner;
            const auto piece = part.values().subspan(o * size, size);
            values.insert(values.end(), piece.begin(), piece.end());
        }
    }
    return Tensor::create(with_extent(first, along, extent), std::move(values));
}

Result<std::vector<Tensor>> split(const Tensor& whole, std::span<const std::uint64_t> sizes, std::int64_t dimension) {
    YOLK_TRY(const std::size_t along, checked_dimension("split", whole.shape(), dimension));
    const std::uint64_t extent = whole.shape()[along];
    std::uint64_t sum = 0;
    for (const std::uint64_t size : sizes) sum = size > extent - std::min(sum, extent) ? extent + 1 : sum + size;
    if (sum != extent || sizes.empty()) {
        return bad_input("split: sizes [{}] of a tensor {}; along dimension {} they must sum to {}.",
                         fmt::join(sizes, ", "), whole.shape().to_string(), along, extent);
    }
    const Around counts = around(whole.shape(), along);
    std::vector<Tensor> parts;
    std::size_t first = 0;
    for (const std::uint64_t size : sizes) {
        std::vector<float> values;
        values.reserve(counts.outer * size * counts.inner);
        for (std::size_t o = 0; o < counts.outer; ++o) {
            const auto piece = whole.values().subspan((o * extent + first) * counts.inner, size * counts.inner);
            values.insert(values.end(), piece.begin(), piece.end());
        }
        YOLK_TRY(Tensor part, Tensor::create(with_extent(whole.shape(), along, size), std::move(values)));
        parts.push_back(std::move(part));
        first += size;
    }
    return parts;
}

Record::Record() : Record(Fields()) {}
Record::Record(Fields fields) : fields_(std::make_shared<const Fields>(std::move(fields))) {}

Result<Record> Record::create(Fields fields) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::string& name = fields[i].first;
        if (name.empty()) return bad_input("Field {} of a record has no name; give each one.", i);
        for (std::size_t j = 0; j < i; ++j) {
            if (fields[j].first == name)
                return bad_input("Fields {} and {} of a record are both '{}'; each name is there once.", j, i, name);
        }
    }
    return Record(std::move(fields));
}

const Record::Fields& Record::fields() const noexcept { return *fields_; }

const Value* Record::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find_if(*fields_, [&](const auto& field) { return field.first == name; });
    return found != fields_->end() ? &found->second : nullptr;
}

bool operator==(const Record& a, const Record& b) { return a.fields_ == b.fields_ || *a.fields_ == *b.fields_; }

std::string_view to_string(ValueKind kind) noexcept {
    constexpr std::array<std::string_view, 5> kWords{"tensor", "text", "number", "boolean", "record"};
    const auto index = static_cast<std::size_t>(kind);
    return index < kWords.size() ? kWords[index] : "unknown";
}

Result<double> Value::as_number() const {
    if (number() != nullptr) return *number();
    if (boolean() != nullptr) return *boolean() ? 1.0 : 0.0;
    if (tensor() != nullptr && tensor()->values().size() == 1) return double{tensor()->values()[0]};
    return bad_input("A {} was given where a number is needed: a number, a boolean, or a tensor of one element.",
                     to_string(type_of(*this)));
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
        case ValueKind::Record: break;
    }
    Record::Fields fields;
    for (const auto& [name, field] : type.fields) fields.emplace_back(name, blank_of(field));
    return Record::create(std::move(fields)).value();
}

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
    if (value.number() != nullptr) return fmt::format("{}", *value.number());
    if (value.boolean() != nullptr) return *value.boolean() ? "true" : "false";
    if (const Record* record = value.record()) {
        std::vector<std::string> fields;
        for (const auto& [name, field] : record->fields()) fields.push_back(name + ": " + to_string(field));
        return fmt::format("{{{}}}", fmt::join(fields, ", "));
    }
    const Tensor& tensor = *value.tensor();
    return fmt::format("tensor {} ({})", tensor.shape().to_string(), elements_to_string(tensor.values()));
}

Json to_json(const Value& value) {
    if (value.text() != nullptr) return *value.text();
    if (value.number() != nullptr) return *value.number();
    if (value.boolean() != nullptr) return *value.boolean();
    if (const Record* record = value.record()) {
        Json object = Json::object();
        for (const auto& [name, field] : record->fields()) object[name] = to_json(field);
        return object;
    }
    std::size_t next = 0;
    return nested(*value.tensor(), 0, next);
}

Result<Value> value_from_json(const Json& json) {
    if (json.is_boolean()) return Value(json.get<bool>());
    if (json.is_number()) return Value(json.get<double>());
    if (json.is_string()) return Value(json.get<std::string>());
    if (json.is_object()) {
        Record::Fields fields;
        for (const auto& [name, field] : json.items()) {
            auto value = value_from_json(field);
            if (!value) return std::move(value).error().while_doing(fmt::format("reading field '{}'", name));
            fields.emplace_back(name, *std::move(value));
        }
        YOLK_TRY(Record record, Record::create(std::move(fields)));
        return Value(std::move(record));
    }
    if (!json.is_array()) {
        return bad_input("{} is not a value: values are numbers, true and false, text, arrays of numbers, and objects.",
                         to_line(json));
    }
    std::vector<std::uint64_t> extents;
    std::vector<float> values;
    YOLK_TRY_VOID(collect(json, 0, extents, values));
    YOLK_TRY(Tensor tensor, Tensor::create(Shape(std::move(extents)), std::move(values)));
    return Value(std::move(tensor));
}

}  // namespace yolk::hyper
