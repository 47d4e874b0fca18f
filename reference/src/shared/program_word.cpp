// SPDX-License-Identifier: Apache-2.0
#include "program_word.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "yolk/exact/exact_math.h"
#include "yolk/exact/exact_operations.h"
#include "yolk/internal/reference/row_sum.hpp"

namespace yolk::reference {
namespace {

constexpr std::uint32_t kMagnitude = 0x7FFFFFFFU, kInfinity = 0x7F800000U;

using WordOfOne = std::uint32_t (*)(std::uint32_t);
using WordOfTwo = std::uint32_t (*)(std::uint32_t, std::uint32_t);

// In ElementwiseOperation's order.
constexpr std::array<WordOfOne, 16> kOnOne{
    exact::elementwise_copy,   exact::elementwise_relu,     exact::elementwise_gelu,  exact::elementwise_silu,
    exact::elementwise_tanh,   exact::elementwise_sigmoid,  exact::elementwise_exp,   exact::elementwise_log,
    exact::elementwise_negate, exact::elementwise_absolute, exact::elementwise_sqrt,  exact::elementwise_rsqrt,
    exact::elementwise_sin,    exact::elementwise_cos,      exact::elementwise_floor, exact::elementwise_round};
constexpr std::array<WordOfTwo, 13> kOnTwo{
    exact::elementwise_add,          exact::elementwise_subtract,         exact::elementwise_multiply,
    exact::elementwise_maximum,      exact::elementwise_minimum,          exact::elementwise_divide,
    exact::elementwise_power,        exact::elementwise_less_than,        exact::elementwise_less_or_equal,
    exact::elementwise_greater_than, exact::elementwise_greater_or_equal, exact::elementwise_equal_to,
    exact::elementwise_not_equal_to};
static_assert(static_cast<std::size_t>(ElementwiseOperation::Add) == kOnOne.size());
static_assert(static_cast<std::size_t>(ElementwiseOperation::Where) == kOnOne.size() + kOnTwo.size());

/// Integers in the order of the numbers, every NaN the largest (rows.glsl).
std::uint32_t key_of(Word word) {
    if ((word.bits & kMagnitude) > kInfinity) return ~0U;
    return (word.bits & ~kMagnitude) == 0 ? word.bits | ~kMagnitude : ~word.bits;
}
Word word_of(std::uint32_t key) {
    if (key == ~0U) return Word(std::uint32_t{exact::kExactNan});
    return Word((key & ~kMagnitude) != 0 ? key & kMagnitude : ~key);
}

}  // namespace

Word step_value(ElementwiseOperation operation, Word x) {
    return Word(kOnOne[static_cast<std::size_t>(operation)](x.bits));
}
Word step_value(ElementwiseOperation operation, Word x, Word y) {
    return Word(kOnTwo[static_cast<std::size_t>(operation) - kOnOne.size()](x.bits, y.bits));
}
Word chosen(Word condition, Word x, Word y) { return Word(exact::elementwise_where(condition.bits, x.bits, y.bits)); }

Word step_value(RowOperation operation, Word x) {
    switch (operation) {
        case RowOperation::Operand: return Word(exact::row_operand(x.bits));
        case RowOperation::Result: return Word(exact::row_result(x.bits));
        case RowOperation::Exponential: return Word(exact::row_exponential(x.bits));
        case RowOperation::Reciprocal: return Word(exact::row_reciprocal(x.bits));
        default: return Word(exact::row_inverse_sqrt(x.bits));
    }
}
Word step_value(RowOperation operation, Word x, Word y) {
    if (operation == RowOperation::Difference) return Word(exact::row_difference(x.bits, y.bits));
    return Word(operation == RowOperation::Product ? exact::row_product(x.bits, y.bits)
                                                   : exact::row_total(x.bits, y.bits));
}

Word reduced(RowOperation operation, std::span<const Word> row) {
    if (operation == RowOperation::Sum) {
        const float sum = row_sum<float>(row.size(), [&](std::size_t k) { return std::bit_cast<float>(row[k].bits); });
        return std::isnan(sum) ? Word(std::uint32_t{exact::kExactNan}) : Word(sum);
    }
    const auto by_key = [](Word a, Word b) { return key_of(a) < key_of(b); };
    const auto largest = std::ranges::max_element(row, by_key);
    if (operation == RowOperation::Argmax) return Word(static_cast<std::uint32_t>(largest - row.begin()));
    const bool is_nan = key_of(*largest) == ~0U;
    return word_of(
        key_of(operation == RowOperation::Max || is_nan ? *largest : *std::ranges::min_element(row, by_key)));
}

}  // namespace yolk::reference
