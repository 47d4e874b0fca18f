// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/reference/formulas/perturbed_linear.hpp"

#include <cmath>
#include <cstddef>

#include "format_floats.hpp"
#include "twin_source.hpp"
#include "yolk/internal/reference/exact_number.hpp"

namespace yolk::reference {

/// Operands of 16 bits are widened.
void run_twin(const PerturbedLinearDesc& desc, const HostViews& views, const NoiseContext& when,
              OrDefault<std::int32_t> first_member) {
    const FormatFloats weights(views[0], desc.weights_format), input(views[1], desc.input_format);
    formula<Exact>(desc, {weights.values(), input.values(), views[2]}, when, first_member);
}
template struct Twin<PerturbedLinearDesc>;

std::vector<double> perturbed_weights(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                      const NoiseContext& when, std::int32_t member) {
    std::vector<double> formed(weights.begin(), weights.end());
    if (member < 0 || when.sigma == 0.0F) return formed;
    const double scale = (is_plus_side(desc.antithetic, member) ? 1.0 : -1.0) * static_cast<double>(when.sigma) /
                         std::sqrt(static_cast<double>(desc.rank));
    const double deviation = std::sqrt(static_cast<double>(kNoiseVariance));
    const std::vector<float> a = matrix_noise<float>(desc, when, Domain::A, member, desc.out);
    const std::vector<float> b = matrix_noise<float>(desc, when, Domain::B, member, desc.in);
    for (std::size_t o = 0; o < desc.out; ++o) {
        for (std::size_t k = 0; k < desc.in; ++k) {
            double dot = 0.0;
            for (std::size_t rho = 0; rho < desc.rank; ++rho)
                dot += a[o * desc.rank + rho] / deviation * (b[k * desc.rank + rho] / deviation);
            formed[o * desc.in + k] += scale * dot;
        }
    }
    return formed;
}

std::vector<float> perturbed_matrix(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                    const NoiseContext& when, std::int32_t member) {
    const std::vector<Exact> a = matrix_noise<Exact>(desc, when, Domain::A, member, desc.out);
    const std::vector<Exact> b = matrix_noise<Exact>(desc, when, Domain::B, member, desc.in);
    const Exact scale = low_rank_scale<Exact>(desc, when, member);
    std::vector<float> formed(weights.size());
    std::vector<Exact> projection(desc.rank);
    for (std::size_t o = 0; o < desc.out; ++o) {
        for (std::size_t rho = 0; rho < desc.rank; ++rho)
            projection[rho] = flush_operand(a[o * desc.rank + rho] * scale);
        for (std::size_t k = 0; k < desc.in; ++k) {
            Exact::Chain chain;
            chain.add(flush_operand(Exact(weights[o * desc.in + k])));
            for (std::size_t rho = 0; rho < desc.rank; ++rho) chain.add(projection[rho] * b[k * desc.rank + rho]);
            formed[o * desc.in + k] = chain.sum().value;
        }
    }
    return formed;
}

}  // namespace yolk::reference
