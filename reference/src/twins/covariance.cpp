// SPDX-License-Identifier: Apache-2.0
#include "yolk/covariance.hpp"

#include <algorithm>
#include <cmath>

#include "row_twin.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/reference/matrix_elements.hpp"
#include "yolk/matmul.hpp"

namespace yolk::reference {

namespace {

using exact::exact_flush;

struct Weights {
    bool keeps_old = false;
    double decay = 1.0;
    double fresh = 0.0;
};

Weights weights_of(const CovarianceDesc& desc, bool first) {
    Weights weights{.keeps_old = desc.average && !first};
    if (desc.samples == 0) return weights;
    weights.decay = desc.decay;
    weights.fresh = (weights.keeps_old ? 1.0 - weights.decay : 1.0) / desc.samples;
    return weights;
}

std::vector<std::uint32_t> left_out_twin(const CovarianceDesc& desc, std::span<const float> sums) {
    std::vector<std::uint32_t> left_out(desc.blocks, 0);
    const std::size_t n = desc.n;
    for (std::size_t b = 0; b < desc.blocks && n > 0; ++b) {
        const float* const block = sums.data() + b * n * n;
        const float trace = row_sum_twin(n, [&](std::size_t k) { return exact_flush(block[k * (n + 1)]); });
        left_out[b] = std::isfinite(trace) ? 0 : 1;
    }
    return left_out;
}

void damp(const CovarianceDesc& desc, std::span<const float> covariance, std::span<float> damped) {
    std::ranges::copy(covariance, damped.begin());
    const std::size_t n = desc.n;
    const auto weight = static_cast<float>(static_cast<double>(desc.damping) / desc.n);
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        float* block = damped.data() + b * n * n;
        const float trace = row_sum_twin(n, [&](std::size_t k) { return exact_flush(block[k * (n + 1)]); });
        const float weighted = trace * weight;
        const float shift = desc.damping_kind == CovarianceDamping::Relative ? exact_flush(weighted) : desc.damping;
        for (std::size_t k = 0; k < n; ++k) block[k * (n + 1)] += shift;
    }
}

}  // namespace

std::size_t covariance_element(const CovarianceDesc& desc, std::uint32_t block, std::uint32_t sample,
                               std::uint32_t column) {
    const std::size_t stride = desc.stride == kDense ? desc.n : desc.stride;
    const std::size_t block_stride = desc.block_stride == kDense ? desc.samples * stride : desc.block_stride;
    return desc.offset + block * block_stride + sample * stride + column;
}

/// Matmul's (an ascending chain over the samples), then the kernels' steps.
void run_twin(const CovarianceDesc& desc, const HostViews& views, OrDefault<bool> first) {
    MatmulDesc product{.m = desc.n, .n = desc.n, .k = desc.samples, .batch = desc.blocks};
    product.a = product.b = {.offset = desc.offset, .stride = desc.stride, .batch_stride = desc.block_stride};
    product.a.transposed = true;
    const auto covariance = views.out<float>(1), damped = views.out<float>(2);
    std::vector<float> sums(covariance.size());
    run_twin(product, {views[0], views[0], {}, {}, sums});
    const Weights weights = weights_of(desc, first.value);
    const auto decay = static_cast<float>(weights.decay);
    const auto weight = static_cast<float>(weights.fresh);
    const auto left_out = desc.average ? left_out_twin(desc, sums) : std::vector<std::uint32_t>();
    for (std::size_t i = 0; i < sums.size(); ++i) {
        if (desc.average && left_out[i / (std::size_t{desc.n} * desc.n)] == 1) {
            covariance[i] = weights.keeps_old ? covariance[i] : 0.0F;
            continue;
        }
        const float fresh = sums[i] * weight;
        float kept = 0.0F;
        if (weights.keeps_old) {
            const float old = exact_flush(covariance[i]) * decay;
            kept = exact_flush(old);
        }
        covariance[i] = kept + exact_flush(fresh);
    }
    if (!damped.empty()) damp(desc, covariance, damped);
    copy_wanted<std::uint32_t>(left_out, views.out<std::uint32_t>(3));
}
template struct Twin<CovarianceDesc>;

}  // namespace yolk::reference
