// SPDX-License-Identifier: Apache-2.0
// Operations element by element, with operands repeated to a common shape. On the host they are the kernels' exact
// twins; numbers alone are computed in double, integers alone exactly.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "operation_lists.hpp"
#include "rearrangement.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

using OnTwo = double (*)(double, double);
using Compare = bool (*)(std::int64_t, std::int64_t);
struct OnNumbers {
    std::string_view name;
    OnTwo compute;
    Compare compare = nullptr;  ///< two integers, exactly
};
constexpr OnNumbers kOnNumbers[] = {
    {"add", [](double a, double b) { return a + b; }},
    {"subtract", [](double a, double b) { return a - b; }},
    {"multiply", [](double a, double b) { return a * b; }},
    {"divide", [](double a, double b) { return a / b; }},
    {"power", [](double a, double b) { return std::pow(a, b); }},
    {"maximum", [](double a, double b) { return std::isnan(a) || a > b ? a : b; }},
    {"minimum", [](double a, double b) { return std::isnan(a) || a < b ? a : b; }},
    {"less_than", [](double a, double b) { return a < b ? 1.0 : 0.0; },
     [](std::int64_t a, std::int64_t b) { return a < b; }},
    {"less_or_equal", [](double a, double b) { return a <= b ? 1.0 : 0.0; },
     [](std::int64_t a, std::int64_t b) { return a <= b; }},
    {"greater_than", [](double a, double b) { return a > b ? 1.0 : 0.0; },
     [](std::int64_t a, std::int64_t b) { return a > b; }},
    {"greater_or_equal", [](double a, double b) { return a >= b ? 1.0 : 0.0; },
     [](std::int64_t a, std::int64_t b) { return a >= b; }},
    {"equal_to", [](double a, double b) { return a == b ? 1.0 : 0.0; },
     [](std::int64_t a, std::int64_t b) { return a == b; }},
    {"not_equal_to", [](double a, double b) { return a != b ? 1.0 : 0.0; },
     [](std::int64_t a, std::int64_t b) { return a != b; }},
};

/// Operations on two integers that give an integer. An overflow is an error: an integer is exact, or it is none.
struct OnIntegers {
    std::string_view name;
    bool (*compute)(std::int64_t a, std::int64_t b, std::int64_t* result);  ///< true: it overflows
};
constexpr OnIntegers kOnIntegers[] = {
    {"add", [](std::int64_t a, std::int64_t b, std::int64_t* result) { return __builtin_add_overflow(a, b, result); }},
    {"subtract",
     [](std::int64_t a, std::int64_t b, std::int64_t* result) { return __builtin_sub_overflow(a, b, result); }},
    {"multiply",
     [](std::int64_t a, std::int64_t b, std::int64_t* result) { return __builtin_mul_overflow(a, b, result); }},
    {"maximum",
     [](std::int64_t a, std::int64_t b, std::int64_t* result) {
         *result = std::max(a, b);
         return false;
     }},
    {"minimum",
     [](std::int64_t a, std::int64_t b, std::int64_t* result) {
         *result = std::min(a, b);
         return false;
     }},
};
const OnIntegers* on_integers(const Equation& equation) {
    const auto* found = std::ranges::find(kOnIntegers, equation.operation->name, &OnIntegers::name);
    return found != std::end(kOnIntegers) ? found : nullptr;
}

bool is_scalar(ValueKind kind) { return kind == ValueKind::Number || kind == ValueKind::Integer; }
bool is_scalar(const Value& value) { return is_scalar(value.kind()); }

Result<Values> on_two_integers(const Equation& equation, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (!on_integers(equation)->compute(a, b, &result)) return Values{Value(result)};
    return bad_input(
        "{}: {} and {} are integers, and the result has more than 64 bits; to_number() of one of them "
        "computes in double.",
        equation.operation->name, a, b);
}

/// What operands that are tensors or numbers are repeated to; nothing where all are numbers. Errors: other kinds,
/// shapes that do not fit.
Result<std::optional<Shape>> common_shape(const Equation& equation, std::span<const ValueType> operands,
                                          std::string_view allowed) {
    std::vector<Shape> shapes;
    for (const ValueType& operand : operands) {
        if (operand.kind != ValueKind::Tensor && !is_scalar(operand.kind))
            return operand_error(equation, operands, allowed);
        if (operand.kind == ValueKind::Tensor) shapes.push_back(operand.shape);
    }
    if (shapes.empty()) return std::optional<Shape>();
    auto shape = broadcast_shape(shapes);
    if (!shape) return operand_error(equation, operands, allowed);
    YOLK_TRY_VOID(rows_of(equation, *shape));
    return std::optional<Shape>(*std::move(shape));
}

Result<Types> common_types(const Equation& equation, std::span<const ValueType> operands, std::string_view allowed) {
    YOLK_TRY(std::optional<Shape> shape, common_shape(equation, operands, allowed));
    if (!shape) return Types{{ValueKind::Number, {}}};
    return Types{{ValueKind::Tensor, *std::move(shape)}};
}

Result<Types> binary_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 2));
    const bool are_integers =
        operands[0].kind == ValueKind::Integer && operands[1].kind == ValueKind::Integer && on_integers(equation);
    if (are_integers) return Types{{ValueKind::Integer, {}}};
    return common_types(equation, operands,
                        "two tensors or numbers; shapes, compared from the last dimension on, have equal extents or 1");
}

/// The values of an operand repeated to fill the shape.
std::vector<float> values_as(const Value& operand, const Shape& shape) {
    if (is_scalar(operand)) return std::vector<float>(shape.element_count().value_or(0), as_fp32(operand));
    return repeated_to(operand.tensor()->values(), operand.tensor()->shape(), shape);
}

Shape common_shape(std::span<const Value> operands) {
    std::vector<Shape> shapes;
    for (const Value& operand : operands) {
        if (operand.tensor() != nullptr) shapes.push_back(operand.tensor()->shape());
    }
    return broadcast_shape(shapes).value();
}

/// By the twin, of operands of which one is a tensor.
Result<Values> on_tensors(const Equation& equation, std::span<const Value> operands) {
    const Shape shape = common_shape(operands);
    YOLK_TRY_VOID(rows_of(equation, shape));
    std::vector<std::vector<float>> values;
    for (const Value& operand : operands) values.push_back(values_as(operand, shape));
    std::vector<float> result(values.front().size());
    std::vector<reference::HostView> views(values.begin(), values.end());
    views.emplace_back(result);
    reference::twin_of(
        one_step(named_like<ElementwiseOperation>(*equation.operation), {static_cast<std::uint32_t>(result.size())}),
        reference::HostViews(views));
    return one_tensor(shape, std::move(result));
}

Result<Values> binary(const Equation& equation, std::span<const Value> operands) {
    if (is_scalar(operands[0]) && is_scalar(operands[1])) {
        const std::int64_t *a = operands[0].integer(), *b = operands[1].integer();
        if (a != nullptr && b != nullptr && on_integers(equation) != nullptr) return on_two_integers(equation, *a, *b);
        const auto* found = std::ranges::find(kOnNumbers, equation.operation->name, &OnNumbers::name);
        if (a != nullptr && b != nullptr && found->compare != nullptr)
            return Values{Value(found->compare(*a, *b) ? 1.0 : 0.0)};
        YOLK_TRY(const double first, operands[0].as_number());
        YOLK_TRY(const double second, operands[1].as_number());
        return Values{Value(found->compute(first, second))};
    }
    return on_tensors(equation, operands);
}

Result<Types> where_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 3));
    const bool are_integers =
        is_scalar(operands[0].kind) && operands[1].kind == ValueKind::Integer && operands[2].kind == ValueKind::Integer;
    if (are_integers) return Types{{ValueKind::Integer, {}}};
    return common_types(equation, operands,
                        "a condition and two tensors or numbers; shapes, compared from the last dimension on, have "
                        "equal extents or 1");
}

Result<Values> where(const Equation& equation, std::span<const Value> operands) {
    if (std::ranges::all_of(operands, [](const Value& operand) { return is_scalar(operand); })) {
        const Value& chosen = operands[0] == Value(0) ? operands[2] : operands[1];
        if (operands[1].kind() == operands[2].kind()) return Values{chosen};
        YOLK_TRY(const double number, chosen.as_number());
        return Values{Value(number)};
    }
    return on_tensors(equation, operands);
}

/// Of an integer it is an integer.
bool is_whole(const Equation& equation) {
    constexpr std::array<std::string_view, 5> kWhole{"negate", "relu", "absolute", "floor", "round"};
    return std::ranges::find(kWhole, equation.operation->name) != kWhole.end();
}

Result<Values> unary_integer(const Equation& equation, std::int64_t x) {
    const std::string_view name = equation.operation->name;
    if (name == "floor" || name == "round") return Values{Value(x)};
    if (name == "relu") return Values{Value(std::max<std::int64_t>(x, 0))};
    if (x == std::numeric_limits<std::int64_t>::min())
        return bad_input("{}: of the integer {} the result has more than 64 bits.", name, x);
    return Values{Value(x < 0 || name == "negate" ? -x : x)};
}

Result<Types> unary_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    if (operands[0].kind != ValueKind::Tensor && !is_scalar(operands[0].kind))
        return operand_error(equation, operands, "a tensor or a number");
    if (operands[0].kind == ValueKind::Integer && !is_whole(equation)) return Types{{ValueKind::Number, {}}};
    YOLK_TRY_VOID(rows_of(equation, operands[0].shape));
    return Types{operands[0]};
}

/// Numbers of those that only move bits or round stay in double; the others are the kernel's.
std::optional<double> unary_number(std::string_view name, double x) {
    if (name == "negate") return -x;
    if (name == "relu") return x > 0.0 ? x : 0.0;
    if (name == "absolute") return std::abs(x);
    if (name == "floor") return std::floor(x);
    if (name == "round") return std::nearbyint(x);
    return {};
}

Result<Values> unary(const Equation& equation, std::span<const Value> operands) {
    const auto operation = named_like<ElementwiseOperation>(*equation.operation);
    if (operands[0].integer() != nullptr && is_whole(equation)) return unary_integer(equation, *operands[0].integer());
    if (is_scalar(operands[0])) {
        const double* number = operands[0].number();
        const auto in_double = number != nullptr ? unary_number(equation.operation->name, *number) : std::nullopt;
        if (in_double) return Values{Value(*in_double)};
        float x = as_fp32(operands[0]);
        reference::twin_of(one_step(operation, {1}), {x, x});
        return Values{Value(double{x})};
    }
    return on_tensors(equation, operands);
}

constexpr std::array kElementwiseOperations{
    Operation{"add", binary_types, binary},
    Operation{"subtract", binary_types, binary},
    Operation{"multiply", binary_types, binary},
    Operation{"divide", binary_types, binary},
    Operation{"power", binary_types, binary},
    Operation{"maximum", binary_types, binary},
    Operation{"minimum", binary_types, binary},
    Operation{"less_than", binary_types, binary},
    Operation{"less_or_equal", binary_types, binary},
    Operation{"greater_than", binary_types, binary},
    Operation{"greater_or_equal", binary_types, binary},
    Operation{"equal_to", binary_types, binary},
    Operation{"not_equal_to", binary_types, binary},
    Operation{"where", where_types, where},
    Operation{"negate", unary_types, unary},
    Operation{"absolute", unary_types, unary},
    Operation{"sqrt", unary_types, unary},
    Operation{"rsqrt", unary_types, unary},
    Operation{"sin", unary_types, unary},
    Operation{"cos", unary_types, unary},
    Operation{"exp", unary_types, unary},
    Operation{"log", unary_types, unary},
    Operation{"floor", unary_types, unary},
    Operation{"round", unary_types, unary},
    Operation{"relu", unary_types, unary},
    Operation{"gelu", unary_types, unary},
    Operation{"silu", unary_types, unary},
    Operation{"tanh", unary_types, unary},
    Operation{"sigmoid", unary_types, unary},
};

}  // namespace

std::span<const Operation> elementwise_operations() noexcept { return kElementwiseOperations; }

}  // namespace yolk::hyper
