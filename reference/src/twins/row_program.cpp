// SPDX-License-Identifier: Apache-2.0
#include "yolk/row_program.hpp"

#include <bit>
#include <cmath>
#include <numeric>

#include "program_twin.hpp"
#include "row_twin.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::reference {
namespace {

/// Rows lie in a space of [outer, columns, inner] words.
struct RowSpace {
    std::size_t outer = 1, columns = 1, inner = 1;

    explicit RowSpace(const RowProgramDesc& desc) : columns(desc.extents[desc.row]) {
        for (std::size_t d = 0; d < desc.extents.size(); ++d) {
            if (d < desc.row) outer *= desc.extents[d];
            if (d > desc.row) inner *= desc.extents[d];
        }
    }
    [[nodiscard]] std::size_t elements() const { return outer * columns * inner; }
    [[nodiscard]] std::size_t first_of(std::size_t row) const { return row / inner * columns * inner + row % inner; }
};

std::uint32_t nan_or(float value) { return std::isnan(value) ? kRowNanBits : std::bit_cast<std::uint32_t>(value); }

std::uint32_t reduce_row(RowOperation operation, const RowSpace& space, const std::uint32_t* first) {
    const auto term = [&](std::size_t k) { return exact::exact_flush(std::bit_cast<float>(first[k * space.inner])); };
    if (operation == RowOperation::Sum) return nan_or(row_sum_twin(space.columns, term));
    if (operation == RowOperation::Min)
        return nan_or(term(row_argmax_twin(space.columns, [&](std::size_t k) { return -term(k); })));
    const std::size_t place = row_argmax_twin(space.columns, term);
    return operation == RowOperation::Argmax ? static_cast<std::uint32_t>(place) : nan_or(term(place));
}

ProgramWords row_step_result(RowOperation operation, const RowSpace& space, const ProgramWords& operand) {
    ProgramWords made(operand.size());
    if (!is_reduction(operation)) {
        std::ranges::transform(operand, made.begin(), [&](std::uint32_t word) {
            if (operation == RowOperation::Operand) return exact::row_operand(word);
            return operation == RowOperation::Reciprocal ? exact::row_reciprocal(word) : exact::row_inverse_sqrt(word);
        });
        return made;
    }
    for (std::size_t row = 0; row < space.outer * space.inner; ++row) {
        const std::size_t first = space.first_of(row);
        const std::uint32_t word = reduce_row(operation, space, operand.data() + first);
        for (std::size_t k = 0; k < space.columns; ++k) made[first + k * space.inner] = word;
    }
    return made;
}

}  // namespace

/// What is the same for all of a row is repeated along it.
void run_twin(const RowProgramDesc& desc, const HostViews& views) {
    const RowSpace space(desc);
    const auto out = views.out<std::uint32_t>(desc.inputs.size());
    if (space.elements() == 0) return;
    std::vector<ProgramWords> values;
    for (std::size_t i = 0; i < desc.inputs.size(); ++i)
        values.push_back(repeated_input(desc.extents, desc.inputs[i], views.in<std::uint32_t>(i), space.elements()));
    for (const float number : desc.numbers) values.emplace_back(space.elements(), std::bit_cast<std::uint32_t>(number));
    for (const RowStep& step : desc.steps) {
        const auto* const of_row = std::get_if<RowOperation>(&step.operation);
        values.push_back(of_row != nullptr
                             ? row_step_result(*of_row, space, values[step.operands[0]])
                             : step_result(std::get<ElementwiseOperation>(step.operation), step.operands, values));
    }
    if (varies_along_row(desc).back()) return copy_wanted<std::uint32_t>(values.back(), out);
    for (std::size_t row = 0; row < out.size(); ++row) out[row] = values.back()[space.first_of(row)];
}
template struct Twin<RowProgramDesc>;

}  // namespace yolk::reference
