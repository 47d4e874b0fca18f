// SPDX-License-Identifier: Apache-2.0
// What an expression is made of, once it is parsed.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "user_kernel_expression.hpp"

namespace yolk::autotune {

enum class Op {
    Literal,
    Name,
    Not,
    Negate,
    Choose,
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Min,
    Max,
    Abs,
    CeilDiv,
    RoundUp,
    IsPow2,
    Log2,
};

struct Expression::Node {
    Op op = Op::Literal;
    ExpressionValue literal{};
    std::size_t name = 0;
    std::array<std::size_t, 3> operands{};
};

/// Operands stand before what uses them; the last node is the expression.
[[nodiscard]] Result<std::vector<Expression::Node>> parse_expression(std::string_view text,
                                                                     std::span<const std::string> names);

}  // namespace yolk::autotune
