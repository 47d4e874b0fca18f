// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/where.hpp"

namespace yolk::reference {

std::vector<std::uint32_t> where_twin(const WhereDesc& desc, std::span<const std::uint32_t> condition,
                                      std::span<const std::uint32_t> first, std::span<const std::uint32_t> second) {
    const std::size_t rows = desc.rows, columns = desc.columns;
    std::vector<std::uint32_t> out;
    out.reserve(desc.members * rows * columns);
    for (std::size_t m = 0; m < desc.members; ++m) {
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t c = 0; c < columns; ++c) {
                const auto place = [&](SecondOperand operand) {
                    switch (operand) {
                        case SecondOperand::Full: return (m * rows + r) * columns + c;
                        case SecondOperand::Shared: return r * columns + c;
                        case SecondOperand::MemberRows: return m * columns + c;
                        default: return c;
                    }
                };
                const bool is_zero = condition[place(desc.condition)] << 1U == 0;  // but for its sign
                out.push_back(is_zero ? second[place(desc.second)] : first[place(desc.first)]);
            }
        }
    }
    return out;
}

}  // namespace yolk::reference
