// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "yolk/internal/reference/member_streams.hpp"
#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/internal/reference/out_of_range.hpp"
#include "yolk/perturbed_embedding.hpp"
#include "yolk/twin.hpp"

namespace yolk::reference {

template <class Number>
void formula(const PerturbedEmbeddingDesc& desc, const HostViews& views, const NoiseContext& when,
             OrDefault<std::int32_t> first_member) {
    const auto weights = views.in<Number>(0);
    const auto ids = views.in<std::uint32_t>(1);
    const auto output = views.out<Number>(2);
    const auto size = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance;
    const auto noise = [](const NoiseStream& stream, std::uint32_t element) {
        return Number(static_cast<float>(noise_element(stream, element)));
    };
    for (std::size_t row = 0; !output.empty() && row < std::size_t{desc.members} * desc.rows; ++row) {
        const std::uint32_t id = ids[desc.shared_ids ? row % desc.rows : row];
        const auto out = output.subspan(row * desc.columns, desc.columns);
        if (id >= desc.table_rows) {
            std::ranges::fill(out, Number());
            continue;
        }
        const std::int32_t member = first_member.value + static_cast<std::int32_t>(row / desc.rows);
        const Number side = flush_operand(Number::rounded(is_plus_side(desc.antithetic, member) ? size : -size));
        const Number scale = member < 0 ? Number() : side;
        const NoiseStream a = member_stream(desc, when, Domain::A, member);
        const NoiseStream b = member_stream(desc, when, Domain::B, member);
        for (std::uint32_t j = 0; j < desc.columns; ++j) {
            Number sum = flush_operand(weights[std::size_t{id} * desc.columns + j]);
            for (std::uint32_t rho = 0; rho < desc.rank; ++rho) {
                const Number scaled = flush_operand(scale * noise(a, id * desc.rank + rho));
                sum = sum + scaled * noise(b, j * desc.rank + rho);
            }
            out[j] = sum;
        }
    }
    if (!output.empty()) count_out_of_range(ids, desc.table_rows, desc.shared_ids ? desc.members : 1, views[3]);
}

}  // namespace yolk::reference
