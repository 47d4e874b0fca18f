// SPDX-License-Identifier: Apache-2.0
#include "yolk/matmul_i8.hpp"

#include "twin_source.hpp"
#include "yolk/internal/reference/matrix_elements.hpp"

namespace yolk::reference {

namespace {

void resolve(RowsLayout& layout, std::uint32_t rows, std::uint32_t length, std::uint32_t batch) {
    if (layout.stride == kDense) layout.stride = length;
    if (layout.batch_stride == kDense) layout.batch_stride = rows * layout.stride;
    if (batch <= 1) layout.batch_stride = 0;
}

/// As a device reads them: four bytes of one word.
std::uint32_t word_at(std::span<const std::int8_t> bytes, std::size_t first) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i) word |= std::uint32_t{static_cast<std::uint8_t>(bytes[first + i])} << (8 * i);
    return word;
}

std::int32_t byte_of(std::uint32_t word, std::uint32_t i) {
    return static_cast<std::int8_t>(static_cast<std::uint8_t>(word >> (8 * i)));
}

}  // namespace

std::size_t element_of(const RowsLayout& layout, std::uint32_t z, std::uint32_t row, std::uint32_t column) {
    return layout.offset + std::size_t{z} * layout.batch_stride + std::size_t{row} * layout.stride + column;
}
std::size_t out_element(const MatmulI8Desc& desc, std::uint32_t z, std::uint32_t row, std::uint32_t column) {
    return element_of(desc.out, z, row, column);
}

MatmulI8Desc without_dense(const MatmulI8Desc& desc) {
    MatmulI8Desc resolved = desc;
    const std::uint32_t length = (desc.k + 3) / 4 * 4;
    resolve(resolved.a, desc.m, length, desc.batch);
    resolve(resolved.b, desc.n, length, desc.batch);
    resolve(resolved.out, desc.m, desc.n, desc.batch);
    return resolved;
}

/// Word by word, products in int32.
void run_twin(const MatmulI8Desc& desc, const HostViews& views) {
    const MatmulI8Desc d = without_dense(desc);
    const auto a = views.in<std::int8_t>(0), b = views.in<std::int8_t>(1);
    const auto out = views.out<std::int32_t>(2);
    for (std::uint32_t z = 0; z < d.batch; ++z) {
        for (std::uint32_t i = 0; i < d.m; ++i) {
            for (std::uint32_t j = 0; j < d.n; ++j) {
                std::int32_t sum = 0;
                for (std::uint32_t k = 0; k < d.k; k += 4) {
                    const std::uint32_t left = d.k - k;
                    const std::uint32_t mask = left < 4 ? (1U << (8 * left)) - 1 : UINT32_MAX;
                    const std::uint32_t a_word = word_at(a, element_of(d.a, z, i, k)) & mask;
                    const std::uint32_t b_word = word_at(b, element_of(d.b, z, j, k));
                    for (std::uint32_t q = 0; q < 4; ++q) sum += byte_of(a_word, q) * byte_of(b_word, q);
                }
                out[out_element(d, z, i, j)] = sum;
            }
        }
    }
}
template struct Twin<MatmulI8Desc>;

}  // namespace yolk::reference
