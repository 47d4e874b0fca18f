// SPDX-License-Identifier: Apache-2.0
// The templates of hyperfunction.hpp; not to be included by anyone else.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <stop_token>
#include <tuple>

#include "yolk/hyper/hyperfunction.hpp"

namespace yolk::hyper {

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
/// Errors: no tensor.
[[nodiscard]] Result<Tensor> numbers_in(const Value& value);

/// What a parameter type is as a group: its description, its first values, and the way back.
template <class P>
struct ParameterCodec {
    static void describe(ParameterSpec& spec, const P& /*initial*/) {
        for (FieldOf<P>& of : fields<P>()) spec.fields.push_back(std::move(of.field));
        spec.shape = Shape{spec.fields.size()};
    }
    static Value value(const P& parameters) {
        std::vector<float> natural;
        for (const FieldOf<P>& of : fields<P>())
            natural.push_back(of.get ? static_cast<float>(of.get(parameters)) : 0.0F);  // registration refuses it
        return Tensor::vector(std::move(natural));
    }
    static Result<P> from(const Value& value, const ParameterSpec&) {
        const FieldsOf<P> all = fields<P>();
        YOLK_TRY(const Tensor values, numbers_in(value));
        if (values.values().size() != all.size()) return bad_input("A struct of fields needs as many values.");
        P parameters{};
        for (std::size_t i = 0; i < all.size(); ++i) all[i].set(parameters, double{values.values()[i]});
        return parameters;
    }
};
template <>
struct ParameterCodec<MatrixWeight> {
    static void describe(ParameterSpec& spec, const MatrixWeight& initial) {
        spec.shape = Shape{initial.out, initial.in};
        spec.noise_rank = initial.noise_rank;
    }
    static Value value(const MatrixWeight& weight) { return weight.values; }
    static Result<MatrixWeight> from(const Value& value, const ParameterSpec& spec) {
        YOLK_TRY(Tensor values, numbers_in(value));
        return MatrixWeight::from_tensor(std::move(values), spec.noise_rank);
    }
};
template <>
struct ParameterCodec<VectorWeight> {
    static void describe(ParameterSpec& spec, const VectorWeight& initial) { spec.shape = Shape{initial.size}; }
    static Value value(const VectorWeight& weight) { return weight.values; }
    static Result<VectorWeight> from(const Value& value, const ParameterSpec&) {
        YOLK_TRY(Tensor values, numbers_in(value));
        return VectorWeight{static_cast<std::uint32_t>(values.values().size()), std::move(values)};
    }
};
template <>
struct ParameterCodec<NoParameters> {
    static void describe(ParameterSpec& spec, const NoParameters& /*initial*/) { spec.shape = Shape{0}; }
    static Value value(const NoParameters&) { return Tensor(); }
    static Result<NoParameters> from(const Value&, const ParameterSpec&) { return NoParameters{}; }
};
template <>
struct ParameterCodec<TextParameter> {
    static void describe(ParameterSpec& spec, const TextParameter& initial) {
        spec.shape = Shape{0};
        spec.is_text = true;
        spec.most_bytes = initial.most_bytes;
    }
    static Value value(const TextParameter& parameter) { return parameter.text; }
    static Result<TextParameter> from(const Value& value, const ParameterSpec& spec) {
        if (value.text() == nullptr) return operand_error(kInside, value, "a text");
        return TextParameter{*value.text(), spec.most_bytes};
    }
};

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
template <class T>
[[nodiscard]] Value struct_to(const T& object) {
    Record::Fields all;
    for (const FieldOf<T>& of : described_fields<T>()) all.emplace_back(of.field.name, of.read(object));
    auto record = Record::create(std::move(all));  // an error where the description names a field twice
    return record ? Value(*std::move(record)) : Value(Record());
}

/// A plain argument out of a value.
template <class T>
[[nodiscard]] Result<T> plain_from(const Value& value, std::size_t index) {
    if constexpr (std::is_same_v<T, Value>) {
        return value;
    } else if constexpr (std::is_same_v<T, Tensor>) {
        if (value.tensor() == nullptr) return operand_error(index, value, "a tensor");
        return *value.tensor();
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (value.text() == nullptr) return operand_error(index, value, "text");
        return *value.text();
    } else if constexpr (std::is_same_v<T, bool>) {
        if (value.boolean() == nullptr) return operand_error(index, value, "a boolean");
        return *value.boolean();
    } else if constexpr (Described<T>) {
        return struct_from<T>(value, index);
    } else {
        static_assert(std::is_arithmetic_v<T>,
                      "a host function takes numbers, bool, std::string, Tensor, Value and "
                      "structs with fields() (and std::stop_token last)");
        const Result<double> number = value.as_number();
        if (!number) return operand_error(index, value, "a number");
        if constexpr (std::is_integral_v<T>) {
            const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
            if (*number != std::floor(*number) || *number >= limit || *number < (std::is_signed_v<T> ? -limit : 0.0))
                return operand_error(index, value, "a whole number in range");
        }
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

template <class T>
[[nodiscard]] Value plain_to(T value) {
    if constexpr (std::is_same_v<T, bool>) {
        return Value(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
        return Value(static_cast<double>(value));
    } else if constexpr (Described<T>) {
        return struct_to(value);
    } else {
        static_assert(std::is_constructible_v<Value, T>,
                      "a host function returns a number, bool, std::string, Tensor, "
                      "Value or a struct with fields(), or a Result of one");
        return Value(std::move(value));
    }
}

template <class T>
[[nodiscard]] Value stand_in() {
    using Plain = typename PlainResult<T>::Type;
    if constexpr (std::is_same_v<Plain, Traced> || std::is_same_v<Plain, Tensor>) {
        return Tensor::filled({1}, 0.0F);
    } else if constexpr (std::is_constructible_v<Plain>) {
        return plain_to(Plain{});
    } else {
        return std::string();
    }
}

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
    using Return = R;
    using Arguments = std::tuple<std::remove_cvref_t<A>...>;
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};

template <class Body>
concept HasSignature = std::is_pointer_v<Body> || requires {
    &Body::operator();
};

template <class Tuple>
inline constexpr bool kFirstIsTraced = false;
template <class... Rest>
inline constexpr bool kFirstIsTraced<std::tuple<Traced, Rest...>> = true;

template <class Tuple>
inline constexpr bool kLastIsStop = false;
template <class First, class... Rest>
inline constexpr bool kLastIsStop<std::tuple<First, Rest...>> =
    std::is_same_v<std::tuple_element_t<sizeof...(Rest), std::tuple<First, Rest...>>, std::stop_token>;

/// Operands of a host body [first, first + I...) out of the call's.
template <class Arguments, std::size_t kFirst, std::size_t... I>
[[nodiscard]] Result<std::tuple<std::tuple_element_t<kFirst + I, Arguments>...>> plain_operands(
    [[maybe_unused]] std::span<const Value> operands, std::index_sequence<I...>) {
    std::tuple<Result<std::tuple_element_t<kFirst + I, Arguments>>...> all{
        plain_from<std::tuple_element_t<kFirst + I, Arguments>>(operands[I], I)...};
    const Error* error = nullptr;
    ((error == nullptr && !std::get<I>(all) ? void(error = &std::get<I>(all).error()) : void()), ...);
    if (error != nullptr) return *error;
    return std::tuple<std::tuple_element_t<kFirst + I, Arguments>...>{*std::move(std::get<I>(all))...};
}

/// Of the hyperfunction whose group is described: a text, or a tensor of its shape. Errors: another number of values.
[[nodiscard]] Result<Value> parameters_of(const HostCall& call, const ParameterSpec& spec);

template <class P, class Body>
[[nodiscard]] std::function<Result<Value>(const HostCall&)> host_body(Body body, const ParameterSpec& spec) {
    using Arguments = typename Signature<Body>::Arguments;
    using Return = typename Signature<Body>::Return;
    constexpr bool kHasParameters = !std::is_same_v<P, NoParameters>;
    constexpr std::size_t kFirst = kHasParameters ? 1 : 0;
    constexpr std::size_t kStop = kLastIsStop<Arguments> ? 1 : 0;
    constexpr std::size_t kArity = std::tuple_size_v<Arguments> - kFirst - kStop;
    return [body = std::move(body), spec](const HostCall& call) -> Result<Value> {
        if (call.operands.size() != kArity)
            return bad_input("It was called with " + std::to_string(call.operands.size()) + " operands; it takes " +
                             std::to_string(kArity) + ".");
        YOLK_TRY(auto operands, plain_operands<Arguments, kFirst>(call.operands, std::make_index_sequence<kArity>()));
        const auto run = [&](auto&&... leading) -> Return {
            return std::apply(
                [&](auto&... plain) -> Return {
                    if constexpr (kStop == 1) {
                        return body(leading..., std::move(plain)..., call.stop);
                    } else {
                        return body(leading..., std::move(plain)...);
                    }
                },
                operands);
        };
        const auto convert = [](Return result) -> Result<Value> {
            if constexpr (std::is_same_v<Return, typename PlainResult<Return>::Type>) {
                return plain_to(std::move(result));
            } else {
                if (!result) return std::move(result).error();
                return plain_to(*std::move(result));
            }
        };
        if constexpr (kHasParameters) {
            YOLK_TRY(const Value value, parameters_of(call, spec));
            YOLK_TRY(const P parameters, ParameterCodec<P>::from(value, spec));
            return convert(run(parameters));
        } else {
            return convert(run());
        }
    };
}

template <class P, class Body>
[[nodiscard]] TensorBody tensor_body(Body body) {
    constexpr std::size_t kCount = std::tuple_size_v<typename Signature<Body>::Arguments>;
    return [body = std::move(body)](const Traced& parameters, std::span<const Traced> operands) -> Traced {
        return [&]<std::size_t... I>(std::index_sequence<I...>)->Traced {
            if constexpr (std::is_same_v<P, NoParameters>) {
                return packed(body(operands[I]...));
            } else {
                return packed(body(parameters, operands[I]...));
            }
        }
        (std::make_index_sequence<kCount - (std::is_same_v<P, NoParameters> ? 0 : 1)>());
    };
}

}  // namespace detail

template <class T, class M>
FieldOf<T> field_of(std::string name, M T::*member) {
    FieldOf<T> field{.field = {.name = std::move(name)}};
    if constexpr (std::is_arithmetic_v<M>) {
        field.field.kind = detail::field_kind<M>();
        field.field.initial = static_cast<double>(T{}.*member);
        field.get = [member](const T& of) { return static_cast<double>(of.*member); };
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
    return detail::struct_to(object);
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
    of.read = [member, choices](const T& object) -> Value {
        const auto index = static_cast<std::size_t>(object.*member);
        return index < choices.size() ? Value(choices[index]) : Value(static_cast<double>(index));
    };
    of.write = [member, choices](T& object, const Value& value) -> Result<void> {
        YOLK_TRY(const double index, detail::choice_from(value, choices));
        object.*member = static_cast<M>(index);
        return {};
    };
    return of;
}

template <class P>
Result<Value> Hyperfunction<P>::call(const P& parameters, std::span<const Value> operands) const {
    return call_with(detail::ParameterCodec<P>::value(parameters), operands);
}
template <class P>
Result<Value> Hyperfunction<P>::call(const P& parameters, std::initializer_list<Value> operands) const {
    return call(parameters, std::span<const Value>(operands.begin(), operands.size()));
}
template <class P>
Result<P> Hyperfunction<P>::from_values(const Value& values) const {
    return detail::ParameterCodec<P>::from(values, parts().spec);
}

template <class P, class Body>
Hyperfunction<P> hyperfunction(std::string name, P initial, Body body, HyperfunctionOptions options, Line line) {
    static_assert(
        detail::HasSignature<Body>,
        "a body is a lambda or function whose arguments have types (no auto): that is how it says where it runs");
    using Arguments = typename detail::Signature<Body>::Arguments;
    using Return = typename detail::Signature<Body>::Return;
    constexpr std::size_t kCount = std::tuple_size_v<Arguments>;
    constexpr bool kHasParameters = !std::is_same_v<P, NoParameters>;
    AnyHyperfunction::Parts parts{.spec = {.name = name, .optimize = options.optimize}, .made_at = line};
    detail::ParameterCodec<P>::describe(parts.spec, initial);
    const Value first = detail::ParameterCodec<P>::value(initial);
    if (const Tensor* values = first.tensor()) parts.values = *values;
    if (const std::string* text = first.text()) parts.text = *text;
    parts.stand_in = options.stand_in.value_or(detail::stand_in<Return>());
    if constexpr (detail::kFirstIsTraced<Arguments>) {
        static_assert(Outputs<Return>,
                      "a body over traced values returns one, a tuple of them, or a struct with outputs_of");
        parts.arity = kCount - (kHasParameters ? 1 : 0);
        parts.tensor = detail::tensor_body<P>(std::move(body));
    } else {
        if constexpr (kHasParameters) {
            static_assert(kCount > 0, "a body takes its parameters first");
            static_assert(std::is_same_v<std::tuple_element_t<0, Arguments>, P>, "a body takes its parameters first");
        }
        parts.arity = kCount - (kHasParameters ? 1 : 0) - (detail::kLastIsStop<Arguments> ? 1 : 0);
        parts.host = std::make_shared<const HostFunction>(HostFunction{
            std::move(name), detail::host_body<P>(std::move(body), parts.spec), options.host, parts.stand_in});
    }
    return Hyperfunction<P>(std::move(parts));
}

}  // namespace yolk::hyper
