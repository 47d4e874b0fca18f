// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_vector.hpp"

#include <cmath>

#include "member_streams.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/reference/member_weights.hpp"

namespace yolk::reference {

void run_twin(const PerturbedVectorDesc& desc, const HostViews& views, const NoiseContext& when,
              OrDefault<std::int32_t> first_member) {
    const auto vector = views.in<float>(0);
    const auto output = views.out<float>(1);
    const double exact_scale = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(kNoiseVariance));
    const float rounded = exact::exact_flush_operand(static_cast<float>(exact_scale));
    const std::size_t count = desc.element_count;
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        const std::int32_t member = first_member.value + static_cast<std::int32_t>(m);
        const float side = is_plus_side(desc.antithetic, member) ? rounded : -rounded;
        const float scale = desc.frozen || member < 0 ? 0.0F : side;
        const auto noise = noise_elements<float>(member_stream(desc, when, Domain::Vector, member), count);
        for (std::size_t i = 0; i < count; ++i) {
            const float product = scale * noise[i];
            output[m * count + i] = exact::exact_flush_operand(vector[i]) + product;
        }
    }
}
template struct Twin<PerturbedVectorDesc>;

}  // namespace yolk::reference
