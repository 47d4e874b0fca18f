// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "yolk/covariance.hpp"
#include "yolk/internal/reference/formulas/matmul.hpp"
#include "yolk/internal/reference/row_sum.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

/// The index of X[block, sample, column] in its view.
[[nodiscard]] inline std::size_t covariance_element(const CovarianceDesc& desc, std::uint32_t block,
                                                    std::uint32_t sample, std::uint32_t column) {
    const std::size_t stride = desc.stride == kDense ? desc.n : desc.stride;
    const std::size_t block_stride = desc.block_stride == kDense ? desc.samples * stride : desc.block_stride;
    return desc.offset + block * block_stride + sample * stride + column;
}

/// The sum of the diagonal of an n x n block.
template <class Number>
[[nodiscard]] Number trace_of(std::span<const Number> block, std::size_t n) {
    return row_sum<Number>(n, [&](std::size_t k) { return flush(block[k * (n + 1)]); });
}

/// Adds the damping to the diagonals of the blocks.
template <class Number>
void damp(const CovarianceDesc& desc, std::span<Number> blocks) {
    const std::size_t n = desc.n;
    const Number weight = Number::rounded(static_cast<double>(desc.damping) / desc.n);
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        const std::span<Number> block = blocks.subspan(b * n * n, n * n);
        const Number weighted = flush(trace_of<Number>(block, n) * weight);
        const Number shift = desc.damping_kind == CovarianceDamping::Relative ? weighted : Number(desc.damping);
        for (std::size_t k = 0; k < n; ++k) block[k * (n + 1)] = block[k * (n + 1)] + shift;
    }
}

/// Matmul's, then the kernels' steps. A block whose trace is not finite is left out of an average.
template <class Number>
void formula(const CovarianceDesc& desc, const HostViews& views, OrDefault<bool> first) {
    const std::span<Number> covariance = views.out<Number>(1), damped = views.out<Number>(2);
    MatmulDesc product{.m = desc.n, .n = desc.n, .k = desc.samples, .batch = desc.blocks};
    product.a = product.b = {.offset = desc.offset, .stride = desc.stride, .batch_stride = desc.block_stride};
    product.a.transposed = true;
    std::vector<Number> sums(covariance.size());
    formula<Number>(product, {views[0], views[0], {}, {}, sums});

    const bool keeps_old = desc.average && !first.value;
    const double decay = desc.samples == 0 ? 1.0 : desc.decay;
    const double fresh = desc.samples == 0 ? 0.0 : (keeps_old ? 1.0 - decay : 1.0) / desc.samples;
    const Number of_old = Number::rounded(decay), of_fresh = Number::rounded(fresh);
    const std::size_t elements = std::size_t{desc.n} * desc.n;
    const std::span<std::uint32_t> left_out = views.out<std::uint32_t>(3);
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        const auto block = std::span<const Number>(sums).subspan(b * elements, elements);
        const bool is_out = desc.average && !is_finite(trace_of(block, desc.n));
        if (desc.average && !left_out.empty()) left_out[b] = is_out ? 1 : 0;
        for (std::size_t i = b * elements; i < (b + 1) * elements; ++i) {
            const Number old = keeps_old ? covariance[i] : Number();
            if (is_out) {
                covariance[i] = old;
                continue;
            }
            const Number kept = keeps_old ? flush(flush(old) * of_old) : Number();
            covariance[i] = kept + flush(sums[i] * of_fresh);
        }
    }
    if (damped.empty()) return;
    std::ranges::copy(covariance, damped.begin());
    damp(desc, damped);
}

}  // namespace yolk::reference
