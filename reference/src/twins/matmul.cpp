// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/reference/formulas/matmul.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "format_floats.hpp"
#include "twin_source.hpp"
#include "yolk/internal/reference/exact_number.hpp"

namespace yolk::reference {

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

/// Of Determinism::Exact. Operands of 16 bits are widened, and an output of them, which is dense, is narrowed.
void run_twin(const MatmulDesc& desc, const HostViews& views) {
    const FormatFloats a(views[0], desc.a.format), b(views[1], desc.b.format);
    const bool narrow = desc.out.format != FloatFormat::F32;
    std::vector<float> sums(narrow ? std::size_t{desc.batch} * desc.m * desc.n : 0);
    formula<Exact>(desc, {a.values(), b.values(), views[2], views[3], narrow ? HostView(sums) : views[4]});
    if (narrow) copy_wanted<std::uint32_t>(narrow_twin(desc.out.format, sums), views.out<std::uint32_t>(4));
}
template struct Twin<MatmulDesc>;

}  // namespace yolk::reference
