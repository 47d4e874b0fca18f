// SPDX-License-Identifier: Apache-2.0
// Goes through programs of operations on elements, step by step, of all elements of their space.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/exact/exact_operations.h"

namespace yolk::reference {

using ProgramWords = std::vector<std::uint32_t>;
using WordOfOne = std::uint32_t (*)(std::uint32_t);
using WordOfTwo = std::uint32_t (*)(std::uint32_t, std::uint32_t);

// In ElementwiseOperation's order.
inline constexpr std::array<WordOfOne, 16> kOnOne{
    exact::elementwise_copy,   exact::elementwise_relu,     exact::elementwise_gelu,  exact::elementwise_silu,
    exact::elementwise_tanh,   exact::elementwise_sigmoid,  exact::elementwise_exp,   exact::elementwise_log,
    exact::elementwise_negate, exact::elementwise_absolute, exact::elementwise_sqrt,  exact::elementwise_rsqrt,
    exact::elementwise_sin,    exact::elementwise_cos,      exact::elementwise_floor, exact::elementwise_round};
inline constexpr std::array<WordOfTwo, 13> kOnTwo{
    exact::elementwise_add,          exact::elementwise_subtract,         exact::elementwise_multiply,
    exact::elementwise_maximum,      exact::elementwise_minimum,          exact::elementwise_divide,
    exact::elementwise_power,        exact::elementwise_less_than,        exact::elementwise_less_or_equal,
    exact::elementwise_greater_than, exact::elementwise_greater_or_equal, exact::elementwise_equal_to,
    exact::elementwise_not_equal_to};
static_assert(static_cast<std::size_t>(ElementwiseOperation::Add) == kOnOne.size());
static_assert(static_cast<std::size_t>(ElementwiseOperation::Where) == kOnOne.size() + kOnTwo.size());

/// Where each element of the result is in an input that lacks some of its dimensions.
inline ProgramWords repeated_input(std::span<const std::uint32_t> extents, std::uint32_t dimensions,
                                   std::span<const std::uint32_t> input, std::size_t count) {
    ProgramWords all(count);
    if (input.size() == count) {
        std::ranges::copy(input, all.begin());
        return all;
    }
    for (std::size_t e = 0; e < count; ++e) {
        std::size_t rest = e, place = 0, stride = 1;
        for (std::size_t d = extents.size(); d-- > 0;) {
            const std::size_t at = rest % extents[d];
            rest /= extents[d];
            if ((dimensions >> d & 1U) == 0) continue;
            place += at * stride;
            stride *= extents[d];
        }
        all[e] = input[place];
    }
    return all;
}

inline ProgramWords step_result(ElementwiseOperation operation, std::span<const std::uint32_t> operands,
                                const std::vector<ProgramWords>& values) {
    const ProgramWords& first = values[operands[0]];
    ProgramWords made(first.size());
    const auto number = static_cast<std::size_t>(operation);
    if (operand_count(operation) == 1) {
        std::ranges::transform(first, made.begin(), kOnOne[number]);
        return made;
    }
    const ProgramWords& second = values[operands[1]];
    if (operand_count(operation) == 2) {
        std::ranges::transform(first, second, made.begin(), kOnTwo[number - kOnOne.size()]);
        return made;
    }
    const ProgramWords& third = values[operands[2]];
    for (std::size_t e = 0; e < made.size(); ++e) made[e] = exact::elementwise_where(first[e], second[e], third[e]);
    return made;
}

}  // namespace yolk::reference
