// SPDX-License-Identifier: Apache-2.0
#include "yolk/where.hpp"

#include "twin_source.hpp"

namespace yolk::reference {

void run_twin(const WhereDesc& desc, const HostViews& views) {
    const auto condition = views.in<std::uint32_t>(0), first = views.in<std::uint32_t>(1);
    const auto second = views.in<std::uint32_t>(2);
    const auto out = views.out<std::uint32_t>(3);
    const std::size_t rows = desc.rows, columns = desc.columns;
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
                out[place(SecondOperand::Full)] = is_zero ? second[place(desc.second)] : first[place(desc.first)];
            }
        }
    }
}
template struct Twin<WhereDesc>;

}  // namespace yolk::reference
