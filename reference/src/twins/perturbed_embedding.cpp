// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_embedding.hpp"

#include <algorithm>
#include <cmath>

#include "member_streams.hpp"
#include "out_of_range.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/reference/member_weights.hpp"

namespace yolk::reference {

namespace {

/// sigma / sqrt(r), with its side; 0 for the mean.
double signed_sigma(const PerturbedEmbeddingDesc& desc, const NoiseContext& when, std::int32_t member) {
    if (member < 0) return 0.0;
    return (is_plus_side(desc.antithetic, member) ? 1.0 : -1.0) * static_cast<double>(when.sigma) /
           std::sqrt(static_cast<double>(desc.rank));
}

}  // namespace

void run_twin(const PerturbedEmbeddingDesc& desc, const HostViews& views, const NoiseContext& when,
              OrDefault<std::int32_t> first_member) {
    const auto weights = views.in<float>(0);
    const auto ids = views.in<std::uint32_t>(1);
    const auto output = views.out<float>(2);
    for (std::size_t row = 0; !output.empty() && row < std::size_t{desc.members} * desc.rows; ++row) {
        const std::uint32_t id = ids[desc.shared_ids ? row % desc.rows : row];
        const auto out = output.subspan(row * desc.columns, desc.columns);
        if (id >= desc.table_rows) {
            std::ranges::fill(out, 0.0F);
            continue;
        }
        const std::int32_t member = first_member.value + static_cast<std::int32_t>(row / desc.rows);
        const double exact_scale = signed_sigma(desc, when, member) / kNoiseVariance;
        const float scale = exact::exact_flush_operand(static_cast<float>(exact_scale));
        const NoiseStream a = member_stream(desc, when, Domain::A, member);
        const NoiseStream b = member_stream(desc, when, Domain::B, member);
        for (std::uint32_t j = 0; j < desc.columns; ++j) {
            float sum = exact::exact_flush_operand(weights[std::size_t{id} * desc.columns + j]);
            for (std::uint32_t rho = 0; rho < desc.rank; ++rho) {
                const float scaled = scale * static_cast<float>(noise_element(a, id * desc.rank + rho));
                const float product =
                    exact::exact_flush_operand(scaled) * static_cast<float>(noise_element(b, j * desc.rank + rho));
                sum = sum + product;
            }
            out[j] = sum;
        }
    }
    if (!output.empty()) count_out_of_range(ids, desc.table_rows, desc.shared_ids ? desc.members : 1, views[3]);
}
template struct Twin<PerturbedEmbeddingDesc>;

}  // namespace yolk::reference
