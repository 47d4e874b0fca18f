// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "user_kernel_syntax.hpp"
#include "yolk/internal/core/printable.hpp"

namespace yolk::autotune {
namespace {

using Node = Expression::Node;

/// Values of one evaluation.
class Evaluation {
   public:
    Evaluation(const std::string& text, const std::vector<Node>& nodes, std::span<const ExpressionValue> values)
        : text_(text), nodes_(nodes), values_(values) {}

    Result<ExpressionValue> at(std::size_t index) const {
        const Node& node = nodes_[index];
        switch (node.op) {
            case Op::Literal: return node.literal;
            case Op::Name: return values_[node.name];
            case Op::Choose:
            case Op::And:
            case Op::Or:
            case Op::Not: return logic(node);
            case Op::Equal:
            case Op::Unequal: return equality(node);
            default: break;
        }
        YOLK_TRY(const ExpressionValue a, at(node.operands[0]));
        const bool one = node.op == Op::Negate || node.op == Op::Abs || node.op == Op::IsPow2 || node.op == Op::Log2;
        ExpressionValue b = a;
        if (!one) {
            YOLK_TRY(b, at(node.operands[1]));
        }
        if (!is_number(a) || !is_number(b))
            return wrong(fmt::format("'{}' is not a number", to_text(is_number(a) ? b : a)));
        const auto* const whole_a = std::get_if<std::int64_t>(&a);
        const auto* const whole_b = std::get_if<std::int64_t>(&b);
        if (whole_a != nullptr && whole_b != nullptr) return integers(node.op, *whole_a, *whole_b);
        return reals(node.op, real(a), real(b));
    }

   private:
    static bool is_number(const ExpressionValue& value) { return value.index() < 2; }
    static double real(const ExpressionValue& value) {
        const auto* const whole = std::get_if<std::int64_t>(&value);
        return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
    }
    [[nodiscard]] Error wrong(std::string_view what) const {
        return bad_input("The expression '{}' cannot be computed: {}.", shown(text_), what);
    }
    [[nodiscard]] Result<bool> truth(std::size_t index) const {
        YOLK_TRY(const ExpressionValue value, at(index));
        if (const bool* const known = std::get_if<bool>(&value)) return *known;
        return wrong(fmt::format("{} is neither true nor false", to_text(value)));
    }
    [[nodiscard]] Result<ExpressionValue> logic(const Node& node) const {
        YOLK_TRY(const bool first, truth(node.operands[0]));
        if (node.op == Op::Choose) return at(node.operands[first ? 1 : 2]);
        if (node.op == Op::Not) return ExpressionValue(!first);
        if (first == (node.op == Op::Or)) return ExpressionValue(first);
        YOLK_TRY(const bool second, truth(node.operands[1]));
        return ExpressionValue(second);
    }
    [[nodiscard]] Result<ExpressionValue> equality(const Node& node) const {
        YOLK_TRY(const ExpressionValue a, at(node.operands[0]));
        YOLK_TRY(const ExpressionValue b, at(node.operands[1]));
        const bool numbers = is_number(a) && is_number(b);
        if (!numbers && a.index() != b.index())
            return wrong(fmt::format("{} and {} are of different kinds", to_text(a), to_text(b)));
        const bool equal = numbers && a.index() != b.index() ? real(a) == real(b) : a == b;
        return ExpressionValue(equal == (node.op == Op::Equal));
    }

    [[nodiscard]] Result<ExpressionValue> integers(Op op, std::int64_t a, std::int64_t b) const {
        std::int64_t result = 0;
        bool overflows = false;
        switch (op) {
            case Op::Less: return ExpressionValue(a < b);
            case Op::LessEqual: return ExpressionValue(a <= b);
            case Op::Greater: return ExpressionValue(a > b);
            case Op::GreaterEqual: return ExpressionValue(a >= b);
            case Op::Min: return ExpressionValue(std::min(a, b));
            case Op::Max: return ExpressionValue(std::max(a, b));
            case Op::IsPow2: return ExpressionValue(a > 0 && std::has_single_bit(static_cast<std::uint64_t>(a)));
            case Op::Add: overflows = __builtin_add_overflow(a, b, &result); break;
            case Op::Subtract: overflows = __builtin_sub_overflow(a, b, &result); break;
            case Op::Multiply: overflows = __builtin_mul_overflow(a, b, &result); break;
            case Op::Negate: overflows = __builtin_sub_overflow(std::int64_t{0}, a, &result); break;
            case Op::Abs: overflows = a < 0 && __builtin_sub_overflow(std::int64_t{0}, a, &result); break;
            case Op::Log2:
                if (a <= 0) return wrong(fmt::format("log2 of {}", a));
                result = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(a))) - 1;
                break;
            default: return division(op, a, b);
        }
        if (op == Op::Abs && a >= 0) result = a;
        if (overflows) return wrong("a number has more than 64 bits");
        return ExpressionValue(result);
    }
    [[nodiscard]] Result<ExpressionValue> division(Op op, std::int64_t a, std::int64_t b) const {
        if (b == 0) return wrong("it divides by zero");
        if (b == -1 && a == INT64_MIN) return wrong("a number has more than 64 bits");
        if (op == Op::Divide) return ExpressionValue(a / b);
        if (op == Op::Remainder) return ExpressionValue(a % b);
        if (a < 0 || b < 0) return wrong("ceil_div and round_up take numbers from 0 on");
        const std::int64_t up = a / b + (a % b != 0 ? 1 : 0);
        std::int64_t result = up;
        if (op == Op::RoundUp && __builtin_mul_overflow(up, b, &result)) return wrong("a number has more than 64 bits");
        return ExpressionValue(result);
    }
    [[nodiscard]] Result<ExpressionValue> reals(Op op, double a, double b) const {
        double result = 0.0;
        switch (op) {
            case Op::Less: return ExpressionValue(a < b);
            case Op::LessEqual: return ExpressionValue(a <= b);
            case Op::Greater: return ExpressionValue(a > b);
            case Op::GreaterEqual: return ExpressionValue(a >= b);
            case Op::Add: result = a + b; break;
            case Op::Subtract: result = a - b; break;
            case Op::Multiply: result = a * b; break;
            case Op::Divide: result = a / b; break;
            case Op::Negate: result = -a; break;
            case Op::Abs: result = std::abs(a); break;
            case Op::Min: result = std::min(a, b); break;
            case Op::Max: result = std::max(a, b); break;
            case Op::Log2: result = std::log2(a); break;
            default: return wrong("%, ceil_div, round_up and is_pow2 are of integers");
        }
        if (!std::isfinite(result)) return wrong("a number is not finite");
        return ExpressionValue(result);
    }

    const std::string& text_;
    const std::vector<Node>& nodes_;
    std::span<const ExpressionValue> values_;
};

}  // namespace

std::string to_text(const ExpressionValue& value) {
    if (const auto* const text = std::get_if<std::string>(&value)) return *text;
    if (const bool* const truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
    if (const auto* const whole = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *whole);
    return fmt::format("{}", std::get<double>(value));
}

Result<Expression> Expression::parse(std::string_view text, std::span<const std::string> names) {
    YOLK_TRY(std::vector<Node> nodes, parse_expression(text, names));
    Expression expression;
    expression.text_ = text;
    expression.nodes_ = std::make_shared<const std::vector<Node>>(std::move(nodes));
    return expression;
}

Expression Expression::constant(ExpressionValue value) {
    Expression expression;
    expression.text_ = to_text(value);
    expression.nodes_ = std::make_shared<const std::vector<Node>>(std::vector<Node>{{.literal = std::move(value)}});
    return expression;
}

Result<ExpressionValue> Expression::evaluate(std::span<const ExpressionValue> values) const {
    return Evaluation(text_, *nodes_, values).at(nodes_->size() - 1);
}

Result<bool> Expression::evaluate_bool(std::span<const ExpressionValue> values) const {
    YOLK_TRY(const ExpressionValue value, evaluate(values));
    if (const bool* const truth = std::get_if<bool>(&value)) return *truth;
    return bad_input("'{}' is {}; a condition is true or false: compare it with something.", shown(text_),
                     to_text(value));
}

Result<std::uint64_t> Expression::evaluate_count(std::span<const ExpressionValue> values) const {
    YOLK_TRY(const ExpressionValue value, evaluate(values));
    const auto* const whole = std::get_if<std::int64_t>(&value);
    if (whole != nullptr && *whole >= 0) return static_cast<std::uint64_t>(*whole);
    return bad_input("'{}' is {}; a count is an integer from 0 on.", shown(text_), to_text(value));
}

bool Expression::reads(std::size_t name) const noexcept {
    return std::ranges::any_of(*nodes_, [name](const Node& n) { return n.op == Op::Name && n.name == name; });
}

}  // namespace yolk::autotune
