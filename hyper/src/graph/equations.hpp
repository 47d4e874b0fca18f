// SPDX-License-Identifier: Apache-2.0
// Equations in words, and what the operations of all kinds check of theirs.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/hyper/line.hpp"
#include "yolk/internal/hyper/operations.hpp"
#include "yolk/internal/primitives/fields.hpp"

namespace yolk::hyper {

using Types = std::vector<ValueType>;
using Values = std::vector<Value>;

/// "model.cpp:12", the line of the program that made it; empty where it is not known.
[[nodiscard]] std::string line_of(const Equation& equation);
[[nodiscard]] std::string line_of(Line line);
/// "example 3, model.cpp:12": a label with the line, where it is known.
[[nodiscard]] std::string with_line(std::string label, const Equation& equation);
/// The operation's name; of a model call, which is a host call, what kind it is; of what stands for another operation
/// (requirement.hpp) that one's.
[[nodiscard]] std::string_view shown_name(const Equation& equation);
/// "Host function 'f'", or what model call it is: the beginning of a sentence.
[[nodiscard]] std::string described(const HostFunction& function);
/// "one is a matrix [2, 3] (model.cpp:12), the other a text (model.cpp:15)": two hyperfunctions of one name.
[[nodiscard]] Error two_of_one_name(const AnyHyperfunction::Parts& one, const AnyHyperfunction::Parts& other);
/// Types of its results. Errors name the equation: its operation, hyperfunction, line.
[[nodiscard]] Result<Types> checked_types(const Equation& equation, std::span<const ValueType> operands);
/// Errors: another number of operands.
[[nodiscard]] Result<void> expect_operands(const Equation& equation, std::span<const ValueType> operands,
                                           std::size_t count);
/// Errors: other operands than one tensor of a dimension or more.
[[nodiscard]] Result<void> expect_tensor(const Equation& equation, std::span<const ValueType> operands);
[[nodiscard]] Error operand_error(const Equation& equation, std::span<const ValueType> operands,
                                  std::string_view allowed);
/// Integers that are not negative.
[[nodiscard]] Result<std::vector<std::uint64_t>> extents_attribute(const Equation& equation, std::string_view name);
/// The attribute `dimension`. Errors: out of range.
[[nodiscard]] Result<std::size_t> dimension_of(const Equation& equation, const Shape& shape);
/// The last one where the attribute is missing.
[[nodiscard]] Result<std::size_t> dimension_or_last(const Equation& equation, const Shape& shape);

[[nodiscard]] Result<Values> one_tensor(Shape shape, std::vector<float> values);

/// [rows, columns] of a tensor seen along its last dimension; [1] has one row. Errors: 2^31 elements or more.
struct RowShape {
    std::uint32_t rows = 1;
    std::uint32_t columns = 1;
};
[[nodiscard]] Result<RowShape> rows_of(const Equation& equation, const Shape& shape);

/// A shape seen along one of its dimensions: [outer, extent, inner]. The shape has passed rows_of.
struct Along {
    std::uint32_t outer = 1;
    std::uint32_t extent = 1;
    std::uint32_t inner = 1;
};
[[nodiscard]] Along along(const Shape& shape, std::size_t dimension);

/// A kernel's operations have the words of the graph's.
template <Worded E>
[[nodiscard]] E named_like(const Operation& operation) {
    constexpr auto kWords = enum_words(E{});
    return static_cast<E>(std::ranges::find(kWords, operation.name) - kWords.begin());
}

}  // namespace yolk::hyper
