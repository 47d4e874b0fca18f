// SPDX-License-Identifier: Apache-2.0
#include "perturbed_embedding_oracle.hpp"

#include <cmath>

#include "error_bounds.hpp"
#include "philox_oracle.hpp"
#include "yolk/core/noise.hpp"
#include "yolk/reference/noise.hpp"

namespace yolk::oracle {

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
    return (reference::is_plus_side(desc.antithetic, member) ? 1.0 : -1.0) * static_cast<double>(when.sigma) /
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

std::vector<OracleValue> perturbed_embedding_oracle(const PerturbedEmbeddingDesc& desc, std::span<const float> weights,
                                                    std::span<const std::uint32_t> ids, const NoiseContext& when,
                                                    std::int32_t first_member) {
    const double roundings = (desc.rank + 3.0) * kFp32Rounding;
    const double depth = roundings / (1.0 - roundings);
    std::vector<OracleValue> values;
    for_each_row(desc, ids, first_member, [&](std::int32_t member, std::uint32_t id) {
        const double sigma = signed_sigma(desc, when, member);
        const NoiseStream a = stream_of(desc, when, Domain::A, member);
        const NoiseStream b = stream_of(desc, when, Domain::B, member);
        for (std::uint32_t j = 0; j < desc.columns; ++j) {
            if (id >= desc.table_rows) {
                values.push_back({0.0, 0.0});
                continue;
            }
            const auto weight = static_cast<double>(weights[std::size_t{id} * desc.columns + j]);
            OracleValue value{weight, 0.0};
            double norm = std::abs(weight);
            double dropped = std::abs(weight) < kOperandFloor ? std::abs(weight) : 0.0;
            for (std::uint32_t rho = 0; sigma != 0.0 && rho < desc.rank; ++rho) {
                const double term =
                    sigma * noise_f32_oracle(a, id * desc.rank + rho) * noise_f32_oracle(b, j * desc.rank + rho);
                value.value += term;
                norm += std::abs(term);
                // Either the scale is dropped, or t: each below the floor, times noise.
                dropped += kOperandFloor * kNoiseMaximum * kNoiseMaximum;
            }
            value.tolerance = depth * norm + dropped;
            values.push_back(value);
        }
    });
    return values;
}

}  // namespace yolk::oracle
