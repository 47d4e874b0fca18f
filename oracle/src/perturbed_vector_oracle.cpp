// SPDX-License-Identifier: Apache-2.0
#include "perturbed_vector_oracle.hpp"

#include <cmath>

#include "error_bounds.hpp"
#include "philox_oracle.hpp"
#include "yolk/core/noise.hpp"
#include "yolk/reference/noise.hpp"

namespace yolk::oracle {

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

std::vector<OracleValue> perturbed_vector_oracle(const PerturbedVectorDesc& desc, std::span<const float> vector,
                                                 const NoiseContext& when, std::int32_t first_member) {
    constexpr double kThreeRoundings = 3.0 * 0x1p-24 / (1.0 - 3.0 * 0x1p-24);
    std::vector<OracleValue> values;
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        const std::int32_t member = first_member + static_cast<std::int32_t>(m);
        for (std::uint32_t i = 0; i < desc.element_count; ++i) {
            const auto base = static_cast<double>(vector[i]);
            double term = 0.0;
            double dropped = std::abs(base) < kOperandFloor ? std::abs(base) : 0.0;
            if (takes_noise(desc, member)) {
                const double side = reference::is_plus_side(desc.antithetic, member) ? 1.0 : -1.0;
                term = side * static_cast<double>(when.sigma) * noise_f32_oracle(stream_of(desc, when, member), i);
                dropped += kOperandFloor * kNoiseMaximum;
            }
            values.push_back({base + term, kThreeRoundings * (std::abs(base) + std::abs(term)) + dropped});
        }
    }
    return values;
}

}  // namespace yolk::oracle
