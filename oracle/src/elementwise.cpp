// SPDX-License-Identifier: Apache-2.0
#include "yolk/oracle/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "error_bounds.hpp"
#include "exact_math_table.hpp"
#include "yolk/abi/exact_math.h"
#include "yolk/exact/exact_elementwise.h"

namespace yolk::oracle {
namespace {

// Calls element(x, y) for each element in the order of the first operand; y is 0 for unary operations.
template <class Element>
void for_each_element(const ElementwiseDesc& desc, std::span<const float> first, std::span<const float> second,
                      Element&& element) {
    const std::size_t rows = desc.rows, columns = desc.columns;
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t full = (m * rows + r) * columns + c;
                std::size_t where = c;
                if (desc.second == SecondOperand::Full) where = full;
                if (desc.second == SecondOperand::Shared) where = r * columns + c;
                if (desc.second == SecondOperand::MemberRows) where = m * columns + c;
                element(first[full], is_binary(desc.operation) ? second[where] : 0.0F);
            }
        }
    }
}

std::uint32_t apply(const ElementwiseDesc& desc, std::uint32_t x, std::uint32_t y) {
    switch (desc.operation) {
        case ElementwiseOperation::Exp: return exact::exact_exp_word(x);
        case ElementwiseOperation::Log: return exact::exact_log_word(x);
        case ElementwiseOperation::Negate: return x ^ 0x80000000U;
        case ElementwiseOperation::ScaleShift: return exact::exact_scale_shift_word(x, desc.scale, desc.shift);
        case ElementwiseOperation::Add: return exact::exact_sum_word(x, y);
        case ElementwiseOperation::Subtract: return exact::exact_difference_word(x, y);
        case ElementwiseOperation::Multiply: return exact::exact_product_word(x, y);
        case ElementwiseOperation::Maximum: return exact::exact_maximum_word(x, y);
        default:
            return std::bit_cast<std::uint32_t>(
                exact::exact_activate(static_cast<std::uint32_t>(desc.operation), std::bit_cast<float>(x)));
    }
}

// Which row of the table of exact functions an operation is; null where it moves bits or is no function of one element.
const ExactFunction* function_of(ElementwiseOperation operation) {
    namespace abi_em = abi::exact_math;
    const auto named = [](std::uint32_t id) { return &*std::ranges::find(exact_functions(), id, &ExactFunction::id); };
    switch (operation) {
        case ElementwiseOperation::Relu: return named(abi_em::kRelu);
        case ElementwiseOperation::Silu: return named(abi_em::kSilu);
        case ElementwiseOperation::Tanh: return named(abi_em::kTanh);
        case ElementwiseOperation::Sigmoid: return named(abi_em::kSigmoid);
        case ElementwiseOperation::Exp: return named(abi_em::kExp);
        case ElementwiseOperation::Log: return named(abi_em::kLog);
        default: return nullptr;
    }
}

OracleValue value_of(const ElementwiseDesc& desc, float first, float second) {
    const double x = first, y = second;
    if (desc.operation == ElementwiseOperation::Gelu) return gelu_oracle(x);
    if (const ExactFunction* function = function_of(desc.operation)) {
        const double value = function->reference(first);
        return {value, function->absolute_error + function->relative_error * std::abs(value)};
    }
    switch (desc.operation) {
        case ElementwiseOperation::Negate: return {0.0 - x, 0.0};
        case ElementwiseOperation::Maximum: return {std::max(x, y), 0.0};
        case ElementwiseOperation::Multiply:
            return {x * y, kFp32Rounding * std::abs(x * y) + kProductFloor * (1.0 + std::abs(x) + std::abs(y))};
        case ElementwiseOperation::Add: return {x + y, kFp32Rounding * std::abs(x + y) + 2.0 * kProductFloor};
        case ElementwiseOperation::Subtract: return {x - y, kFp32Rounding * std::abs(x - y) + 2.0 * kProductFloor};
        case ElementwiseOperation::ScaleShift: {
            const double product = desc.scale * x;
            const double sum = product + desc.shift;
            // The rounding of the product is rounded again with the sum: 1 + 2^-24 of it.
            return {sum, kFp32Rounding * (std::abs(sum) + (1.0 + kFp32Rounding) * std::abs(product)) +
                             kProductFloor * (2.0 + std::abs(static_cast<double>(desc.scale)))};
        }
        default: return {x, 0.0};
    }
}

}  // namespace

std::vector<float> elementwise_twin(const ElementwiseDesc& desc, std::span<const float> first,
                                    std::span<const float> second) {
    std::vector<float> out;
    out.reserve(first.size());
    for_each_element(desc, first, second, [&](float x, float y) {
        out.push_back(
            std::bit_cast<float>(apply(desc, std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(y))));
    });
    return out;
}

std::vector<OracleValue> elementwise_oracle(const ElementwiseDesc& desc, std::span<const float> first,
                                            std::span<const float> second) {
    std::vector<OracleValue> values;
    values.reserve(first.size());
    for_each_element(desc, first, second, [&](float x, float y) { values.push_back(value_of(desc, x, y)); });
    return values;
}

}  // namespace yolk::oracle
