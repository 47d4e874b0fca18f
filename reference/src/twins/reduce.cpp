// SPDX-License-Identifier: Apache-2.0
#include "yolk/reduce.hpp"

#include <bit>
#include <cmath>

#include "row_twin.hpp"
#include "twin_source.hpp"
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

}  // namespace

void run_twin(const ReduceDesc& desc, const HostViews& views) {
    const auto in = views.in<float>(0);
    const auto places = views.out<std::uint32_t>(1);
    const auto values = views.out<float>(1);
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::uint32_t word =
            reduce_row_twin(desc, in.data() + i / desc.inner * desc.columns * desc.inner + i % desc.inner);
        if (desc.operation == ReduceOperation::Argmax) {
            places[i] = word;
        } else {
            values[i] = std::bit_cast<float>(word);
        }
    }
}
template struct Twin<ReduceDesc>;

}  // namespace yolk::reference
