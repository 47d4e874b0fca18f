// SPDX-License-Identifier: Apache-2.0
// Operations element by element, with operands repeated to a common shape. On the host they are the kernels' exact
// twins; numbers alone are computed in double.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "operations_impl.hpp"
#include "rearrangement.hpp"
#include "yolk/reference/elementwise.hpp"

namespace yolk::hyper {
namespace {

using OnTwo = double (*)(double, double);
struct OnNumbers {
    std::string_view name;
    OnTwo compute;
};
constexpr OnNumbers kOnNumbers[] = {
    {"add", [](double a, double b) { return a + b; }},
    {"subtract", [](double a, double b) { return a - b; }},
    {"multiply", [](double a, double b) { return a * b; }},
    {"divide", [](double a, double b) { return a / b; }},
    {"power", [](double a, double b) { return std::pow(a, b); }},
    {"maximum", [](double a, double b) { return std::isnan(a) || a > b ? a : b; }},
    {"minimum", [](double a, double b) { return std::isnan(a) || a < b ? a : b; }},
    {"less_than", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"less_or_equal", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"greater_than", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"greater_or_equal", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
    {"equal_to", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"not_equal_to", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
};

/// What operands that are tensors or numbers are repeated to; nothing where all are numbers. Errors: other kinds,
/// shapes that do not fit.
Result<std::optional<Shape>> common_shape(const Equation& equation, std::span<const ValueType> operands,
                                          std::string_view allowed) {
    std::vector<Shape> shapes;
    for (const ValueType& operand : operands) {
        if (operand.kind != ValueKind::Tensor && operand.kind != ValueKind::Number)
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
    return common_types(equation, operands,
                        "two tensors or numbers; shapes, compared from the last dimension on, have equal extents or 1");
}

/// The values of an operand repeated to fill the shape.
std::vector<float> values_as(const Value& operand, const Shape& shape) {
    if (const double* number = operand.number())
        return std::vector<float>(shape.element_count().value_or(0), static_cast<float>(*number));
    return repeated_to(operand.tensor()->values(), operand.tensor()->shape(), shape);
}

Shape common_shape(std::span<const Value> operands) {
    std::vector<Shape> shapes;
    for (const Value& operand : operands) {
        if (operand.tensor() != nullptr) shapes.push_back(operand.tensor()->shape());
    }
    return broadcast_shape(shapes).value();
}

Result<Values> binary(const Equation& equation, std::span<const Value> operands) {
    if (operands[0].number() != nullptr && operands[1].number() != nullptr) {
        const auto* found = std::ranges::find(kOnNumbers, equation.operation->name, &OnNumbers::name);
        return Values{Value(found->compute(*operands[0].number(), *operands[1].number()))};
    }
    const Shape shape = common_shape(operands);
    YOLK_TRY(const RowShape size, rows_of(equation, shape));
    const std::vector<float> first = values_as(operands[0], shape);
    const std::vector<float> second = values_as(operands[1], shape);
    return one_tensor(shape,
                      reference::elementwise_twin({.operation = named_like<ElementwiseOperation>(*equation.operation),
                                                   .rows = size.rows,
                                                   .columns = size.columns},
                                                  first, second));
}

Result<Types> where_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 3));
    return common_types(equation, operands,
                        "a condition and two tensors or numbers; shapes, compared from the last dimension on, have "
                        "equal extents or 1");
}

Result<Values> where(const Equation& equation, std::span<const Value> operands) {
    if (std::ranges::all_of(operands, [](const Value& operand) { return operand.number() != nullptr; }))
        return Values{*operands[0].number() != 0.0 ? operands[1] : operands[2]};
    const Shape shape = common_shape(operands);
    YOLK_TRY_VOID(rows_of(equation, shape));
    const std::vector<float> condition = values_as(operands[0], shape);
    std::vector<float> chosen = values_as(operands[1], shape);
    const std::vector<float> other = values_as(operands[2], shape);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        // By its bits, as the kernel looks at it: a compare may count the smallest numbers as 0.
        if ((std::bit_cast<std::uint32_t>(condition[i]) << 1U) == 0) chosen[i] = other[i];
    }
    return one_tensor(shape, std::move(chosen));
}

Result<Types> unary_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    if (operands[0].kind != ValueKind::Tensor && operands[0].kind != ValueKind::Number)
        return operand_error(equation, operands, "a tensor or a number");
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
    if (const double* number = operands[0].number()) {
        if (const std::optional<double> in_double = unary_number(equation.operation->name, *number))
            return Values{Value(*in_double)};
        const std::array<float, 1> x{static_cast<float>(*number)};
        const auto y = reference::elementwise_twin({.operation = operation, .rows = 1, .columns = 1}, x);
        return Values{Value(double{y[0]})};
    }
    const Tensor& x = *operands[0].tensor();
    YOLK_TRY(const RowShape size, rows_of(equation, x.shape()));
    return one_tensor(x.shape(), reference::elementwise_twin(
                                     {.operation = operation, .rows = size.rows, .columns = size.columns}, x.values()));
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
