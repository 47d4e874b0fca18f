// SPDX-License-Identifier: Apache-2.0
// Operations that pass a value on, and mean something to a transform.
#include <array>
#include <cmath>

#include "operation_lists.hpp"

namespace yolk::hyper {
namespace {

Result<Types> passing_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    return Types{operands[0]};
}

Result<Types> checkpoint_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(text_attribute(equation, "key"));
    YOLK_TRY_VOID(text_attribute(equation, "collection"));
    return passing_types(equation, operands);
}

Result<Types> depends_types(const Equation& equation, std::span<const ValueType> operands) {
    if (operands.empty()) return operand_error(equation, operands, "a value, then those that come before it");
    return Types{operands[0]};
}

Result<Values> evaluate_first(const Equation&, std::span<const Value> operands) { return Values{operands[0]}; }

Result<Types> factor_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    const ValueKind kind = operands[0].kind;
    if (kind != ValueKind::Tensor && kind != ValueKind::Number && kind != ValueKind::Integer)
        return operand_error(equation, operands, "a weight: a number, or a tensor of them");
    return Types{operands[0]};
}

Result<Values> evaluate_factor(const Equation&, std::span<const Value> operands) {
    const auto check = [](double weight) -> Result<void> {
        if (std::isfinite(weight) && weight >= 0.0) return {};
        return bad_input("factor: a weight of {}; weights are finite and not negative.", weight);
    };
    if (operands[0].tensor() == nullptr) {
        YOLK_TRY(const double number, operands[0].as_number());
        YOLK_TRY_VOID(check(number));
    }
    if (const Tensor* tensor = operands[0].tensor()) {
        for (const float weight : tensor->values()) YOLK_TRY_VOID(check(double{weight}));
    }
    return Values{operands[0]};
}

Result<Types> to_number_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    const bool one = operands[0].kind == ValueKind::Tensor && operands[0].shape.element_count().value_or(0) == 1;
    if (!one && operands[0].kind != ValueKind::Number && operands[0].kind != ValueKind::Integer)
        return operand_error(equation, operands, "a tensor of one element, or a number");
    return Types{{ValueKind::Number, {}}};
}

/// `as`: "written", the number that a person would write for the element; "fp32", one that fp32 holds. An error where
/// an integer is none.
Result<Values> evaluate_to_number(const Equation& equation, std::span<const Value> operands) {
    const Attribute* as = find_attribute(equation, "as");
    const auto is_as = [&](std::string_view word) { return as != nullptr && *as == Attribute(std::string(word)); };
    YOLK_TRY(const double number, is_as("written") ? operands[0].as_written_number() : operands[0].as_number());
    if (is_as("fp32") && double{static_cast<float>(number)} != number) {
        return bad_input(
            "to_number: the integer {} would be kept in fp32, which does not hold it; carry it as a number.", number);
    }
    return Values{Value(number)};
}

Result<Types> to_integer_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(to_number_types(equation, operands));
    return Types{{ValueKind::Integer, {}}};
}

Result<Values> evaluate_to_integer(const Equation&, std::span<const Value> operands) {
    YOLK_TRY(const std::int64_t integer, operands[0].as_integer());
    return Values{Value(integer)};
}

constexpr std::array kPassingOperations{
    Operation{"to_number", to_number_types, evaluate_to_number},
    Operation{"to_integer", to_integer_types, evaluate_to_integer},
    Operation{"stop_gradient", passing_types, evaluate_first},
    Operation{"checkpoint", checkpoint_types, evaluate_first, true},
    Operation{"depends", depends_types, evaluate_first},
    Operation{"factor", factor_types, evaluate_factor, true},
};

}  // namespace

std::span<const Operation> passing_operations() noexcept { return kPassingOperations; }

}  // namespace yolk::hyper
