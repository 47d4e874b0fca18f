// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_expression.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace yolk::autotune {
namespace {

constexpr std::size_t kLongest = 1024;
constexpr int kDeepest = 64;

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

struct Function {
    std::string_view name;
    Op op;
    std::size_t arguments;
};
constexpr std::array kFunctions{Function{"min", Op::Min, 2},          Function{"max", Op::Max, 2},
                                Function{"abs", Op::Abs, 1},          Function{"ceil_div", Op::CeilDiv, 2},
                                Function{"round_up", Op::RoundUp, 2}, Function{"is_pow2", Op::IsPow2, 1},
                                Function{"log2", Op::Log2, 1}};

struct Binary {
    std::string_view sign;
    Op op;
    int rank;  ///< binds tighter where it is larger
};
/// Longer signs before those that they begin with.
constexpr std::array kBinaries{
    Binary{"||", Op::Or, 1},        Binary{"or", Op::Or, 1},           Binary{"&&", Op::And, 2},
    Binary{"and", Op::And, 2},      Binary{"==", Op::Equal, 3},        Binary{"!=", Op::Unequal, 3},
    Binary{"<=", Op::LessEqual, 4}, Binary{">=", Op::GreaterEqual, 4}, Binary{"<", Op::Less, 4},
    Binary{">", Op::Greater, 4},    Binary{"+", Op::Add, 5},           Binary{"-", Op::Subtract, 5},
    Binary{"*", Op::Multiply, 6},   Binary{"/", Op::Divide, 6},        Binary{"%", Op::Remainder, 6}};
constexpr int kTightest = 6;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

struct Expression::Node {
    Op op = Op::Literal;
    ExpressionValue literal{};
    std::size_t name = 0;
    std::array<std::size_t, 3> operands{};
};

namespace {

using Node = Expression::Node;

/// Recursive descent; each function returns the node that it made.
class Parser {
   public:
    Parser(std::string_view text, std::span<const std::string> names) : text_(text), names_(names) {}

    Result<std::vector<Node>> run() {
        if (text_.size() > kLongest) {
            return bad_input(fmt::format("An expression has {} characters; {} are allowed.", text_.size(), kLongest));
        }
        YOLK_TRY_VOID(ternary());
        skip_blanks();
        if (at_ < text_.size()) return unexpected("an operator or the end");
        return std::move(nodes_);
    }

   private:
    void skip_blanks() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    bool take(std::string_view sign) {
        skip_blanks();
        if (!text_.substr(at_).starts_with(sign)) return false;
        const std::size_t end = at_ + sign.size();
        if (is_word(sign.back()) && end < text_.size() && is_word(text_[end])) return false;
        at_ = end;
        return true;
    }
    [[nodiscard]] Error unexpected(std::string_view wanted) const {
        const std::string found = at_ < text_.size() ? fmt::format("'{}'", text_.substr(at_, 12)) : "the end";
        return bad_input(fmt::format("In the expression '{}', {} is at character {} where {} is expected.", text_,
                                     found, at_ + 1, wanted));
    }
    std::size_t add(Node node) {
        nodes_.push_back(std::move(node));
        return nodes_.size() - 1;
    }

    Result<std::size_t> ternary() {
        if (++depth_ > kDeepest)
            return bad_input(fmt::format("The expression '{}' is nested deeper than {}.", text_, kDeepest));
        YOLK_TRY(std::size_t left, binary(1));
        if (take("?")) {
            YOLK_TRY(const std::size_t yes, ternary());
            if (!take(":")) return unexpected("':'");
            YOLK_TRY(const std::size_t no, ternary());
            left = add({.op = Op::Choose, .operands = {left, yes, no}});
        }
        --depth_;
        return left;
    }
    Result<std::size_t> binary(int rank) {
        if (rank > kTightest) return unary();
        YOLK_TRY(std::size_t left, binary(rank + 1));
        while (true) {
            const auto* const found =
                std::ranges::find_if(kBinaries, [&](const Binary& b) { return b.rank == rank && take(b.sign); });
            if (found == kBinaries.end()) return left;
            YOLK_TRY(const std::size_t right, binary(rank + 1));
            left = add({.op = found->op, .operands = {left, right}});
        }
    }
    Result<std::size_t> unary() {
        if (++depth_ > kDeepest)
            return bad_input(fmt::format("The expression '{}' is nested deeper than {}.", text_, kDeepest));
        std::optional<Op> op;
        if (take("-")) op = Op::Negate;
        if (!op && (take("!") || take("not"))) op = Op::Not;
        YOLK_TRY(std::size_t node, op ? unary() : primary());
        if (op) node = add({.op = *op, .operands = {node}});
        --depth_;
        return node;
    }
    Result<std::size_t> primary() {
        skip_blanks();
        if (take("(")) {
            YOLK_TRY(const std::size_t inner, ternary());
            if (!take(")")) return unexpected("')'");
            return inner;
        }
        if (at_ >= text_.size()) return unexpected("a value");
        if (is_digit(text_[at_])) return number();
        if (text_[at_] == '\'') return quoted();
        if (is_word(text_[at_])) return word();
        return unexpected("a value");
    }
    Result<std::size_t> number() {
        const char* const begin = text_.data() + at_;
        const char* const end = text_.data() + text_.size();
        std::int64_t integer = 0;
        const auto whole = std::from_chars(begin, end, integer);
        double real = 0.0;
        const auto broken = std::from_chars(begin, end, real);
        const bool is_real = broken.ptr != whole.ptr;
        const auto& parsed = is_real ? broken : whole;
        if (parsed.ec != std::errc() || (parsed.ptr != end && is_word(*parsed.ptr)))
            return unexpected("a number of at most 64 bits");
        at_ = static_cast<std::size_t>(parsed.ptr - text_.data());
        return add({.literal = is_real ? ExpressionValue(real) : ExpressionValue(integer)});
    }
    Result<std::size_t> quoted() {
        const std::size_t end = text_.find('\'', at_ + 1);
        if (end == std::string_view::npos) return unexpected("a text that ends in '");
        std::string text(text_.substr(at_ + 1, end - at_ - 1));
        at_ = end + 1;
        return add({.literal = std::move(text)});
    }
    Result<std::size_t> word() {
        std::size_t end = at_;
        while (end < text_.size() && is_word(text_[end])) ++end;
        const std::string_view name = text_.substr(at_, end - at_);
        if (name == "true" || name == "false") {
            at_ = end;
            return add({.literal = name == "true"});
        }
        if (const auto known = std::ranges::find(names_, name); known != names_.end()) {
            at_ = end;
            return add({.op = Op::Name, .name = static_cast<std::size_t>(known - names_.begin())});
        }
        const auto* const function = std::ranges::find(kFunctions, name, &Function::name);
        if (function == kFunctions.end()) {
            return bad_input(fmt::format("The expression '{}' has '{}', which is no parameter or size; there are {}.",
                                         text_, name,
                                         names_.empty() ? "none" : fmt::format("{}", fmt::join(names_, ", "))));
        }
        at_ = end;
        return call(*function);
    }
    Result<std::size_t> call(const Function& function) {
        Node node{.op = function.op};
        if (!take("(")) return unexpected("'('");
        for (std::size_t i = 0; i < function.arguments; ++i) {
            if (i > 0 && !take(",")) return unexpected("','");
            YOLK_TRY(node.operands[i], ternary());
        }
        if (!take(")")) return unexpected("')'");
        return add(std::move(node));
    }

    std::string_view text_;
    std::span<const std::string> names_;
    std::vector<Node> nodes_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

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
            return wrong(fmt::format("'{}' is no number", to_text(is_number(a) ? b : a)));
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
        return bad_input(fmt::format("The expression '{}' cannot be computed: {}.", text_, what));
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
    YOLK_TRY(std::vector<Node> nodes, Parser(text, names).run());
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
    return bad_input(
        fmt::format("'{}' is {}; a condition is true or false: compare it with something.", text_, to_text(value)));
}

Result<std::uint64_t> Expression::evaluate_count(std::span<const ExpressionValue> values) const {
    YOLK_TRY(const ExpressionValue value, evaluate(values));
    const auto* const whole = std::get_if<std::int64_t>(&value);
    if (whole != nullptr && *whole >= 0) return static_cast<std::uint64_t>(*whole);
    return bad_input(fmt::format("'{}' is {}; a count is an integer from 0 on.", text_, to_text(value)));
}

bool Expression::reads(std::size_t name) const noexcept {
    return std::ranges::any_of(*nodes_, [name](const Node& n) { return n.op == Op::Name && n.name == name; });
}

}  // namespace yolk::autotune
