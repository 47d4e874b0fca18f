// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/perturbed_embedding.hpp"

#include <cmath>

#include "yolk/core/noise.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/reference/noise.hpp"

namespace yolk::reference {

namespace {

NoiseStream stream_of(const PerturbedEmbeddingDesc& desc, const NoiseContext& when, Domain domain,
                      std::int32_t member) {
    return {.seed = when.seed,
            .parameter = desc.parameter.value,
            .domain = domain,
            .pair = static_cast<std::uint32_t>(member) / (desc.antithetic ? 2 : 1),
            .time = when.time};
}

/// sigma / sqrt(r), with its side; 0 for the mean.
double signed_sigma(const PerturbedEmbeddingDesc& desc, const NoiseContext& when, std::int32_t member) {
    if (member < 0) return 0.0;
    return (is_plus_side(desc.antithetic, member) ? 1.0 : -1.0) * static_cast<double>(when.sigma) /
           std::sqrt(static_cast<double>(desc.rank));
}

/// Calls `visit(member, id)` for all rows of all members, in the order of the output.
template <class Visit>
void for_each_row(const PerturbedEmbeddingDesc& desc, std::span<const std::uint32_t> ids, std::int32_t first_member,
                  Visit&& visit) {
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        for (std::uint32_t row = 0; row < desc.rows; ++row) {
            const std::size_t index = (desc.shared_ids ? 0 : std::size_t{m} * desc.rows) + row;
            visit(first_member + static_cast<std::int32_t>(m), ids[index]);
        }
    }
}

}  // namespace

std::vector<float> perturbed_embedding_twin(const PerturbedEmbeddingDesc& desc, std::span<const float> weights,
                                            std::span<const std::uint32_t> ids, const NoiseContext& when,
                                            std::int32_t first_member) {
    std::vector<float> output;
    for_each_row(desc, ids, first_member, [&](std::int32_t member, std::uint32_t id) {
        const double exact_scale = signed_sigma(desc, when, member) / kNoiseVariance;
        const float scale = exact::exact_flush_operand(static_cast<float>(exact_scale));
        const NoiseStream a = stream_of(desc, when, Domain::A, member);
        const NoiseStream b = stream_of(desc, when, Domain::B, member);
        for (std::uint32_t j = 0; j < desc.columns; ++j) {
            if (id >= desc.table_rows) {
                output.push_back(0.0F);
                continue;
            }
            float sum = exact::exact_flush_operand(weights[std::size_t{id} * desc.columns + j]);
            for (std::uint32_t rho = 0; rho < desc.rank; ++rho) {
                const float scaled = scale * static_cast<float>(noise_element(a, id * desc.rank + rho));
                const float product =
                    exact::exact_flush_operand(scaled) * static_cast<float>(noise_element(b, j * desc.rank + rho));
                sum = sum + product;
            }
            output.push_back(sum);
        }
    });
    return output;
}

}  // namespace yolk::reference
