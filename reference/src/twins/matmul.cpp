// SPDX-License-Identifier: Apache-2.0
#include "yolk/matmul.hpp"

#include <algorithm>

#include "format_floats.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_activations.h"
#include "yolk/internal/reference/matrix_elements.hpp"

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

std::size_t element_of(const MatmulDesc& desc, const MatrixLayout& layout, std::uint32_t z, std::uint32_t row,
                       std::uint32_t column) {
    if (layout.transposed) std::swap(row, column);
    return layout.offset + std::size_t{z / desc.inner_batch} * layout.batch_stride +
           std::size_t{z % desc.inner_batch} * layout.inner_stride + std::size_t{row} * layout.stride + column;
}
std::size_t out_element(const MatmulDesc& desc, std::uint32_t z, std::uint32_t row, std::uint32_t column) {
    return element_of(desc, desc.out, z, row, column);
}

MatmulDesc without_dense(const MatmulDesc& desc) {
    MatmulDesc d = desc;
    const auto resolve = [&](MatrixLayout& layout, std::uint32_t rows, std::uint32_t columns) {
        if (layout.transposed) std::swap(rows, columns);
        if (layout.stride == kDense) layout.stride = columns;
        const std::uint32_t dense = rows * layout.stride;
        if (layout.inner_stride == kDense) layout.inner_stride = d.inner_batch == 1 ? 0 : dense;
        if (layout.batch_stride == kDense) layout.batch_stride = std::max(dense, d.inner_batch * layout.inner_stride);
    };
    resolve(d.a, d.m, d.k);
    resolve(d.b, d.k, d.n);
    resolve(d.out, d.m, d.n);
    resolve(d.residual, d.m, d.n);
    return d;
}

/// Of Determinism::Exact: fp32, one ascending chain over k, then the epilogue.
void run_twin(const MatmulDesc& desc, const HostViews& views) {
    const MatmulDesc d = without_dense(desc);
    const FormatFloats of_a(views[0], d.a.format), of_b(views[1], d.b.format);
    const std::span<const float> left = of_a.values(), right = of_b.values();
    const auto bias = views.in<float>(2), residual = views.in<float>(3);
    const bool narrow = d.out.format != FloatFormat::F32;
    std::vector<float> sums(narrow ? std::size_t{d.batch} * d.m * d.n : 0);  // one of 16 bits is dense
    const std::span<float> out = narrow ? std::span(sums) : views.out<float>(4);
    const std::size_t a_step = d.a.transposed ? d.a.stride : 1, b_step = d.b.transposed ? 1 : d.b.stride;
    for_each_output(d, [&](const Index& at) {
        float sum = 0.0F;
        const std::size_t a_first = element_of(d, d.a, at.z, at.row, 0),
                          b_first = element_of(d, d.b, at.z, 0, at.column);
        for (std::size_t k = 0; k < d.k; ++k) {
            const float a = exact::exact_flush_operand(left[a_first + k * a_step]);
            const float b = exact::exact_flush_operand(right[b_first + k * b_step]);
            const float product = a * b;
            sum = sum + product;
        }
        if (d.has_bias) sum = sum + exact::exact_flush_operand(bias[bias_of(d, at)]);
        float value = exact::exact_activate(static_cast<std::uint32_t>(d.activation), sum);
        if (d.has_residual)
            value = value + exact::exact_flush_operand(residual[element_of(d, d.residual, at.z, at.row, at.column)]);
        out[out_element(d, at.z, at.row, at.column)] = value;
    });
    if (narrow) copy_wanted<std::uint32_t>(narrow_twin(d.out.format, sums), views.out<std::uint32_t>(4));
}
template struct Twin<MatmulDesc>;

}  // namespace yolk::reference
