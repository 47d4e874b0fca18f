// SPDX-License-Identifier: Apache-2.0
#include "user_kernel_syntax.hpp"
#include "yolk/internal/core/printable.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace yolk::autotune {
namespace {

constexpr std::size_t kLongest = 1024;
constexpr int kDeepest = 64;

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
constexpr std::array kBinaryOperators{
    Binary{"||", Op::Or, 1},        Binary{"or", Op::Or, 1},           Binary{"&&", Op::And, 2},
    Binary{"and", Op::And, 2},      Binary{"==", Op::Equal, 3},        Binary{"!=", Op::Unequal, 3},
    Binary{"<=", Op::LessEqual, 4}, Binary{">=", Op::GreaterEqual, 4}, Binary{"<", Op::Less, 4},
    Binary{">", Op::Greater, 4},    Binary{"+", Op::Add, 5},           Binary{"-", Op::Subtract, 5},
    Binary{"*", Op::Multiply, 6},   Binary{"/", Op::Divide, 6},        Binary{"%", Op::Remainder, 6}};
constexpr int kTightest = 6;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

using Node = Expression::Node;

/// Recursive descent; each function returns the node that it made.
class Parser {
   public:
    Parser(std::string_view text, std::span<const std::string> names) : text_(text), names_(names) {}

    Result<std::vector<Node>> run() {
        if (text_.size() > kLongest) {
            return bad_input("An expression has {} characters; {} are allowed.", text_.size(), kLongest);
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
        const std::string found = at_ < text_.size() ? fmt::format("'{}'", shown(text_.substr(at_, 12))) : "the end";
        return bad_input("In the expression '{}', {} is at character {} where {} is expected.", shown(text_), found,
                         at_ + 1, wanted);
    }
    std::size_t add(Node node) {
        nodes_.push_back(std::move(node));
        return nodes_.size() - 1;
    }

    Result<std::size_t> ternary() {
        if (++depth_ > kDeepest)
            return bad_input("The expression '{}' is nested deeper than {}.", shown(text_), kDeepest);
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
                std::ranges::find_if(kBinaryOperators, [&](const Binary& b) { return b.rank == rank && take(b.sign); });
            if (found == kBinaryOperators.end()) return left;
            YOLK_TRY(const std::size_t right, binary(rank + 1));
            left = add({.op = found->op, .operands = {left, right}});
        }
    }
    Result<std::size_t> unary() {
        if (++depth_ > kDeepest)
            return bad_input("The expression '{}' is nested deeper than {}.", shown(text_), kDeepest);
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
            return bad_input("The expression '{}' has '{}', which is neither a parameter nor a size; there are {}.",
                             shown(text_), shown(name),
                             names_.empty() ? "none" : shown(fmt::format("{}", fmt::join(names_, ", "))));
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

}  // namespace

Result<std::vector<Expression::Node>> parse_expression(std::string_view text, std::span<const std::string> names) {
    return Parser(text, names).run();
}

}  // namespace yolk::autotune
