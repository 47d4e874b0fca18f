// SPDX-License-Identifier: Apache-2.0
#include "yolk/natural_gradient.hpp"

#include <cstddef>
#include <span>

#include "row_twin.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::reference {

namespace {

using exact::exact_flush;
using exact::exact_flush_operand;

void project_twin(std::span<float> values, bool projects) {
    const float total = row_sum_twin(values.size(), [&](std::size_t k) { return exact_flush(values[k]); });
    const float average = total * static_cast<float>(1.0 / static_cast<double>(values.size()));
    const float mean = projects ? exact_flush(average) : 0.0F;
    for (float& value : values) {
        const float centred = exact_flush(value) - mean;
        value = exact_flush(centred);
    }
}

}  // namespace

/// In the order of rows.glsl.
void run_twin(const NaturalGradientDesc& desc, const HostViews& views, float learning_rate) {
    const auto step = views.out<float>(2), preconditioned = views.out<float>(3);
    const std::size_t n = desc.n;
    for (std::size_t b = 0; b < desc.blocks && n > 0; ++b) {
        const auto given = views.in<float>(1).subspan(b * n, n);
        std::vector<float> vector(given.begin(), given.end());
        if (!desc.identity) {
            if (desc.project_mean) project_twin(vector, true);
            std::vector<float> product(n);
            for (std::size_t row = 0; row < n; ++row) {
                const float* matrix_row = views.in<float>(0).data() + (b * n + row) * n;
                product[row] = row_sum_twin(n, [&](std::size_t k) {
                    return exact_flush_operand(matrix_row[k]) * exact_flush_operand(vector[k]);
                });
            }
            vector = product;
        }
        if (desc.identity || desc.project_mean) project_twin(vector, desc.project_mean);
        for (std::size_t i = 0; i < n; ++i) {
            const float moved = vector[i] * -learning_rate;
            step[b * n + i] = exact_flush(moved);
            if (!preconditioned.empty()) preconditioned[b * n + i] = vector[i];
        }
    }
}
template struct Twin<NaturalGradientDesc>;

}  // namespace yolk::reference
