// SPDX-License-Identifier: Apache-2.0
#include "yolk/reference/es_update.hpp"

#include <algorithm>
#include <cmath>

#include "yolk/core/noise.hpp"
#include "yolk/exact/exact_math.h"

namespace yolk::reference {

namespace {

NoiseStream stream_of(const NoiseContext& when, std::uint32_t parameter, Domain domain, std::size_t pair) {
    return {.seed = when.seed,
            .parameter = parameter,
            .domain = domain,
            .pair = static_cast<std::uint32_t>(pair),
            .time = when.time};
}

/// The first `count` elements of a stream.
std::vector<std::int32_t> elements_of(const NoiseStream& stream, std::uint64_t count) {
    std::vector<std::int32_t> elements(count);
    for (std::uint64_t first = 0; first < count; first += kNoiseElementsPerBlock) {
        const auto block = noise_block(stream, static_cast<std::uint32_t>(first / kNoiseElementsPerBlock));
        for (std::uint64_t i = first; i < std::min(count, first + kNoiseElementsPerBlock); ++i)
            elements[i] = block[i - first];
    }
    return elements;
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

/// sum[i] += over these pairs, of the parameter `id`.
void add_pairs(std::span<std::int64_t> sum, const EsUpdateDesc& desc, std::uint32_t id,
               std::span<const std::int8_t> weights, PairRange pairs, const NoiseContext& when) {
    const ParameterDesc& parameter = desc.parameters.parameters()[id];
    const std::uint32_t rank = rank_of(parameter, desc.rank);
    for (std::size_t pair = pairs.first; pair < std::size_t{pairs.first} + pairs.count; ++pair) {
        const std::int32_t weight = weights[pair];
        if (weight == 0) continue;
        if (parameter.perturbation == Perturbation::Vector) {
            const auto noise = elements_of(stream_of(when, id, Domain::Vector, pair), sum.size());
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += std::int64_t{weight} * noise[i];
        } else {
            const auto a = elements_of(stream_of(when, id, Domain::A, pair), std::uint64_t{parameter.rows} * rank);
            const auto b = elements_of(stream_of(when, id, Domain::B, pair), std::uint64_t{parameter.columns} * rank);
            add_low_rank(sum, parameter, rank, weight, a, b);
        }
    }
}

}  // namespace

std::vector<std::int64_t> es_update_sums_twin(const EsUpdateDesc& desc, std::span<const std::int8_t> weights,
                                              PairRange pairs, const NoiseContext& when) {
    std::vector<std::int64_t> sums(desc.parameters.element_count());
    for (std::uint32_t id = 0; id < desc.parameters.parameters().size(); ++id) {
        const ParameterDesc& parameter = desc.parameters.parameters()[id];
        if (parameter.perturbation == Perturbation::Frozen) continue;
        const std::uint32_t offset = desc.parameters.offset(ParameterId{id});
        add_pairs(std::span(sums).subspan(offset, elements_in(parameter)), desc, id, weights, pairs, when);
    }
    return sums;
}

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

std::vector<float> es_update_twin(const EsUpdateDesc& desc, std::span<const std::int8_t> weights,
                                  const abi::fitness::Summary& summary, const NoiseContext& when) {
    const PairRange all{.first = 0, .count = static_cast<std::uint32_t>(weights.size())};
    std::vector<float> gradient(desc.parameters.element_count());
    es_update_gradient(desc, es_update_sums_twin(desc, weights, all, when), summary, when, gradient);
    return gradient;
}

}  // namespace yolk::reference
