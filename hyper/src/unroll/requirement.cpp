// SPDX-License-Identifier: Apache-2.0
#include "requirement.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "equations.hpp"

namespace yolk::hyper::population {
namespace {

Result<Types> required_types(const Equation& equation, std::span<const ValueType> operands) {
    YOLK_TRY_VOID(expect_operands(equation, operands, 1));
    const bool one = operands[0].kind == ValueKind::Tensor && operands[0].shape.element_count().value_or(0) == 1;
    if (!one && operands[0].kind != ValueKind::Number && operands[0].kind != ValueKind::Integer)
        return operand_error(equation, operands, "a number or a tensor of one element");
    return Types{operands[0]};
}

Result<Values> evaluate_required(const Equation& equation, std::span<const Value> operands) {
    YOLK_TRY(const double value, operands[0].as_number());
    if (is_met(value, bound_of(equation))) return Values{operands[0]};
    YOLK_TRY(std::string message, text_attribute(equation, "message"));
    if (const std::size_t at = message.find("{}"); at != std::string::npos)
        message.replace(at, 2, fmt::format("{}", value));
    const bool is_input = integer_attribute(equation, "input").value_or(0) != 0;
    return is_input ? bad_input("{}", message) : failed_work("{}", message);
}

}  // namespace

const Operation& requirement() {
    static constexpr Operation kRequirement{"requirement", required_types, evaluate_required, true};
    return kRequirement;
}

Equation require(Atom value, Requirement wanted) {
    return {.operation = &requirement(),
            .operands = {std::move(value)},
            .attributes = {{"below", wanted.below},
                           {"of", std::move(wanted.of)},
                           {"message", std::move(wanted.message)},
                           {"input", std::int64_t{wanted.is_input}}}};
}

bool is_met(double value, std::int64_t below) noexcept {
    return value >= 0.0 && value < static_cast<double>(below) && value == std::floor(value);
}

std::int64_t bound_of(const Equation& equation) { return integer_attribute(equation, "below").value_or(1); }

}  // namespace yolk::hyper::population
