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

constexpr std::uint32_t kMagnitude = 0x7FFFFFFFU, kInfinity = 0x7F800000U;

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

/// Integers in the order of the numbers, every NaN the largest (rows.glsl).
std::uint32_t key_of(std::uint32_t word) {
    if ((word & kMagnitude) > kInfinity) return ~0U;
    return (word & ~kMagnitude) == 0 ? word | ~kMagnitude : ~word;
}
std::uint32_t word_of(std::uint32_t key) {
    if (key == ~0U) return kRowNanBits;
    return (key & ~kMagnitude) != 0 ? key & kMagnitude : ~key;
}

std::uint32_t reduce_row(RowOperation operation, const ProgramWords& row) {
    if (operation == RowOperation::Sum) {
        const float sum = row_sum_twin(row.size(), [&](std::size_t k) { return std::bit_cast<float>(row[k]); });
        return std::isnan(sum) ? kRowNanBits : std::bit_cast<std::uint32_t>(sum);
    }
    const auto by_key = [](std::uint32_t a, std::uint32_t b) { return key_of(a) < key_of(b); };
    const auto largest = std::ranges::max_element(row, by_key);
    if (operation == RowOperation::Argmax) return static_cast<std::uint32_t>(largest - row.begin());
    const bool is_nan = key_of(*largest) == ~0U;
    return word_of(
        key_of(operation == RowOperation::Max || is_nan ? *largest : *std::ranges::min_element(row, by_key)));
}

std::uint32_t row_function(RowOperation operation, std::uint32_t x) {
    switch (operation) {
        case RowOperation::Operand: return exact::row_operand(x);
        case RowOperation::Result: return exact::row_result(x);
        case RowOperation::Exponential: return exact::row_exponential(x);
        case RowOperation::Reciprocal: return exact::row_reciprocal(x);
        default: return exact::row_inverse_sqrt(x);
    }
}
std::uint32_t row_function(RowOperation operation, std::uint32_t x, std::uint32_t y) {
    if (operation == RowOperation::Difference) return exact::row_difference(x, y);
    return operation == RowOperation::Product ? exact::row_product(x, y) : exact::row_total(x, y);
}

/// What a step makes of a row's words.
ProgramWords row_step_result(RowOperation operation, const std::vector<std::uint32_t>& operands,
                             const std::vector<ProgramWords>& values) {
    const ProgramWords& first = values[operands[0]];
    if (is_reduction(operation)) return ProgramWords(first.size(), reduce_row(operation, first));
    ProgramWords made(first.size());
    for (std::size_t k = 0; k < made.size(); ++k)
        made[k] = operands.size() == 1 ? row_function(operation, first[k])
                                       : row_function(operation, first[k], values[operands[1]][k]);
    return made;
}

/// `values`: the inputs' words of a row. What is the same for all of a row is repeated along it.
ProgramWords row_result(const RowProgramDesc& desc, std::vector<ProgramWords> values) {
    const std::size_t columns = values.front().size();
    for (const float number : desc.numbers) values.emplace_back(columns, std::bit_cast<std::uint32_t>(number));
    for (const RowStep& step : desc.steps) {
        const auto* const of_row = std::get_if<RowOperation>(&step.operation);
        values.push_back(of_row != nullptr
                             ? row_step_result(*of_row, step.operands, values)
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
