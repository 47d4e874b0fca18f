// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/reference/member_streams.hpp"
#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

/// sigma / sqrt(rank) with the member's side, for noise whose variance is 85; 0 for the mean.
template <class Number>
[[nodiscard]] Number low_rank_scale(const PerturbedLinearDesc& desc, const NoiseContext& when, std::int32_t member) {
    if (member < 0) return {};
    const double scale = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance;
    const Number rounded = flush_operand(Number::rounded(scale));
    return is_plus_side(desc.antithetic, member) ? rounded : -rounded;
}

/// W of a layer as rows that x is multiplied with: its own, transposed its columns.
template <class Number>
[[nodiscard]] std::vector<Number> product_rows(const PerturbedLinearDesc& desc, std::span<const Number> weights) {
    std::vector<Number> rows(weights.begin(), weights.end());
    for (std::size_t i = 0; desc.transposed && i < rows.size(); ++i)
        rows[i] = weights[i % desc.out * desc.in + i / desc.out];
    return rows;
}

/// Noise of a member's matrix, [count, rank].
template <class Number>
[[nodiscard]] std::vector<Number> matrix_noise(const PerturbedLinearDesc& desc, const NoiseContext& when, Domain domain,
                                               std::int32_t member, std::size_t count) {
    return noise_elements<Number>(member_stream(desc, when, domain, member), count * desc.rank);
}

/// x W^T, then x B times the scale, times A^T, in one chain; operands are numbers, whatever their formats.
template <class Number>
void formula(const PerturbedLinearDesc& desc, const HostViews& views, const NoiseContext& when,
             OrDefault<std::int32_t> first_member) {
    const std::size_t inner = desc.transposed ? desc.out : desc.in, outer = desc.transposed ? desc.in : desc.out;
    const std::vector<Number> matrix = product_rows(desc, views.in<Number>(0));
    const std::span<const Number> input = views.in<Number>(1);
    const std::span<Number> output = views.out<Number>(2);
    std::vector<Number> projection(desc.rank);
    std::vector<Number> of_inner, of_outer;  // of a member
    Number scale;
    const auto apply = [&](std::span<const Number> x, std::span<Number> y) {
        for (std::size_t rho = 0; rho < desc.rank; ++rho) {
            typename Number::Chain chain;
            for (std::size_t k = 0; k < inner; ++k) chain.add(flush_operand(x[k]) * of_inner[k * desc.rank + rho]);
            projection[rho] = flush_operand(chain.sum() * scale);
        }
        for (std::size_t o = 0; o < outer; ++o) {
            typename Number::Chain chain;
            for (std::size_t k = 0; k < inner; ++k)
                chain.add(flush_operand(x[k]) * flush_operand(matrix[o * inner + k]));
            for (std::size_t rho = 0; rho < desc.rank; ++rho)
                chain.add(projection[rho] * of_outer[o * desc.rank + rho]);
            y[o] = activated(desc.activation, chain.sum());
        }
    };
    for (std::size_t m = 0; m < desc.members; ++m) {
        const std::int32_t member = first_member.value + static_cast<std::int32_t>(m);
        of_inner = matrix_noise<Number>(desc, when, desc.transposed ? Domain::A : Domain::B, member, inner);
        of_outer = matrix_noise<Number>(desc, when, desc.transposed ? Domain::B : Domain::A, member, outer);
        scale = low_rank_scale<Number>(desc, when, member);
        for (std::size_t row = 0; row < desc.rows; ++row) {
            const std::size_t instance = m * desc.rows + row;
            apply(input.subspan((desc.shared_input ? row : instance) * inner, inner),
                  output.subspan(instance * outer, outer));
        }
    }
}

}  // namespace yolk::reference
