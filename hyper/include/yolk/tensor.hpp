// SPDX-License-Identifier: Apache-2.0
// What flows through a system: tensors, text, integers, numbers, booleans, and records and lists of them.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "yolk/internal/core/json_fwd.hpp"
#include "yolk/internal/core/shape.hpp"
#include "yolk/result.hpp"

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
    /// [numbers.size()], each rounded to fp32, that keeps the numbers themselves: the fields of a parameter struct,
    /// which host functions get as they were written. What an operation makes of it is fp32 alone.
    [[nodiscard]] static Tensor of_numbers(std::vector<double> numbers);

    [[nodiscard]] const Shape& shape() const noexcept { return storage_->shape; }
    [[nodiscard]] std::span<const float> values() const noexcept { return values_; }
    /// Those of of_numbers; empty for any other tensor.
    [[nodiscard]] std::span<const double> numbers() const noexcept { return storage_->numbers; }
    /// Same shape, same bits; the same numbers where both keep some.
    friend bool operator==(const Tensor& a, const Tensor& b);

   private:
    struct Storage {
        Shape shape;
        std::vector<float> values;
        std::vector<double> numbers{};
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

/// Records and lists inside one another, at most: everything that goes through them does so by recursion.
inline constexpr std::size_t kMostValueDepth = 100;

/// A dictionary: values by name, in an order; a field may be a record or a list again. Immutable; copies share the
/// fields. Threads may share it.
class Record {
   public:
    using Fields = std::vector<std::pair<std::string, Value>>;
    Record();  ///< without fields
    /// Errors: a field without a name, two of one name, more than kMostValueDepth levels.
    [[nodiscard]] static Result<Record> create(Fields fields);

    [[nodiscard]] const Fields& fields() const noexcept;
    [[nodiscard]] const Value* find(std::string_view name) const noexcept;  ///< nullptr for none
    /// The same names in the same order, and equal values.
    friend bool operator==(const Record& a, const Record& b);

   private:
    friend class Value;
    struct Storage;
    explicit Record(Storage storage);
    std::shared_ptr<const Storage> storage_;
};

/// Values in an order, of any kinds. Immutable; copies share the items. Threads may share it. Its length and its items
/// are data: the type of a list is "list" and no more, so that a retriever may find two documents here and none there.
class List {
   public:
    using Items = std::vector<Value>;
    List();  ///< without items
    /// Errors: more than kMostValueDepth levels.
    [[nodiscard]] static Result<List> create(Items items);
    [[nodiscard]] static List of_texts(std::vector<std::string> texts);

    [[nodiscard]] const Items& items() const noexcept;
    /// Equal items in the same order.
    friend bool operator==(const List& a, const List& b);

   private:
    friend class Value;
    struct Storage;
    explicit List(Storage storage);
    std::shared_ptr<const Storage> storage_;
};

/// A Number is a double, an Integer has 64 bits and a sign.
enum class ValueKind { Tensor, Text, Number, Boolean, Record, Integer, List };
[[nodiscard]] std::string_view to_string(ValueKind kind) noexcept;

class Value {
   public:
    // Implicit on purpose: examples and predictions are written as literals.
    Value() : state_(0.0) {}
    Value(Tensor tensor) : state_(std::move(tensor)) {}     // NOLINT(google-explicit-constructor)
    Value(std::string text) : state_(std::move(text)) {}    // NOLINT(google-explicit-constructor)
    Value(const char* text) : state_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
    Value(double number) : state_(number) {}                // NOLINT(google-explicit-constructor)
    Value(bool truth) : state_(truth) {}                    // NOLINT(google-explicit-constructor)
    Value(Record record) : state_(std::move(record)) {}     // NOLINT(google-explicit-constructor)
    Value(List list) : state_(std::move(list)) {}           // NOLINT(google-explicit-constructor)
    /// Integers whose type fits: a std::size_t has to be cast.
    template <std::integral I>
    requires(!std::same_as<I, bool> && !std::same_as<I, char> && (std::signed_integral<I> || sizeof(I) < 8))
        Value(I integer)  // NOLINT(google-explicit-constructor)
        : state_(static_cast<std::int64_t>(integer)) {}

    [[nodiscard]] ValueKind kind() const noexcept { return static_cast<ValueKind>(state_.index()); }
    [[nodiscard]] const Tensor* tensor() const noexcept { return std::get_if<Tensor>(&state_); }
    [[nodiscard]] const std::string* text() const noexcept { return std::get_if<std::string>(&state_); }
    [[nodiscard]] const double* number() const noexcept { return std::get_if<double>(&state_); }
    [[nodiscard]] const bool* boolean() const noexcept { return std::get_if<bool>(&state_); }
    [[nodiscard]] const Record* record() const noexcept { return std::get_if<Record>(&state_); }
    [[nodiscard]] const std::int64_t* integer() const noexcept { return std::get_if<std::int64_t>(&state_); }
    [[nodiscard]] const List* list() const noexcept { return std::get_if<List>(&state_); }
    /// A number, an integer that a double holds exactly, a boolean as 0 or 1, the element of a tensor that has one.
    /// Error: anything else, saying what it is.
    [[nodiscard]] Result<double> as_number() const;
    /// The same, but a tensor's element is the number that a person would write for it: .1, not .10000000149011612.
    [[nodiscard]] Result<double> as_written_number() const;
    /// An integer, or what as_number() gives where that is whole and at most 2^53. Error: anything else.
    [[nodiscard]] Result<std::int64_t> as_integer() const;
    /// An item of a list, counted from its end below 0; a field of a record. Errors: no list, no record, none there.
    [[nodiscard]] Result<Value> at(std::int64_t index) const;
    [[nodiscard]] Result<Value> at(std::string_view field) const;
    /// How many records and lists are inside one another: 0 for other values.
    [[nodiscard]] std::size_t depth() const noexcept;

    /// Of one kind and equal. An integer equals the number of the same value.
    friend bool operator==(const Value& a, const Value& b);

   private:
    std::variant<Tensor, std::string, double, bool, Record, std::int64_t, List> state_;
};

/// As an element of a tensor: a number or an integer rounded to fp32; 0 for what is neither.
[[nodiscard]] float as_fp32(const Value& value) noexcept;

/// Kind and shape: what an equation's result must keep for all candidates. `shape` is of tensors only, `fields` of
/// records. Lists have one type, whatever is in them.
struct ValueType {
    ValueKind kind = ValueKind::Number;
    Shape shape{};
    std::vector<std::pair<std::string, ValueType>> fields{};
    friend bool operator==(const ValueType&, const ValueType&) = default;
};
[[nodiscard]] ValueType type_of(const Value& value);
[[nodiscard]] std::string to_string(const ValueType& type);  ///< "tensor [2, 3]", "text", "record {a: number}"
[[nodiscard]] Value blank_of(const ValueType& type);         ///< zeros, an empty text or list, false, a record of those
/// The value with integers where the type has numbers, and whole numbers where it has integers, as the other; in
/// records, too. Whatever else differs stays. Errors: an integer that no double holds, a number that is not whole.
[[nodiscard]] Result<Value> conformed(Value value, const ValueType& type);
/// Numbers, integers, booleans (0 or 1), or lists of them of equal lengths, as a tensor in fp32; a tensor as it is.
/// Errors: no list, other items, unequal lengths.
[[nodiscard]] Result<Tensor> tensor_of(const Value& value);
/// Short, for messages and graphs: tensors and lists of more than eight elements are cut.
[[nodiscard]] std::string to_string(const Value& value);
/// All of it, as it stands in a prompt: texts as they are, integers and numbers in the shortest form that reads back
/// as the same (3, 3.0, 0.1), tensors, lists and records as JSON.
[[nodiscard]] std::string text_of(const Value& value);
/// Integers and numbers (3 and 3.0), booleans, texts; tensors and lists as arrays, records as objects.
[[nodiscard]] Json to_json(const Value& value);
/// The way back. An array of numbers, or of such arrays, is a tensor where its shape is that of one and fp32 holds its
/// integers; any other array is a list. Errors: null, integers beyond 64 bits, more than kMostValueDepth levels.
[[nodiscard]] Result<Value> value_from_json(const Json& json);

}  // namespace yolk::hyper
