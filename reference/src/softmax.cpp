// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/softmax.hpp"

#include <span>

#include "row_exponentials.hpp"

namespace yolk::reference {

namespace {

template <class Row>
void for_each_row(const SoftmaxDesc& desc, const std::vector<float>& in, Row&& row) {
    if (desc.columns == 0) return;
    for (std::size_t first = 0; first < in.size(); first += desc.columns) {
        row(std::span(in).subspan(first, desc.columns));
    }
}

}  // namespace

std::vector<float> softmax_twin(const SoftmaxDesc& desc, const std::vector<float>& in) {
    std::vector<float> out;
    for_each_row(desc, in, [&](std::span<const float> row) {
        const RowExponentials of = row_exponentials_twin(row);
        for (const float x : row) {
            const float distance = exact::exact_flush_operand(x) - of.largest;
            const float value = desc.logarithm
                                    ? distance - exact::exact_log(of.sum)
                                    : exact::exact_flush(exact::exact_exp(distance) * exact::exact_reciprocal(of.sum));
            out.push_back(of.is_finite() ? value : row_nan());
        }
    });
    return out;
}

}  // namespace yolk::reference
