// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/covariance.hpp"

#include <cmath>

#include "row_twin.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/reference/matmul.hpp"

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

std::vector<std::uint32_t> left_out_twin(const CovarianceDesc& desc, const std::vector<float>& sums) {
    std::vector<std::uint32_t> left_out(desc.blocks, 0);
    const std::size_t n = desc.n;
    for (std::size_t b = 0; b < desc.blocks && n > 0; ++b) {
        const float* const block = sums.data() + b * n * n;
        const float trace = row_sum_twin(n, [&](std::size_t k) { return exact_flush(block[k * (n + 1)]); });
        left_out[b] = std::isfinite(trace) ? 0 : 1;
    }
    return left_out;
}

std::vector<float> damped_twin(const CovarianceDesc& desc, const std::vector<float>& covariance) {
    std::vector<float> damped = covariance;
    const std::size_t n = desc.n;
    const auto weight = static_cast<float>(static_cast<double>(desc.damping) / desc.n);
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        float* block = damped.data() + b * n * n;
        const float trace = row_sum_twin(n, [&](std::size_t k) { return exact_flush(block[k * (n + 1)]); });
        const float weighted = trace * weight;
        const float shift = desc.damping_kind == CovarianceDamping::Relative ? exact_flush(weighted) : desc.damping;
        for (std::size_t k = 0; k < n; ++k) block[k * (n + 1)] += shift;
    }
    return damped;
}

}  // namespace

std::size_t covariance_element(const CovarianceDesc& desc, std::uint32_t block, std::uint32_t sample,
                               std::uint32_t column) {
    const std::size_t stride = desc.stride == kDense ? desc.n : desc.stride;
    const std::size_t block_stride = desc.block_stride == kDense ? desc.samples * stride : desc.block_stride;
    return desc.offset + block * block_stride + sample * stride + column;
}

CovarianceOutputs covariance_twin(const CovarianceDesc& desc, const CovarianceInputs& inputs) {
    MatmulDesc product{.m = desc.n, .n = desc.n, .k = desc.samples, .batch = desc.blocks};
    product.a = product.b = {.offset = desc.offset, .stride = desc.stride, .batch_stride = desc.block_stride};
    product.a.transposed = true;
    CovarianceOutputs out;
    out.covariance = matmul_twin(product, {.a = inputs.x, .b = inputs.x, .bias = {}, .residual = {}});
    const Weights weights = weights_of(desc, inputs.first);
    const auto decay = static_cast<float>(weights.decay);
    const auto weight = static_cast<float>(weights.fresh);
    if (desc.average) out.left_out = left_out_twin(desc, out.covariance);
    for (std::size_t i = 0; i < out.covariance.size(); ++i) {
        if (desc.average && out.left_out[i / (std::size_t{desc.n} * desc.n)] == 1) {
            out.covariance[i] = weights.keeps_old ? inputs.old[i] : 0.0F;
            continue;
        }
        const float fresh = out.covariance[i] * weight;
        float kept = 0.0F;
        if (weights.keeps_old) {
            const float old = exact_flush(inputs.old[i]) * decay;
            kept = exact_flush(old);
        }
        out.covariance[i] = kept + exact_flush(fresh);
    }
    if (desc.damping_kind != CovarianceDamping::None) out.damped = damped_twin(desc, out.covariance);
    return out;
}

}  // namespace yolk::reference
