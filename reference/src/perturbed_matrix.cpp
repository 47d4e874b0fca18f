// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/perturbed_matrix.hpp"

#include <cmath>
#include <cstddef>

#include "yolk/core/noise.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/reference/noise.hpp"

namespace yolk::reference {

std::vector<float> perturbed_matrix_twin(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                         const NoiseContext& when, std::int32_t member) {
    const auto noise_of = [&](Domain domain, std::uint32_t count) {
        const NoiseStream stream{.seed = when.seed,
                                 .parameter = desc.parameter.value,
                                 .domain = domain,
                                 .pair = static_cast<std::uint32_t>(member) / (desc.antithetic ? 2 : 1),
                                 .time = when.time};
        return noise_i32_twin({.element_count = count * desc.rank, .pair_count = 1}, stream);
    };
    const std::vector<std::int32_t> a = noise_of(Domain::A, desc.out);
    const std::vector<std::int32_t> b = noise_of(Domain::B, desc.in);
    const double exact_scale =
        static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance;
    const float rounded = exact::exact_flush_operand(static_cast<float>(exact_scale));
    const float of_side = is_plus_side(desc.antithetic, member) ? rounded : -rounded;
    const float scale = member < 0 ? 0.0F : of_side;
    std::vector<float> formed(weights.size());
    std::vector<float> projection(desc.rank);
    for (std::size_t o = 0; o < desc.out; ++o) {
        for (std::size_t rho = 0; rho < desc.rank; ++rho)
            projection[rho] = exact::exact_flush_operand(static_cast<float>(a[o * desc.rank + rho]) * scale);
        for (std::size_t k = 0; k < desc.in; ++k) {
            float sum = 0.0F + exact::exact_flush_operand(weights[o * desc.in + k]);
            for (std::size_t rho = 0; rho < desc.rank; ++rho) {
                const float product = projection[rho] * static_cast<float>(b[k * desc.rank + rho]);
                sum = sum + product;
            }
            formed[o * desc.in + k] = sum;
        }
    }
    return formed;
}

}  // namespace yolk::reference
