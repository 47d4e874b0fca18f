// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "yolk/internal/reference/matrix_elements.hpp"
#include "yolk/matmul.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

template <>
inline constexpr bool kWordsAreNumbers<MatmulDesc> = true;

/// One chain over k, then the epilogue; operands and output are numbers, whatever their formats.
template <class Number>
void formula(const MatmulDesc& desc, const HostViews& views) {
    const MatmulDesc d = without_dense(desc);
    const auto left = views.in<Number>(0), right = views.in<Number>(1), bias = views.in<Number>(2),
               residual = views.in<Number>(3);
    const std::span<Number> out = views.out<Number>(4);
    const std::size_t a_step = d.a.transposed ? d.a.stride : 1, b_step = d.b.transposed ? 1 : d.b.stride;
    const auto element = [&](std::uint32_t z, std::uint32_t row, std::uint32_t column) {
        const std::size_t a_first = element_of(d, d.a, z, row, 0), b_first = element_of(d, d.b, z, 0, column);
        typename Number::Chain chain;
        for (std::size_t k = 0; k < d.k; ++k)
            chain.add(flush_operand(left[a_first + k * a_step]) * flush_operand(right[b_first + k * b_step]));
        Number value = chain.sum();
        const std::size_t of_bias = d.bias_offset + (d.bias_per_matrix ? std::size_t{z} * d.n : 0) + column;
        if (d.has_bias) value = value + flush_operand(bias[of_bias]);
        value = activated(d.activation, value);
        if (d.has_residual) value = value + flush_operand(residual[element_of(d, d.residual, z, row, column)]);
        return value;
    };
    for (std::uint32_t z = 0; z < d.batch; ++z) {
        for (std::uint32_t row = 0; row < d.m; ++row) {
            for (std::uint32_t column = 0; column < d.n; ++column)
                out[out_element(d, z, row, column)] = element(z, row, column);
        }
    }
}

}  // namespace yolk::reference
