// SPDX-License-Identifier: Apache-2.0
#include "es_update_oracle.hpp"

#include <cmath>

#include "philox_oracle.hpp"
#include "yolk/internal/core/noise.hpp"

namespace yolk::oracle {

namespace {

NoiseStream stream_of_pair(const NoiseContext& when, std::uint32_t parameter, Domain domain, std::size_t pair) {
    return {.seed = when.seed,
            .parameter = parameter,
            .domain = domain,
            .pair = static_cast<std::uint32_t>(pair),
            .time = when.time};
}

std::uint64_t elements_in(const ParameterDesc& parameter) { return std::uint64_t{parameter.rows} * parameter.columns; }

struct Perturbed {
    double value = 0.0;
    double magnitude = 0.0;  ///< sum of the magnitudes of its terms
};

/// Element `index` of the perturbation E of a parameter, at unit variance, from the noise of oracles.
Perturbed perturbation_element(const EsUpdateDesc& desc, std::uint32_t id, std::size_t pair, std::size_t index,
                               const NoiseContext& when) {
    const ParameterDesc& parameter = desc.parameters.parameters()[id];
    if (parameter.perturbation == Perturbation::Vector) {
        const double noise =
            noise_f32_oracle(stream_of_pair(when, id, Domain::Vector, pair), static_cast<std::uint32_t>(index));
        return {noise, std::abs(noise)};
    }
    const std::size_t row = index / parameter.columns;
    const std::size_t column = index % parameter.columns;
    const std::size_t rank = parameter.rank != 0 ? parameter.rank : desc.rank;
    Perturbed sum;
    for (std::size_t k = rank; k-- > 0;) {
        const double a =
            noise_f32_oracle(stream_of_pair(when, id, Domain::A, pair), static_cast<std::uint32_t>(row * rank + k));
        const double b =
            noise_f32_oracle(stream_of_pair(when, id, Domain::B, pair), static_cast<std::uint32_t>(column * rank + k));
        const double term = a * b / std::sqrt(static_cast<double>(rank));
        sum.value += term;
        sum.magnitude += std::abs(term);
    }
    return sum;
}

}  // namespace

EsUpdateOracle es_update_oracle(const EsUpdateDesc& desc, std::span<const double> weights, double coefficient,
                                const NoiseContext& when) {
    EsUpdateOracle oracle{.gradient = std::vector<double>(desc.parameters.element_count()),
                          .magnitude = std::vector<double>(desc.parameters.element_count())};
    const double members = desc.population;
    for (std::size_t pair = weights.size(); pair-- > 0;) {
        for (std::uint32_t id = 0; id < desc.parameters.parameters().size(); ++id) {
            const ParameterDesc& parameter = desc.parameters.parameters()[id];
            if (parameter.perturbation == Perturbation::Frozen) continue;
            const std::uint32_t offset = desc.parameters.offset(ParameterId{id});
            for (std::size_t i = elements_in(parameter); i-- > 0;) {
                const Perturbed e = perturbation_element(desc, id, pair, i, when);
                // Member + has fitness w/2 and perturbation +sigma E, member - has fitness -w/2 and -sigma E; without
                // antithetic sampling the one member has w.
                const double fitness = coefficient * weights[pair] / 2.0;
                const double scale = static_cast<double>(when.sigma) * std::sqrt(members) / members;
                oracle.gradient[offset + i] += (fitness * e.value + -fitness * -e.value) * scale;
                oracle.magnitude[offset + i] += 2.0 * std::abs(fitness) * e.magnitude * scale;
            }
        }
    }
    return oracle;
}

}  // namespace yolk::oracle
