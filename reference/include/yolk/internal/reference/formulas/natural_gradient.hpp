// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "yolk/internal/reference/row_sum.hpp"
#include "yolk/natural_gradient.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

/// Takes the mean off, where `projects`.
template <class Number>
void project(std::span<Number> values, bool projects) {
    const Number total = row_sum<Number>(values.size(), [&](std::size_t k) { return flush(values[k]); });
    const Number average = flush(total * Number::rounded(1.0 / static_cast<double>(values.size())));
    for (Number& value : values) value = flush(flush(value) - (projects ? average : Number()));
}

/// In the order of rows.glsl.
template <class Number>
void formula(const NaturalGradientDesc& desc, const HostViews& views, float learning_rate) {
    const std::span<Number> step = views.out<Number>(2), preconditioned = views.out<Number>(3);
    const std::size_t n = desc.n;
    for (std::size_t b = 0; b < desc.blocks && n > 0; ++b) {
        const auto given = views.in<Number>(1).subspan(b * n, n);
        std::vector<Number> vector(given.begin(), given.end());
        if (!desc.identity) {
            if (desc.project_mean) project(std::span(vector), true);
            std::vector<Number> product(n);
            for (std::size_t row = 0; row < n; ++row) {
                const auto of_row = views.in<Number>(0).subspan((b * n + row) * n, n);
                product[row] = row_sum<Number>(
                    n, [&](std::size_t k) { return flush_operand(of_row[k]) * flush_operand(vector[k]); });
            }
            vector = std::move(product);
        }
        if (desc.identity || desc.project_mean) project(std::span(vector), desc.project_mean);
        for (std::size_t i = 0; i < n; ++i) {
            step[b * n + i] = flush(vector[i] * Number(-learning_rate));
            if (!preconditioned.empty()) preconditioned[b * n + i] = vector[i];
        }
    }
}

}  // namespace yolk::reference
