// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/matmul.hpp"

#include "yolk/exact/exact_activations.h"

namespace yolk::reference {

namespace {

struct Index {
    std::uint32_t z = 0, row = 0, column = 0;
};

template <class Visit>
void for_each_output(const MatmulDesc& d, Visit visit) {
    for (std::uint32_t z = 0; z < d.batch; ++z) {
        for (std::uint32_t row = 0; row < d.m; ++row) {
            for (std::uint32_t column = 0; column < d.n; ++column) visit(Index{z, row, column});
        }
    }
}

std::size_t bias_of(const MatmulDesc& d, const Index& at) {
    return d.bias_offset + (d.bias_per_matrix ? std::size_t{at.z} * d.n : 0) + at.column;
}

}  // namespace

std::size_t element_of(const MatrixLayout& layout, std::uint32_t z, std::uint32_t row, std::uint32_t column) {
    if (layout.transposed) std::swap(row, column);
    return layout.offset + std::size_t{z} * layout.batch_stride + std::size_t{row} * layout.stride + column;
}

MatmulDesc without_dense(const MatmulDesc& desc) {
    MatmulDesc d = desc;
    const auto resolve = [&](MatrixLayout& layout, std::uint32_t rows, std::uint32_t columns) {
        if (layout.transposed) std::swap(rows, columns);
        if (layout.stride == kDense) layout.stride = columns;
        if (layout.batch_stride == kDense) layout.batch_stride = rows * layout.stride;
    };
    resolve(d.a, d.m, d.k);
    resolve(d.b, d.k, d.n);
    resolve(d.out, d.m, d.n);
    resolve(d.residual, d.m, d.n);
    return d;
}

std::vector<float> matmul_twin(const MatmulDesc& desc, const MatmulInputs& inputs) {
    const MatmulDesc d = without_dense(desc);
    std::vector<float> out;
    for_each_output(d, [&](const Index& at) {
        float sum = 0.0F;
        for (std::uint32_t k = 0; k < d.k; ++k) {
            const float a = exact::exact_flush_operand(inputs.a[element_of(d.a, at.z, at.row, k)]);
            const float b = exact::exact_flush_operand(inputs.b[element_of(d.b, at.z, k, at.column)]);
            const float product = a * b;
            sum = sum + product;
        }
        if (d.has_bias) sum = sum + exact::exact_flush_operand(inputs.bias[bias_of(d, at)]);
        float value = exact::exact_activate(static_cast<std::uint32_t>(d.activation), sum);
        if (d.has_residual)
            value =
                value + exact::exact_flush_operand(inputs.residual[element_of(d.residual, at.z, at.row, at.column)]);
        out.push_back(value);
    });
    return out;
}

}  // namespace yolk::reference
