// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/perturbed_vector.hpp"

#include <cmath>

#include "yolk/core/noise.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/reference/noise.hpp"

namespace yolk::reference {

namespace {

NoiseStream stream_of(const PerturbedVectorDesc& desc, const NoiseContext& when, std::int32_t member) {
    return {.seed = when.seed,
            .parameter = desc.parameter.value,
            .domain = Domain::Vector,
            .pair = static_cast<std::uint32_t>(member) / (desc.antithetic ? 2 : 1),
            .time = when.time};
}

bool takes_noise(const PerturbedVectorDesc& desc, std::int32_t member) { return !desc.frozen && member >= 0; }

}  // namespace

std::vector<float> perturbed_vector_twin(const PerturbedVectorDesc& desc, std::span<const float> vector,
                                         const NoiseContext& when, std::int32_t first_member) {
    const double exact_scale = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(kNoiseVariance));
    const float rounded = exact::exact_flush_operand(static_cast<float>(exact_scale));
    std::vector<float> output;
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        const std::int32_t member = first_member + static_cast<std::int32_t>(m);
        const float side = is_plus_side(desc.antithetic, member) ? rounded : -rounded;
        const float scale = takes_noise(desc, member) ? side : 0.0F;
        const NoiseDesc noise{.element_count = desc.element_count, .pair_count = 1};
        const std::vector<std::int32_t> integers = noise_i32_twin(noise, stream_of(desc, when, member));
        for (std::uint32_t i = 0; i < desc.element_count; ++i) {
            const float product = scale * static_cast<float>(integers[i]);
            output.push_back(exact::exact_flush_operand(vector[i]) + product);
        }
    }
    return output;
}

}  // namespace yolk::reference
