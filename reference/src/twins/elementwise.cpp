// SPDX-License-Identifier: Apache-2.0
#include "yolk/elementwise.hpp"

#include <array>
#include <bit>

#include "twin_source.hpp"
#include "yolk/exact/exact_operations.h"

namespace yolk::reference {
namespace {

using Words = std::vector<std::uint32_t>;
using OnOne = std::uint32_t (*)(std::uint32_t);
using OnTwo = std::uint32_t (*)(std::uint32_t, std::uint32_t);

// In ElementwiseOperation's order.
constexpr std::array<OnOne, 16> kOnOne{
    exact::elementwise_copy,   exact::elementwise_relu,     exact::elementwise_gelu,  exact::elementwise_silu,
    exact::elementwise_tanh,   exact::elementwise_sigmoid,  exact::elementwise_exp,   exact::elementwise_log,
    exact::elementwise_negate, exact::elementwise_absolute, exact::elementwise_sqrt,  exact::elementwise_rsqrt,
    exact::elementwise_sin,    exact::elementwise_cos,      exact::elementwise_floor, exact::elementwise_round};
constexpr std::array<OnTwo, 13> kOnTwo{
    exact::elementwise_add,          exact::elementwise_subtract,         exact::elementwise_multiply,
    exact::elementwise_maximum,      exact::elementwise_minimum,          exact::elementwise_divide,
    exact::elementwise_power,        exact::elementwise_less_than,        exact::elementwise_less_or_equal,
    exact::elementwise_greater_than, exact::elementwise_greater_or_equal, exact::elementwise_equal_to,
    exact::elementwise_not_equal_to};
static_assert(static_cast<std::size_t>(ElementwiseOperation::Add) == kOnOne.size());
static_assert(static_cast<std::size_t>(ElementwiseOperation::Where) == kOnOne.size() + kOnTwo.size());

/// Where each element of the result is in an input that lacks some of its dimensions.
Words repeated_input(const ElementwiseDesc& desc, std::uint32_t dimensions, std::span<const std::uint32_t> input,
                     std::size_t count) {
    Words all(count);
    if (input.size() == count) {
        std::ranges::copy(input, all.begin());
        return all;
    }
    for (std::size_t e = 0; e < count; ++e) {
        std::size_t rest = e, place = 0, stride = 1;
        for (std::size_t d = desc.extents.size(); d-- > 0;) {
            const std::size_t at = rest % desc.extents[d];
            rest /= desc.extents[d];
            if ((dimensions >> d & 1U) == 0) continue;
            place += at * stride;
            stride *= desc.extents[d];
        }
        all[e] = input[place];
    }
    return all;
}

Words step_result(const ElementwiseStep& step, const std::vector<Words>& values) {
    const Words& first = values[step.operands[0]];
    Words made(first.size());
    const auto number = static_cast<std::size_t>(step.operation);
    if (operand_count(step.operation) == 1) {
        std::ranges::transform(first, made.begin(), kOnOne[number]);
        return made;
    }
    const Words& second = values[step.operands[1]];
    if (operand_count(step.operation) == 2) {
        std::ranges::transform(first, second, made.begin(), kOnTwo[number - kOnOne.size()]);
        return made;
    }
    const Words& third = values[step.operands[2]];
    for (std::size_t e = 0; e < made.size(); ++e) made[e] = exact::elementwise_where(first[e], second[e], third[e]);
    return made;
}

}  // namespace

/// Step by step, of all elements.
void run_twin(const ElementwiseDesc& desc, const HostViews& views) {
    const auto out = views.out<std::uint32_t>(desc.inputs.size());
    std::vector<Words> values;
    for (std::size_t i = 0; i < desc.inputs.size(); ++i)
        values.push_back(repeated_input(desc, desc.inputs[i], views.in<std::uint32_t>(i), out.size()));
    for (const float number : desc.numbers) values.emplace_back(out.size(), std::bit_cast<std::uint32_t>(number));
    for (const ElementwiseStep& step : desc.steps) values.push_back(step_result(step, values));
    copy_wanted<std::uint32_t>(values.back(), out);
}
template struct Twin<ElementwiseDesc>;

}  // namespace yolk::reference
