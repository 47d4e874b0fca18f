// SPDX-License-Identifier: Apache-2.0
// Steps of programs on numbers that know their bounds: each by the standard library, at the operands and at the ends of
// what their errors allow. What formulas of programs are written over (program_formulas.hpp).
#pragma once

#include <span>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/reference/program_formulas.hpp"
#include "yolk/row_program.hpp"

namespace yolk::oracle {

[[nodiscard]] Bounded step_value(ElementwiseOperation operation, const Bounded& x);
[[nodiscard]] Bounded step_value(ElementwiseOperation operation, const Bounded& x, const Bounded& y);
[[nodiscard]] Bounded step_value(RowOperation operation, const Bounded& x);
[[nodiscard]] Bounded step_value(RowOperation operation, const Bounded& x, const Bounded& y);
/// If the condition may be 0 or not, the result may be either value.
[[nodiscard]] Bounded chosen(const Bounded& condition, const Bounded& x, const Bounded& y);
[[nodiscard]] Bounded reduced(RowOperation operation, std::span<const Bounded> row);

/// The output of a program whose inputs are `given`. An element is infinitely far off if a step met no number.
template <class Desc>
[[nodiscard]] std::vector<Bounded> program_bounds(const Desc& desc, const reference::HostViews& given,
                                                  std::size_t count) {
    std::vector<reference::HostView> views;
    for (std::size_t i = 0; i < desc.inputs.size(); ++i) views.push_back(given[i]);
    std::vector<Bounded> out(count);
    views.emplace_back(out);
    reference::formula<Bounded>(desc, reference::HostViews(views));
    return out;
}

}  // namespace yolk::oracle
