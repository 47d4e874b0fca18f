// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/reduce.hpp"

#include <cmath>

#include "row_twin.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::reference {

namespace {

std::uint32_t reduce_row_twin(const ReduceDesc& desc, const float* first) {
    const auto term = [&](std::size_t k) { return exact::exact_flush_operand(first[k * desc.inner]); };
    if (desc.operation == ReduceOperation::Max || desc.operation == ReduceOperation::Argmax) {
        const std::size_t place = row_argmax_twin(desc.columns, term);
        if (desc.operation == ReduceOperation::Argmax) return static_cast<std::uint32_t>(place);
        return std::isnan(term(place)) ? kRowNanBits : std::bit_cast<std::uint32_t>(term(place));
    }
    if (desc.operation == ReduceOperation::Min) {
        const std::size_t place = row_argmax_twin(desc.columns, [&](std::size_t k) { return -term(k); });
        return std::isnan(term(place)) ? kRowNanBits : std::bit_cast<std::uint32_t>(term(place));
    }
    const float sum = row_sum_twin(desc.columns, term);
    const float mean = sum * (1.0F / static_cast<float>(desc.columns));
    return std::bit_cast<std::uint32_t>(desc.operation == ReduceOperation::Mean ? mean : sum);
}

template <class Row>
void for_each_row(const ReduceDesc& desc, const std::vector<float>& in, Row&& row) {
    for (std::size_t o = 0; o < desc.outer; ++o) {
        for (std::size_t j = 0; j < desc.inner; ++j) row(in.data() + o * desc.columns * desc.inner + j);
    }
}

}  // namespace

std::vector<std::uint32_t> reduce_twin(const ReduceDesc& desc, const std::vector<float>& in) {
    std::vector<std::uint32_t> out;
    for_each_row(desc, in, [&](const float* first) { out.push_back(reduce_row_twin(desc, first)); });
    return out;
}

}  // namespace yolk::reference
