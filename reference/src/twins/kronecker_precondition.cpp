// SPDX-License-Identifier: Apache-2.0
#include "yolk/kronecker_precondition.hpp"

#include <cmath>
#include <limits>
#include <span>

#include "twin_source.hpp"
#include "yolk/block_inverse.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/reference/row_sum.hpp"
#include "yolk/matmul.hpp"

namespace yolk::reference {

namespace {

bool is_valid(float damping) { return std::isfinite(damping) && damping >= 0.0F; }
bool inverts(const KroneckerPreconditionDesc& desc) { return desc.factors == KroneckerFactors::Covariances; }

float mean_twin(std::span<const float> block, std::size_t n) {
    const float trace = row_sum<float>(n, [&](std::size_t k) { return exact::exact_flush(block[k * (n + 1)]); });
    const float mean = trace * static_cast<float>(1.0 / static_cast<double>(n));
    return exact::exact_flush(mean);
}

struct Dampings {
    std::vector<float> in;
    std::vector<float> out;
};

Dampings dampings_twin(const KroneckerPreconditionDesc& desc, std::span<const float> factor_out,
                       std::span<const float> factor_in, float damping) {
    Dampings dampings;
    const auto is_usable = [](float mean) { return mean >= 0x1p-50F && mean <= 0x1p50F; };
    const std::size_t in_elements = std::size_t{desc.n_in} * desc.n_in;
    const std::size_t out_elements = std::size_t{desc.n_out} * desc.n_out;
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        const float in = mean_twin(factor_in.subspan(b * in_elements, in_elements), desc.n_in);
        const float out = mean_twin(factor_out.subspan(b * out_elements, out_elements), desc.n_out);
        float pi = 1.0F;
        if (is_usable(in) && is_usable(out)) {
            const float ratio = in * exact::exact_reciprocal(out);
            pi = exact::exact_sqrt(ratio);
        }
        const float root = is_valid(damping) ? std::sqrt(damping) : 0.0F;
        const float of_in = pi * root;
        const float of_out = exact::exact_reciprocal(pi) * root;
        constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
        dampings.in.push_back(is_valid(damping) ? exact::exact_flush(of_in) : kNone);
        dampings.out.push_back(is_valid(damping) ? exact::exact_flush(of_out) : kNone);
    }
    return dampings;
}

struct Inverses {
    std::vector<float> out;
    std::vector<std::uint32_t> status;
};

Inverses inverses_of(std::uint32_t n, std::uint32_t blocks, const HostView& factors,
                     const std::vector<float>& dampings) {
    Inverses made{std::vector<float>(std::size_t{blocks} * n * n), std::vector<std::uint32_t>(blocks)};
    run_twin(BlockInverseDesc{.n = n, .blocks = blocks, .damping_per_block = true, .retries = 0},
             {factors, dampings, made.out, made.status});
    return made;
}

/// left gradient right
void multiply(const KroneckerPreconditionDesc& desc, const HostView& left, const HostViews& views,
              const HostView& right) {
    const std::span<float> step = views.out<float>(3);
    std::vector<float> half(step.size());
    const MatmulDesc product{.m = desc.n_out, .n = desc.n_in, .k = desc.n_out, .batch = desc.blocks};
    run_twin(product, {left, views[2], {}, {}, half});
    MatmulDesc second = product;
    second.k = desc.n_in;
    run_twin(second, {half, right, {}, {}, step});
}

}  // namespace

/// Of the dampings, block_inverse's, matmul's.
void run_twin(const KroneckerPreconditionDesc& desc, const HostViews& views, float damping) {
    const std::span<float> step = views.out<float>(3);
    if (step.empty()) return;
    if (!inverts(desc)) return multiply(desc, views[0], views, views[1]);
    const Dampings dampings = dampings_twin(desc, views.in<float>(0), views.in<float>(1), damping);
    const Inverses in = inverses_of(desc.n_in, desc.blocks, views[1], dampings.in);
    const Inverses out = inverses_of(desc.n_out, desc.blocks, views[0], dampings.out);
    multiply(desc, out.out, views, in.out);
    const auto status = views.out<std::uint32_t>(4);
    const std::size_t elements = std::size_t{desc.n_out} * desc.n_in;
    for (std::size_t b = 0; b < desc.blocks; ++b) {
        const std::uint32_t failed = (is_inverted(in.status[b]) ? 0 : kKroneckerInFailed) |
                                     (is_inverted(out.status[b]) ? 0 : kKroneckerOutFailed);
        if (!status.empty()) status[b] = failed | (in.status[b] & 0xFFU) << 8U | (out.status[b] & 0xFFU) << 16U;
        if (failed != 0) std::ranges::fill(step.subspan(b * elements, elements), 0.0F);
    }
}
template struct Twin<KroneckerPreconditionDesc>;

}  // namespace yolk::reference
