// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/kronecker_precondition.hpp"

#include <cmath>
#include <limits>
#include <span>

#include "row_twin.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/reference/block_inverse.hpp"
#include "yolk/reference/matmul.hpp"

namespace yolk::reference {

namespace {

bool is_valid(float damping) { return std::isfinite(damping) && damping >= 0.0F; }
bool inverts(const KroneckerPreconditionDesc& desc) { return desc.factors == KroneckerFactors::Covariances; }

float mean_twin(std::span<const float> block, std::size_t n) {
    const float trace = row_sum_twin(n, [&](std::size_t k) { return exact::exact_flush(block[k * (n + 1)]); });
    const float mean = trace * static_cast<float>(1.0 / static_cast<double>(n));
    return exact::exact_flush(mean);
}

struct Dampings {
    std::vector<float> in;
    std::vector<float> out;
};

Dampings dampings_twin(const KroneckerPreconditionDesc& desc, const KroneckerInputs& inputs) {
    Dampings dampings;
    const auto is_usable = [](float mean) { return mean >= 0x1p-50F && mean <= 0x1p50F; };
    const std::size_t in_elements = std::size_t{desc.n_in} * desc.n_in;
    const std::size_t out_elements = std::size_t{desc.n_out} * desc.n_out;
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        const float in = mean_twin(std::span(inputs.factor_in).subspan(b * in_elements, in_elements), desc.n_in);
        const float out = mean_twin(std::span(inputs.factor_out).subspan(b * out_elements, out_elements), desc.n_out);
        float pi = 1.0F;
        if (is_usable(in) && is_usable(out)) {
            const float ratio = in * exact::exact_reciprocal(out);
            pi = exact::exact_sqrt(ratio);
        }
        const float root = is_valid(inputs.damping) ? std::sqrt(inputs.damping) : 0.0F;
        const float of_in = pi * root;
        const float of_out = exact::exact_reciprocal(pi) * root;
        constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
        dampings.in.push_back(is_valid(inputs.damping) ? exact::exact_flush(of_in) : kNone);
        dampings.out.push_back(is_valid(inputs.damping) ? exact::exact_flush(of_out) : kNone);
    }
    return dampings;
}

BlockInverseDesc inverse_of(std::uint32_t n, std::uint32_t blocks) {
    return {.n = n, .blocks = blocks, .damping_per_block = true, .retries = 0};
}

std::vector<float> product_twin(const KroneckerPreconditionDesc& desc, std::uint32_t k, const std::vector<float>& a,
                                const std::vector<float>& b) {
    return matmul_twin({.m = desc.n_out, .n = desc.n_in, .k = k, .batch = desc.blocks},
                       {.a = a, .b = b, .bias = {}, .residual = {}});
}

}  // namespace

KroneckerOutputs kronecker_precondition_twin(const KroneckerPreconditionDesc& desc, const KroneckerInputs& inputs) {
    KroneckerOutputs outputs;
    if (inputs.gradient.empty()) return outputs;
    if (!inverts(desc)) {
        const std::vector<float> left = product_twin(desc, desc.n_out, inputs.factor_out, inputs.gradient);
        outputs.step = product_twin(desc, desc.n_in, left, inputs.factor_in);
        return outputs;
    }
    const Dampings dampings = dampings_twin(desc, inputs);
    const BlockInverseOutputs in =
        block_inverse_twin(inverse_of(desc.n_in, desc.blocks), {inputs.factor_in, dampings.in});
    const BlockInverseOutputs out =
        block_inverse_twin(inverse_of(desc.n_out, desc.blocks), {inputs.factor_out, dampings.out});
    outputs.step = product_twin(desc, desc.n_in, product_twin(desc, desc.n_out, out.out, inputs.gradient), in.out);
    const std::size_t elements = std::size_t{desc.n_out} * desc.n_in;
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        const std::uint32_t failed = (is_inverted(in.status[b]) ? 0 : kKroneckerInFailed) |
                                     (is_inverted(out.status[b]) ? 0 : kKroneckerOutFailed);
        outputs.status.push_back(failed | (in.status[b] & 0xFFU) << 8U | (out.status[b] & 0xFFU) << 16U);
        for (std::size_t i = 0; i < elements && failed != 0; ++i) outputs.step[b * elements + i] = 0.0F;
    }
    return outputs;
}

}  // namespace yolk::reference
