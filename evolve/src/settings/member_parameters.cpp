// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/evolve/member_parameters.hpp"

#include <algorithm>
#include <cmath>

#include "yolk/exact/exact_math.h"
#include "yolk/internal/core/noise.hpp"

namespace yolk::evolve {
namespace {

/// The first `count` elements of a stream.
std::vector<float> noise_of(const NoiseStream& stream, std::size_t count) {
    std::vector<float> noise;
    noise.reserve(count + kNoiseElementsPerBlock);
    for (std::uint32_t block = 0; noise.size() < count; ++block) {
        const auto elements = noise_block(stream, block);
        noise.insert(noise.end(), elements.begin(), elements.end());
    }
    noise.resize(count);
    return noise;
}

/// As the kernels' plans do it: in double, rounded once.
float scale_of(double scale, bool plus) {
    const float rounded = exact::exact_flush_operand(static_cast<float>(scale));
    return plus ? rounded : -rounded;
}

/// What a member's noise is drawn from, but for the parameter and the domain.
struct MemberNoise {
    NoiseStream stream;
    float sigma = 0.0F;
    bool plus = true;

    [[nodiscard]] std::vector<float> elements(Domain domain, std::size_t count) const {
        NoiseStream of_domain = stream;
        of_domain.domain = domain;
        return noise_of(of_domain, count);
    }
};

void add_vector_noise(const MemberNoise& member, std::span<float> values) {
    const float scale =
        scale_of(static_cast<double>(member.sigma) / std::sqrt(static_cast<double>(kNoiseVariance)), member.plus);
    const std::vector<float> noise = member.elements(Domain::Vector, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float product = scale * noise[i];
        values[i] = values[i] + product;
    }
}

void add_low_rank_noise(const MemberNoise& member, std::size_t rank, std::size_t rows, std::span<float> values) {
    const std::size_t columns = values.size() / rows;
    const float scale = scale_of(
        static_cast<double>(member.sigma) / std::sqrt(static_cast<double>(rank)) / kNoiseVariance, member.plus);
    const std::vector<float> a = member.elements(Domain::A, rows * rank);
    const std::vector<float> b = member.elements(Domain::B, columns * rank);
    for (std::size_t row = 0; row < rows; ++row) {
        const std::span<float> to = values.subspan(row * columns, columns);
        for (std::size_t rho = 0; rho < rank; ++rho) {
            const float scaled = exact::exact_flush_operand(scale * a[row * rank + rho]);
            for (std::size_t column = 0; column < columns; ++column) {
                const float product = scaled * b[column * rank + rho];
                to[column] = to[column] + product;
            }
        }
    }
}

}  // namespace

Result<std::vector<float>> member_parameters(const ParameterTable& table, std::span<const float> parameters,
                                             const NoiseContext& when, std::uint32_t rank, bool antithetic,
                                             std::int32_t member) {
    if (parameters.size() != table.element_count()) {
        return bad_input("There are {} parameter elements; the table has {}.", parameters.size(),
                         table.element_count());
    }
    if (rank < 1 || rank > kMaxRank) return bad_input("The rank is {}; 1 to {} are allowed.", rank, kMaxRank);
    if (member < -1) return bad_input("The member is {}; members count from 0, and -1 is the mean.", member);
    std::vector<float> values(parameters.size());
    std::ranges::transform(parameters, values.begin(), exact::exact_flush_operand);
    if (member < 0) return values;
    const auto pair = static_cast<std::uint32_t>(member) / (antithetic ? 2 : 1);
    MemberNoise noise{.stream = {.seed = when.seed, .pair = pair, .time = when.time},
                      .sigma = when.sigma,
                      .plus = !antithetic || member % 2 == 0};
    for (std::uint32_t id = 0; id < table.parameters().size(); ++id) {
        const ParameterDesc& parameter = table.parameters()[id];
        const std::span<float> of_parameter =
            std::span(values).subspan(table.offset(ParameterId{id}), std::size_t{parameter.rows} * parameter.columns);
        noise.stream.parameter = id;
        if (parameter.perturbation == Perturbation::Vector) add_vector_noise(noise, of_parameter);
        if (parameter.perturbation == Perturbation::LowRank)
            add_low_rank_noise(noise, rank_of(parameter, rank), parameter.rows, of_parameter);
    }
    return values;
}

}  // namespace yolk::evolve
