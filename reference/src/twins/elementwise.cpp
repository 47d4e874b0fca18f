// SPDX-License-Identifier: Apache-2.0
#include "yolk/elementwise.hpp"

#include <bit>

#include "twin_source.hpp"
#include "yolk/exact/exact_operations.h"

namespace yolk::reference {

namespace {

std::uint32_t apply(const ElementwiseDesc& desc, std::uint32_t x, std::uint32_t y) {
    const auto operation = static_cast<std::uint32_t>(desc.operation);
    if (is_binary(desc.operation))
        return is_long(desc.operation) ? exact::exact_long_binary_word(operation, x, y)
                                       : exact::exact_binary_word(operation, x, y);
    return is_long(desc.operation) ? exact::exact_long_unary_word(operation, x)
                                   : exact::exact_unary_word(operation, x, desc.scale, desc.shift);
}

}  // namespace

void run_twin(const ElementwiseDesc& desc, const HostViews& views) {
    const auto first = views.in<float>(0), second = views.in<float>(1);
    const auto out = views.out<float>(2);
    const std::size_t rows = desc.rows, columns = desc.columns;
    const bool binary = is_binary(desc.operation);
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                const std::size_t full = (m * rows + r) * columns + c;
                std::size_t where = c;
                if (desc.second == SecondOperand::Full) where = full;
                if (desc.second == SecondOperand::Shared) where = r * columns + c;
                if (desc.second == SecondOperand::MemberRows) where = m * columns + c;
                const float y = binary ? second[where] : 0.0F;
                out[full] = std::bit_cast<float>(
                    apply(desc, std::bit_cast<std::uint32_t>(first[full]), std::bit_cast<std::uint32_t>(y)));
            }
        }
    }
}
template struct Twin<ElementwiseDesc>;

}  // namespace yolk::reference
