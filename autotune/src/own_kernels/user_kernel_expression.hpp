// SPDX-License-Identifier: Apache-2.0
// Expressions over the parameters and sizes of a user's kernel: "wx * wy <= 256", "ceil_div(n, 4 * wx)".
//
//   cond ? a : b    || or    && and    == !=    < <= > >=    + -    * / %    - ! not    ( )
//   min max abs ceil_div round_up is_pow2 log2
//
// Integers have 64 bits and every overflow is an error; / of integers rounds towards zero, as in GLSL; an integer
// beside a float counts as a float. Text (of categorical parameters, or in '...') can only be compared for equality.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "yolk/result.hpp"

namespace yolk::autotune {

using ExpressionValue = std::variant<std::int64_t, double, bool, std::string>;
/// "64", "0.5", "true", "ROW".
[[nodiscard]] std::string to_text(const ExpressionValue& value);

/// Immutable; threads may share it. Copies share what was parsed.
class Expression {
   public:
    /// Names get their values by position. Errors (BadInput): what cannot be read and where, a name that is not there
    /// (with those that are), longer than 1,024 characters, or nested deeper than 64.
    [[nodiscard]] static Result<Expression> parse(std::string_view text, std::span<const std::string> names);
    /// An expression that is a value.
    [[nodiscard]] static Expression constant(ExpressionValue value);

    /// `values`: one per name. Errors (BadInput): overflow, division by zero, values of the wrong kind.
    [[nodiscard]] Result<ExpressionValue> evaluate(std::span<const ExpressionValue> values) const;
    /// The same, for those that must be true or false, or a count from 0 on.
    [[nodiscard]] Result<bool> evaluate_bool(std::span<const ExpressionValue> values) const;
    [[nodiscard]] Result<std::uint64_t> evaluate_count(std::span<const ExpressionValue> values) const;

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    /// Whether it uses the name at this position.
    [[nodiscard]] bool reads(std::size_t name) const noexcept;

    struct Node;  // user_kernel_syntax.hpp

   private:
    std::string text_;
    std::shared_ptr<const std::vector<Node>> nodes_;  ///< operands before operators; the last one is the whole
};

}  // namespace yolk::autotune
