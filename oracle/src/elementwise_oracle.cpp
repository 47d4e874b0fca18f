// SPDX-License-Identifier: Apache-2.0
#include "elementwise_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "error_bounds.hpp"
#include "exact_math_table.hpp"
#include "yolk/abi/exact_math.h"

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

std::vector<OracleValue> elementwise_oracle(const ElementwiseDesc& desc, std::span<const float> first,
                                            std::span<const float> second) {
    std::vector<OracleValue> values;
    values.reserve(first.size());
    for_each_element(desc, first, second, [&](float x, float y) { values.push_back(value_of(desc, x, y)); });
    return values;
}

}  // namespace yolk::oracle
