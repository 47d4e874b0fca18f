// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/cross_entropy.hpp"

#include <span>

#include "row_exponentials.hpp"

namespace yolk::reference {

namespace {

/// row(logits of the row, its target)
template <class Row>
void for_each_row(const CrossEntropyDesc& desc, const CrossEntropyInputs& inputs, Row&& row) {
    for (std::size_t member = 0; member < desc.members; ++member) {
        for (std::size_t r = 0; r < desc.rows; ++r) {
            const std::size_t flat = member * desc.rows + r;
            row(std::span(inputs.logits).subspan(flat * desc.columns, desc.columns),
                inputs.targets[desc.shared_targets ? r : flat]);
        }
    }
}

}  // namespace

std::vector<float> cross_entropy_twin(const CrossEntropyDesc& desc, const CrossEntropyInputs& inputs) {
    std::vector<float> losses;
    for_each_row(desc, inputs, [&](std::span<const float> row, std::uint32_t target) {
        const RowExponentials of = row_exponentials_twin(row);
        if (target >= row.size() || !of.is_finite()) {
            losses.push_back(row_nan());
            return;
        }
        losses.push_back(exact::exact_log(of.sum) + (of.largest - exact::exact_flush_operand(row[target])));
    });
    return losses;
}

std::uint32_t cross_entropy_bad_targets(const CrossEntropyDesc& desc, const CrossEntropyInputs& inputs) {
    std::uint32_t count = 0;
    for_each_row(desc, inputs, [&](std::span<const float> row, std::uint32_t target) {
        if (target >= row.size()) ++count;
    });
    return count;
}

}  // namespace yolk::reference
