// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/elementwise.hpp"

#include <bit>

#include "yolk/exact/exact_operations.h"

namespace yolk::reference {

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
    const auto operation = static_cast<std::uint32_t>(desc.operation);
    return is_binary(desc.operation) ? exact::exact_binary_word(operation, x, y)
                                     : exact::exact_unary_word(operation, x, desc.scale, desc.shift);
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

}  // namespace yolk::reference
