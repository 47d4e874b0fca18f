// SPDX-License-Identifier: Apache-2.0
// C++ values as what flows through a system, and back: numbers, texts, vectors (lists), maps and described structs
// (records).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/parameters.hpp"
#include "yolk/result.hpp"
#include "yolk/tensor.hpp"

namespace yolk::hyper {

/// How a struct becomes numbers or a record, and back: give it `static FieldsOf<T> fields()`, or a function
/// `FieldsOf<T> fields_of(const T*)` beside it. See field_of() and docs/hyper.md.
template <class T>
struct FieldOf {
    Field field{};
    std::function<double(const T&)> get{};                  ///< empty where the member is no number: not of parameters
    std::function<void(T&, double)> set{};                  ///< likewise
    std::function<Result<Value>(const T&)> read{};          ///< as a field of a record
    std::function<Result<void>(T&, const Value&)> write{};  ///< errors: another kind

    FieldOf between(double lower, double upper) && {
        field.lower = lower;
        field.upper = upper;
        return std::move(*this);
    }
    FieldOf log() && {
        field.scale = FieldScale::Log;
        return std::move(*this);
    }
};
template <class T>
using FieldsOf = std::vector<FieldOf<T>>;
/// A real (floating point), an integer, a boolean by the member's type; the default is the member's in a fresh T. Of
/// parameters, reals and integers need between(). Structs that host functions take and return may also have members of
/// std::string, Tensor, Value, std::vector and std::map<std::string, ...> of those, and structs that are described like
/// this themselves.
template <class T, class M>
[[nodiscard]] FieldOf<T> field_of(std::string name, M T::*member);
/// One of several texts; the member is an integer, the index.
template <class T, class M>
[[nodiscard]] FieldOf<T> choice_of(std::string name, M T::*member, std::vector<std::string> choices);
/// A described struct as a record, and back. Errors name the field that is missing or of another kind; fields that T
/// does not have are passed over. An empty record where the description names a field twice.
template <class T>
[[nodiscard]] Value to_value(const T& object);
template <class T>
[[nodiscard]] Result<T> from_value(const Value& value);

namespace detail {

template <class M>
[[nodiscard]] constexpr FieldKind field_kind() {
    static_assert(std::is_arithmetic_v<M>, "a field is a floating point number, an integer or a bool");
    if constexpr (std::is_same_v<M, bool>) return FieldKind::Boolean;
    return std::is_integral_v<M> ? FieldKind::Integer : FieldKind::Real;
}

/// Bounds that validation refuses: reals and integers need between().
inline constexpr double kNoBound = std::numeric_limits<double>::quiet_NaN();

template <class T>
concept HasFieldsMember = requires {
    { T::fields() } -> std::convertible_to<FieldsOf<T>>;
};
template <class T>
concept HasFieldsFunction = requires(const T* type) {
    { fields_of(type) } -> std::convertible_to<FieldsOf<T>>;
};

template <class T>
[[nodiscard]] FieldsOf<T> fields() {
    static_assert(
        HasFieldsMember<T> || HasFieldsFunction<T>,
        "a parameter struct needs `static FieldsOf<T> fields()`, or a function `FieldsOf<T> fields_of(const T*)`");
    if constexpr (HasFieldsMember<T>) {
        return T::fields();
    } else {
        return fields_of(static_cast<const T*>(nullptr));
    }
}

/// In place of an operand's number: a value inside another.
inline constexpr std::size_t kInside = std::numeric_limits<std::size_t>::max();
[[nodiscard]] Error operand_error(std::size_t index, const Value& value, std::string_view wanted);

/// What a person would write for a member: .7 for .7F.
[[nodiscard]] double written(float number);
template <class M>
[[nodiscard]] double written_number(M number) {
    if constexpr (std::is_same_v<M, float>) return written(number);
    return static_cast<double>(number);
}

template <class T>
concept Described = HasFieldsMember<T> || HasFieldsFunction<T>;

/// Errors: no record, no such field.
[[nodiscard]] Result<Value> field_from(const Value& record, const std::string& name);
/// The error of a field of an operand (or of a value inside one).
[[nodiscard]] Error field_error(Error error, const std::string& name, std::size_t index);
/// A choice by its text or its index. Errors: none of them.
[[nodiscard]] Result<double> choice_from(const Value& value, const std::vector<std::string>& choices);

template <class T>
[[nodiscard]] const FieldsOf<T>& described_fields() {
    static const FieldsOf<T> all = fields<T>();
    return all;
}
template <class T>
[[nodiscard]] Result<T> struct_from(const Value& value, std::size_t index) {
    T object{};
    for (const FieldOf<T>& of : described_fields<T>()) {
        auto field = field_from(value, of.field.name);
        if (!field) return field_error(std::move(field).error(), {}, index);
        auto written = of.write(object, *field);
        if (!written) return field_error(std::move(written).error(), of.field.name, index);
    }
    return object;
}
/// Errors: a description that names a field twice, values nested too deep.
template <class T>
[[nodiscard]] Result<Value> struct_to(const T& object) {
    Record::Fields all;
    for (const FieldOf<T>& of : described_fields<T>()) {
        YOLK_TRY(Value field, of.read(object));
        all.emplace_back(of.field.name, std::move(field));
    }
    YOLK_TRY(Record record, Record::create(std::move(all)));
    return Value(std::move(record));
}

/// std::vector<T> is a list, std::map<std::string, T> a record.
template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class T>
inline constexpr bool kIsMap<std::map<std::string, T>> = true;

/// The items of a list, or of a tensor along its first dimension. Errors: neither.
[[nodiscard]] Result<std::vector<Value>> items_from(const Value& value, std::size_t index);
[[nodiscard]] Result<Tensor> tensor_from(const Value& value, std::size_t index);
/// The error of an item of a list.
[[nodiscard]] Error item_error(Error error, std::size_t item, std::size_t index);

/// A plain argument out of a value.
template <class T>
[[nodiscard]] Result<T> plain_from(const Value& value, std::size_t index) {
    if constexpr (std::is_same_v<T, Value>) {
        return value;
    } else if constexpr (std::is_same_v<T, Tensor>) {
        return tensor_from(value, index);
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (value.text() == nullptr) return operand_error(index, value, "text");
        return *value.text();
    } else if constexpr (std::is_same_v<T, bool>) {
        if (value.boolean() == nullptr) return operand_error(index, value, "a boolean");
        return *value.boolean();
    } else if constexpr (Described<T>) {
        return struct_from<T>(value, index);
    } else if constexpr (kIsVector<T>) {
        YOLK_TRY(const std::vector<Value> items, items_from(value, index));
        T all;
        for (std::size_t i = 0; i < items.size(); ++i) {
            auto item = plain_from<typename T::value_type>(items[i], kInside);
            if (!item) return item_error(std::move(item).error(), i, index);
            all.push_back(*std::move(item));
        }
        return all;
    } else if constexpr (kIsMap<T>) {
        if (value.record() == nullptr) return operand_error(index, value, "a record");
        T all;
        for (const auto& [name, field] : value.record()->fields()) {
            auto plain = plain_from<typename T::mapped_type>(field, kInside);
            if (!plain) return field_error(std::move(plain).error(), name, index);
            all.emplace(name, *std::move(plain));
        }
        return all;
    } else if constexpr (std::is_integral_v<T>) {
        if (value.integer() == nullptr && !value.as_number()) return operand_error(index, value, "a number");
        const Result<std::int64_t> integer = value.as_integer();
        if (!integer || !std::in_range<T>(*integer)) return operand_error(index, value, "a whole number in range");
        return static_cast<T>(*integer);
    } else {
        static_assert(std::is_arithmetic_v<T>,
                      "a host function takes numbers, bool, std::string, Tensor, Value, std::vector and "
                      "std::map<std::string, ...> of those, and structs with fields() (and std::stop_token last)");
        const Result<double> number = value.as_written_number();
        if (!number) return operand_error(index, value, "a number");
        return static_cast<T>(*number);
    }
}

template <class T>
struct PlainResult {
    using Type = T;
};
template <class T>
struct PlainResult<Result<T>> {
    using Type = T;
};

/// The error of an integer that is too large.
[[nodiscard]] Error integer_error(std::uint64_t integer);

/// Errors: an integer beyond 64 bits with its sign, a field without a name, values nested too deep.
template <class T>
[[nodiscard]] Result<Value> plain_to(T value) {
    if constexpr (std::is_same_v<T, bool>) {
        return Value(value);
    } else if constexpr (std::is_integral_v<T>) {
        if (!std::in_range<std::int64_t>(value)) return integer_error(static_cast<std::uint64_t>(value));
        return Value(static_cast<std::int64_t>(value));
    } else if constexpr (std::is_arithmetic_v<T>) {
        return Value(written_number(value));
    } else if constexpr (Described<T>) {
        return struct_to(value);
    } else if constexpr (kIsVector<T>) {
        List::Items items;
        for (auto&& item : value) {
            YOLK_TRY(Value plain, plain_to(typename T::value_type(item)));
            items.push_back(std::move(plain));
        }
        YOLK_TRY(List list, List::create(std::move(items)));
        return Value(std::move(list));
    } else if constexpr (kIsMap<T>) {
        Record::Fields all;
        for (const auto& [name, field] : value) {
            YOLK_TRY(Value plain, plain_to(field));
            all.emplace_back(name, std::move(plain));
        }
        YOLK_TRY(Record record, Record::create(std::move(all)));
        return Value(std::move(record));
    } else {
        static_assert(std::is_constructible_v<Value, T>,
                      "a host function returns a number, bool, std::string, Tensor, Value, std::vector or "
                      "std::map<std::string, ...> of those, or a struct with fields(), or a Result of one");
        return Value(std::move(value));
    }
}

}  // namespace detail

template <class T, class M>
FieldOf<T> field_of(std::string name, M T::*member) {
    FieldOf<T> field{.field = {.name = std::move(name)}};
    if constexpr (std::is_arithmetic_v<M>) {
        field.field.kind = detail::field_kind<M>();
        field.field.initial = detail::written_number(T{}.*member);
        field.get = [member](const T& of) { return detail::written_number(of.*member); };
        field.set = [member](T& of, double value) { of.*member = static_cast<M>(value); };
    }
    if (field.field.kind != FieldKind::Boolean) field.field.lower = field.field.upper = detail::kNoBound;
    field.read = [member](const T& of) { return detail::plain_to(M(of.*member)); };
    field.write = [member](T& of, const Value& value) -> Result<void> {
        YOLK_TRY(of.*member, detail::plain_from<M>(value, detail::kInside));
        return {};
    };
    return field;
}

template <class T>
Value to_value(const T& object) {
    return detail::struct_to(object).value_or(Value(Record()));
}
template <class T>
Result<T> from_value(const Value& value) {
    return detail::struct_from<T>(value, detail::kInside);
}

template <class T, class M>
FieldOf<T> choice_of(std::string name, M T::*member, std::vector<std::string> choices) {
    static_assert(std::is_integral_v<M> || std::is_enum_v<M>, "a choice's member is its index");
    Field field{.name = std::move(name), .kind = FieldKind::Choice};
    field.initial = static_cast<double>(T{}.*member);
    field.upper = choices.empty() ? 0.0 : static_cast<double>(choices.size() - 1);
    field.choices = choices;
    FieldOf<T> of{std::move(field), [member](const T& object) { return static_cast<double>(object.*member); },
                  [member](T& object, double value) { object.*member = static_cast<M>(value); }};
    of.read = [member, choices](const T& object) -> Result<Value> {
        const auto index = static_cast<std::size_t>(object.*member);
        return index < choices.size() ? Value(choices[index]) : Value(static_cast<std::int64_t>(index));
    };
    of.write = [member, choices](T& object, const Value& value) -> Result<void> {
        YOLK_TRY(const double index, detail::choice_from(value, choices));
        object.*member = static_cast<M>(index);
        return {};
    };
    return of;
}

}  // namespace yolk::hyper
