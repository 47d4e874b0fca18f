// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/primitives/element_program.hpp"

#include "twin_source.hpp"
#include "yolk/where.hpp"

namespace yolk::reference {
namespace {

using ProgramWords = std::vector<std::uint32_t>;

/// An input's elements, repeated along the dimensions that it lacks.
ProgramWords repeated_input(const ElementProgramDesc& desc, std::uint32_t dimensions,
                            std::span<const std::uint32_t> input, std::size_t count) {
    ProgramWords all(count);
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

ProgramWords step_result(const ElementStep& step, const std::vector<ProgramWords>& values, std::size_t count) {
    const auto columns = static_cast<std::uint32_t>(count);
    ProgramWords made(count);
    const ProgramWords& first = values[step.operands[0]];
    const ProgramWords& second = step.operands.size() > 1 ? values[step.operands[1]] : first;
    if (step.operation) {
        run_twin(ElementwiseDesc{.operation = *step.operation, .rows = 1, .columns = columns},
                 HostViews{first, second, made});
    } else {
        run_twin(WhereDesc{.rows = 1, .columns = columns}, HostViews{first, second, values[step.operands[2]], made});
    }
    return made;
}

}  // namespace

/// The twins of elementwise and where, one after the other.
void run_twin(const ElementProgramDesc& desc, const HostViews& views) {
    const auto out = views.out<std::uint32_t>(desc.inputs.size());
    std::vector<ProgramWords> values;
    for (std::size_t i = 0; i < desc.inputs.size(); ++i)
        values.push_back(repeated_input(desc, desc.inputs[i], views.in<std::uint32_t>(i), out.size()));
    for (const ElementStep& step : desc.steps) values.push_back(step_result(step, values, out.size()));
    copy_wanted<std::uint32_t>(values.back(), out);
}
template struct Twin<ElementProgramDesc>;

}  // namespace yolk::reference
