// SPDX-License-Identifier: Apache-2.0
// What flows through a system: tensors, text, numbers, booleans, and records of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "yolk/core/json_fwd.hpp"
#include "yolk/core/result.hpp"
#include "yolk/core/shape.hpp"

namespace yolk::hyper {

/// fp32, row-major, on the host. Immutable; copies share the elements. Threads may share it.
class Tensor {
   public:
    Tensor();  ///< rank 1, no element
    /// Errors: values that do not fill the shape.
    [[nodiscard]] static Result<Tensor> create(Shape shape, std::vector<float> values);
    [[nodiscard]] static Tensor vector(std::vector<float> values);  ///< [values.size()]
    [[nodiscard]] static Tensor filled(Shape shape, float value);   ///< the shape must not overflow
    /// Tensors of one shape that lie one behind the other in `values`. They share it: a copy of one keeps all of it.
    /// Errors: values that fill no whole number of them.
    [[nodiscard]] static Result<std::vector<Tensor>> slices(Shape each, std::vector<float> values);

    [[nodiscard]] const Shape& shape() const noexcept { return storage_->shape; }
    [[nodiscard]] std::span<const float> values() const noexcept { return values_; }
    /// Same shape, same bits.
    friend bool operator==(const Tensor& a, const Tensor& b);

   private:
    struct Storage {
        Shape shape;
        std::vector<float> values;
    };
    Tensor(Shape shape, std::vector<float> values);
    Tensor(std::shared_ptr<const Storage> storage, std::span<const float> values);
    std::shared_ptr<const Storage> storage_;
    std::span<const float> values_;  ///< in the storage
};

/// Parts side by side along `dimension` (negative ones count from the last). Errors: no part, a dimension out of range,
/// shapes that differ elsewhere.
[[nodiscard]] Result<Tensor> concat(std::span<const Tensor> parts, std::int64_t dimension);
/// The reverse. Errors: a dimension out of range, sizes that do not sum to its extent.
[[nodiscard]] Result<std::vector<Tensor>> split(const Tensor& whole, std::span<const std::uint64_t> sizes,
                                                std::int64_t dimension);

class Value;

/// Values by name, in an order; a field may be a record again. Immutable; copies share the fields. Threads may share
/// it.
class Record {
   public:
    using Fields = std::vector<std::pair<std::string, Value>>;
    Record();  ///< without fields
    /// Errors: a field without a name, two of one name.
    [[nodiscard]] static Result<Record> create(Fields fields);

    [[nodiscard]] const Fields& fields() const noexcept;
    [[nodiscard]] const Value* find(std::string_view name) const noexcept;  ///< nullptr for none
    /// The same names in the same order, and equal values.
    friend bool operator==(const Record& a, const Record& b);

   private:
    explicit Record(Fields fields);
    std::shared_ptr<const Fields> fields_;
};

enum class ValueKind { Tensor, Text, Number, Boolean, Record };
[[nodiscard]] std::string_view to_string(ValueKind kind) noexcept;

class Value {
   public:
    // Implicit on purpose: examples and predictions are written as literals.
    Value() : state_(0.0) {}
    Value(Tensor tensor) : state_(std::move(tensor)) {}         // NOLINT(google-explicit-constructor)
    Value(std::string text) : state_(std::move(text)) {}        // NOLINT(google-explicit-constructor)
    Value(const char* text) : state_(std::string(text)) {}      // NOLINT(google-explicit-constructor)
    Value(double number) : state_(number) {}                    // NOLINT(google-explicit-constructor)
    Value(int number) : state_(static_cast<double>(number)) {}  // NOLINT(google-explicit-constructor)
    Value(bool truth) : state_(truth) {}                        // NOLINT(google-explicit-constructor)
    Value(Record record) : state_(std::move(record)) {}         // NOLINT(google-explicit-constructor)

    [[nodiscard]] ValueKind kind() const noexcept { return static_cast<ValueKind>(state_.index()); }
    [[nodiscard]] const Tensor* tensor() const noexcept { return std::get_if<Tensor>(&state_); }
    [[nodiscard]] const std::string* text() const noexcept { return std::get_if<std::string>(&state_); }
    [[nodiscard]] const double* number() const noexcept { return std::get_if<double>(&state_); }
    [[nodiscard]] const bool* boolean() const noexcept { return std::get_if<bool>(&state_); }
    [[nodiscard]] const Record* record() const noexcept { return std::get_if<Record>(&state_); }
    /// A number, a boolean as 0 or 1, the element of a tensor that has one. Error: anything else, saying what it is.
    [[nodiscard]] Result<double> as_number() const;

    friend bool operator==(const Value&, const Value&) = default;

   private:
    std::variant<Tensor, std::string, double, bool, Record> state_;
};

/// Kind and shape: what an equation's result must keep for all candidates. `shape` is of tensors only, `fields` of
/// records.
struct ValueType {
    ValueKind kind = ValueKind::Number;
    Shape shape{};
    std::vector<std::pair<std::string, ValueType>> fields{};
    friend bool operator==(const ValueType&, const ValueType&) = default;
};
[[nodiscard]] ValueType type_of(const Value& value);
[[nodiscard]] std::string to_string(const ValueType& type);  ///< "tensor [2, 3]", "text", "record {a: number}"
[[nodiscard]] Value blank_of(const ValueType& type);         ///< zeros, an empty text, false, a record of those
/// Short, for messages and graphs: tensors of more than eight elements are cut.
[[nodiscard]] std::string to_string(const Value& value);
/// Numbers and booleans as such, text as strings, tensors as nested arrays, records as objects; and back (an array is a
/// tensor).
[[nodiscard]] Json to_json(const Value& value);
[[nodiscard]] Result<Value> value_from_json(const Json& json);

}  // namespace yolk::hyper
