// SPDX-License-Identifier: Apache-2.0
#include "yolk/softmax.hpp"

#include "row_exponentials.hpp"
#include "twin_source.hpp"

namespace yolk::reference {

void run_twin(const SoftmaxDesc& desc, const HostViews& views) {
    const auto in = views.in<float>(0);
    const auto out = views.out<float>(1);
    for (std::size_t first = 0; first < in.size(); first += desc.columns) {
        const RowExponentials of = row_exponentials_twin(in.subspan(first, desc.columns));
        for (std::size_t i = first; i < first + desc.columns; ++i) {
            const float distance = exact::exact_flush_operand(in[i]) - of.largest;
            const float value = desc.logarithm
                                    ? distance - exact::exact_log(of.sum)
                                    : exact::exact_flush(exact::exact_exp(distance) * exact::exact_reciprocal(of.sum));
            out[i] = of.is_finite() ? value : row_nan();
        }
    }
}
template struct Twin<SoftmaxDesc>;

}  // namespace yolk::reference
