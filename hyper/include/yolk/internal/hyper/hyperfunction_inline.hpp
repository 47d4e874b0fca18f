// SPDX-License-Identifier: Apache-2.0
// The templates of hyperfunction.hpp; not to be included by anyone else.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <map>
#include <stop_token>
#include <tuple>
#include <utility>

#include "yolk/internal/hyper/hyperfunction.hpp"

namespace yolk::hyper {

namespace detail {

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
        std::vector<double> natural;
        for (const FieldOf<P>& of : fields<P>())
            natural.push_back(of.get ? of.get(parameters) : 0.0);  // registration refuses it
        return Tensor::of_numbers(std::move(natural));
    }
    static Result<P> from(const Value& value, const ParameterSpec&) {
        const FieldsOf<P> all = fields<P>();
        YOLK_TRY(const Tensor values, numbers_in(value));
        if (values.values().size() != all.size()) return bad_input("A struct of fields needs as many values.");
        P parameters{};
        const std::vector<double> numbers = written_numbers(values);
        for (std::size_t i = 0; i < all.size(); ++i) all[i].set(parameters, numbers[i]);
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
[[nodiscard]] Value stand_in() {
    using Plain = typename PlainResult<T>::Type;
    if constexpr (std::is_same_v<Plain, Traced> || std::is_same_v<Plain, Tensor>) {
        return Tensor::filled({1}, 0.0F);
    } else if constexpr (std::is_constructible_v<Plain>) {
        return plain_to(Plain{}).value_or(Value());
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
