// SPDX-License-Identifier: Apache-2.0
#include "yolk/elementwise.hpp"

#include <bit>

#include "program_twin.hpp"
#include "twin_source.hpp"

namespace yolk::reference {

void run_twin(const ElementwiseDesc& desc, const HostViews& views) {
    const auto out = views.out<std::uint32_t>(desc.inputs.size());
    std::vector<ProgramWords> values;
    for (std::size_t i = 0; i < desc.inputs.size(); ++i)
        values.push_back(repeated_input(desc.extents, desc.inputs[i], views.in<std::uint32_t>(i), out.size()));
    for (const float number : desc.numbers) values.emplace_back(out.size(), std::bit_cast<std::uint32_t>(number));
    for (const ElementwiseStep& step : desc.steps) values.push_back(step_result(step.operation, step.operands, values));
    copy_wanted<std::uint32_t>(values.back(), out);
}
template struct Twin<ElementwiseDesc>;

}  // namespace yolk::reference
