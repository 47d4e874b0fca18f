// SPDX-License-Identifier: Apache-2.0
#include "yolk/es_update.hpp"

#include <algorithm>
#include <cmath>

#include "twin_source.hpp"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/primitives/es_update_strips.hpp"
#include "yolk/internal/reference/member_streams.hpp"
#include "yolk/internal/reference/update_gradient.hpp"

namespace yolk::reference {

namespace {

std::vector<std::int32_t> pair_noise(const NoiseContext& when, std::uint32_t parameter, Domain domain, std::size_t pair,
                                     std::size_t count) {
    return noise_elements<std::int32_t>({.seed = when.seed,
                                         .parameter = parameter,
                                         .domain = domain,
                                         .pair = static_cast<std::uint32_t>(pair),
                                         .time = when.time},
                                        count);
}

std::uint64_t elements_in(const ParameterDesc& parameter) { return std::uint64_t{parameter.rows} * parameter.columns; }

/// sum += weight A B^T
void add_low_rank(std::span<std::int64_t> sum, const ParameterDesc& parameter, std::uint32_t rank, std::int32_t weight,
                  const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
    for (std::size_t row = 0; row < parameter.rows; ++row) {
        for (std::size_t column = 0; column < parameter.columns; ++column) {
            std::int64_t product = 0;
            for (std::size_t k = 0; k < rank; ++k) product += std::int64_t{a[row * rank + k]} * b[column * rank + k];
            sum[row * parameter.columns + column] += weight * product;
        }
    }
}

/// sum[i] += over the share's pairs, of the parameter `id`.
void add_pairs(std::span<std::int64_t> sum, const EsUpdateDesc& desc, std::uint32_t id,
               std::span<const std::int8_t> weights, const EsUpdateShare& share, const NoiseContext& when) {
    const ParameterDesc& parameter = desc.parameters.parameters()[id];
    const std::uint32_t rank = rank_of(parameter, desc.rank);
    const std::size_t all = desc.antithetic ? desc.population / 2 : desc.population;
    for (std::size_t pair = share.first_pair; pair < std::min(all, std::size_t{share.first_pair} + share.pair_count);
         ++pair) {
        const std::int32_t weight = weights[pair];
        if (weight == 0) continue;
        if (parameter.perturbation == Perturbation::Vector) {
            const auto noise = pair_noise(when, id, Domain::Vector, pair, sum.size());
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += std::int64_t{weight} * noise[i];
        } else {
            const auto a = pair_noise(when, id, Domain::A, pair, std::size_t{parameter.rows} * rank);
            const auto b = pair_noise(when, id, Domain::B, pair, std::size_t{parameter.columns} * rank);
            add_low_rank(sum, parameter, rank, weight, a, b);
        }
    }
}

/// Of all elements; zero for frozen parameters.
std::vector<std::int64_t> sums_of(const EsUpdateDesc& desc, std::span<const std::int8_t> weights,
                                  const EsUpdateShare& share, const NoiseContext& when) {
    std::vector<std::int64_t> sums(desc.parameters.element_count());
    for (std::uint32_t id = 0; id < desc.parameters.parameters().size(); ++id) {
        const ParameterDesc& parameter = desc.parameters.parameters()[id];
        if (parameter.perturbation == Perturbation::Frozen) continue;
        const std::uint32_t offset = desc.parameters.offset(ParameterId{id});
        add_pairs(std::span(sums).subspan(offset, elements_in(parameter)), desc, id, weights, share, when);
    }
    return sums;
}

/// Those of the share's strips, and where it begins with them all, of frozen parameters.
template <class T>
void write_share(const EsUpdateDesc& desc, const EsUpdateShare& share, std::span<const T> from, std::span<T> to) {
    const UpdateStrips strips(desc.parameters);
    const std::uint32_t count = std::min(share.strip_count, strips.count() - share.first_strip);
    const ElementSpan made = strips.elements(share.first_strip, count);
    const bool zeroes = share.first_strip == 0 && share.strip_count > 0;
    for (std::uint32_t id = 0; id < desc.parameters.parameters().size(); ++id) {
        const ParameterDesc& parameter = desc.parameters.parameters()[id];
        const bool is_frozen = parameter.perturbation == Perturbation::Frozen;
        const std::size_t first = desc.parameters.offset(ParameterId{id});
        for (std::size_t i = first; i < first + elements_in(parameter); ++i) {
            if (is_frozen ? zeroes : i >= made.first && i < std::size_t{made.first} + made.count) to[i] = from[i];
        }
    }
}

}  // namespace

void es_update_gradient(const EsUpdateDesc& desc, std::span<const std::int64_t> sums,
                        const abi::fitness::Summary& summary, const NoiseContext& when, std::span<float> gradient) {
    const double members = desc.population;
    const double scale = std::sqrt(members) / members * static_cast<double>(when.sigma);
    const auto matrix_factor = [&](const ParameterDesc& matrix) {
        return static_cast<float>(scale / std::sqrt(static_cast<double>(rank_of(matrix, desc.rank))) / kNoiseVariance);
    };
    const auto vector_factor = static_cast<float>(scale / std::sqrt(static_cast<double>(kNoiseVariance)));
    for (std::uint32_t id = 0; id < desc.parameters.parameters().size(); ++id) {
        const ParameterDesc& parameter = desc.parameters.parameters()[id];
        const std::size_t offset = desc.parameters.offset(ParameterId{id});
        const std::size_t end = offset + elements_in(parameter);
        if (parameter.perturbation == Perturbation::Frozen) {
            std::ranges::fill(gradient.subspan(offset, end - offset), 0.0F);
            continue;
        }
        const float factor = parameter.perturbation == Perturbation::Vector ? vector_factor : matrix_factor(parameter);
        const float step = exact::exact_flush(factor * summary.coefficient);
        // The conversion of a 64-bit integer rounds to nearest, ties to even.
        for (std::size_t i = offset; i < end; ++i) gradient[i] = exact::exact_flush(step * static_cast<float>(sums[i]));
    }
}

/// Of int8 weights: element by element in 64-bit integers, whatever the configuration. Floats have no twin.
void run_twin(const EsUpdateDesc& desc, const HostViews& views, const NoiseContext& when,
              OrDefault<EsUpdateShare> share) {
    if (desc.weights == FitnessWeights::F32) return;
    const std::vector<std::int64_t> sums = sums_of(desc, views.in<std::int8_t>(0), share.value, when);
    if (desc.output == EsUpdateOutput::Sums)
        return write_share<std::int64_t>(desc, share.value, sums, views.out<std::int64_t>(3));
    std::vector<float> gradient(sums.size());
    es_update_gradient(desc, sums, views.in<abi::fitness::Summary>(1)[0], when, gradient);
    write_share<float>(desc, share.value, gradient, views.out<float>(2));
}
template struct Twin<EsUpdateDesc>;

}  // namespace yolk::reference
