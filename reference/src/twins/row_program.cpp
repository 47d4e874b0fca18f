// SPDX-License-Identifier: Apache-2.0
#include "yolk/row_program.hpp"

#include <bit>
#include <cmath>
#include <utility>

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
    [[nodiscard]] std::size_t rows() const { return outer * inner; }
    [[nodiscard]] std::size_t elements() const { return rows() * columns; }
    [[nodiscard]] std::size_t first_of(std::size_t row) const { return row / inner * columns * inner + row % inner; }
};

std::uint32_t nan_or(float value) { return std::isnan(value) ? kRowNanBits : std::bit_cast<std::uint32_t>(value); }

std::uint32_t reduce_row(RowOperation operation, const ProgramWords& row) {
    const auto term = [&](std::size_t k) { return exact::exact_flush(std::bit_cast<float>(row[k])); };
    if (operation == RowOperation::Sum) return nan_or(row_sum_twin(row.size(), term));
    if (operation == RowOperation::Min)
        return nan_or(term(row_argmax_twin(row.size(), [&](std::size_t k) { return -term(k); })));
    const std::size_t place = row_argmax_twin(row.size(), term);
    return operation == RowOperation::Argmax ? static_cast<std::uint32_t>(place) : nan_or(term(place));
}

/// Of a row's words.
ProgramWords row_step_result(RowOperation operation, const ProgramWords& operand) {
    if (is_reduction(operation)) return ProgramWords(operand.size(), reduce_row(operation, operand));
    ProgramWords made(operand.size());
    std::ranges::transform(operand, made.begin(), [&](std::uint32_t word) {
        if (operation == RowOperation::Operand) return exact::row_operand(word);
        return operation == RowOperation::Reciprocal ? exact::row_reciprocal(word) : exact::row_inverse_sqrt(word);
    });
    return made;
}

/// `values`: the inputs' words of a row. What is the same for all of a row is repeated along it.
ProgramWords row_result(const RowProgramDesc& desc, std::vector<ProgramWords> values) {
    const std::size_t columns = values.front().size();
    for (const float number : desc.numbers) values.emplace_back(columns, std::bit_cast<std::uint32_t>(number));
    for (const RowStep& step : desc.steps) {
        const auto* const of_row = std::get_if<RowOperation>(&step.operation);
        values.push_back(of_row != nullptr
                             ? row_step_result(*of_row, values[step.operands[0]])
                             : step_result(std::get<ElementwiseOperation>(step.operation), step.operands, values));
    }
    return std::move(values.back());
}

}  // namespace

void run_twin(const RowProgramDesc& desc, const HostViews& views) {
    const RowSpace space(desc);
    const auto out = views.out<std::uint32_t>(desc.inputs.size());
    if (space.elements() == 0 || out.empty()) return;
    std::vector<ProgramWords> inputs;
    for (std::size_t i = 0; i < desc.inputs.size(); ++i)
        inputs.push_back(repeated_input(desc.extents, desc.inputs[i], views.in<std::uint32_t>(i), space.elements()));
    const bool varies = varies_along_row(desc).back();
    for (std::size_t row = 0; row < space.rows(); ++row) {
        const std::size_t first = space.first_of(row);
        std::vector<ProgramWords> values;
        for (const ProgramWords& input : inputs) {
            ProgramWords& words = values.emplace_back(space.columns);
            for (std::size_t k = 0; k < space.columns; ++k) words[k] = input[first + k * space.inner];
        }
        const ProgramWords made = row_result(desc, std::move(values));
        if (!varies) out[row] = made.front();
        for (std::size_t k = 0; varies && k < space.columns; ++k) out[first + k * space.inner] = made[k];
    }
}
template struct Twin<RowProgramDesc>;

}  // namespace yolk::reference
