// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_linear.hpp"

#include <cmath>
#include <cstddef>

#include "format_floats.hpp"
#include "member_streams.hpp"
#include "twin_source.hpp"
#include "yolk/exact/exact_activations.h"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/reference/member_weights.hpp"

namespace yolk::reference {

namespace {

/// Columns of x, and of the output.
std::uint32_t inner(const PerturbedLinearDesc& desc) { return desc.transposed ? desc.out : desc.in; }
std::uint32_t outer(const PerturbedLinearDesc& desc) { return desc.transposed ? desc.in : desc.out; }

/// The columns of W, one after the other.
std::vector<float> columns_of(const PerturbedLinearDesc& desc, std::span<const float> weights) {
    std::vector<float> columns;
    columns.reserve(weights.size());
    for (std::size_t column = 0; column < desc.in; ++column) {
        for (std::size_t row = 0; row < desc.out; ++row) columns.push_back(weights[row * desc.in + column]);
    }
    return columns;
}

std::span<const float> input_row(const PerturbedLinearDesc& desc, std::span<const float> input, std::uint32_t m,
                                 std::uint32_t row) {
    const std::size_t index = desc.shared_input ? row : std::size_t{m} * desc.rows + row;
    return input.subspan(index * inner(desc), inner(desc));
}

/// Noise of a member's matrix, [count, rank].
std::vector<float> noise_matrix(const PerturbedLinearDesc& desc, const NoiseContext& when, Domain domain,
                                std::int32_t member, std::size_t count) {
    return noise_elements<float>(member_stream(desc, when, domain, member), count * desc.rank);
}

// x B, times +-scale: the operands of the second half.
std::vector<float> project_twin(const PerturbedLinearDesc& desc, std::span<const float> x, std::span<const float> b,
                                float scale) {
    std::vector<float> projection(desc.rank);
    for (std::uint32_t rho = 0; rho < desc.rank; ++rho) {
        float sum = 0.0F;
        for (std::size_t k = 0; k < x.size(); ++k) {
            const float product = exact::exact_flush_operand(x[k]) * b[k * desc.rank + rho];
            sum = sum + product;
        }
        projection[rho] = exact::exact_flush_operand(sum * scale);
    }
    return projection;
}

float output_twin(std::span<const float> x, std::span<const float> weights, std::span<const float> projection,
                  std::span<const float> a) {
    float sum = 0.0F;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const float product = exact::exact_flush_operand(x[k]) * exact::exact_flush_operand(weights[k]);
        sum = sum + product;
    }
    for (std::size_t rho = 0; rho < projection.size(); ++rho) {
        const float product = projection[rho] * a[rho];
        sum = sum + product;
    }
    return sum;
}

float twin_scale(const PerturbedLinearDesc& desc, const NoiseContext& when, std::int32_t member) {
    if (member < 0) return 0.0F;
    const double scale = static_cast<double>(when.sigma) / std::sqrt(static_cast<double>(desc.rank)) / kNoiseVariance;
    const float rounded = exact::exact_flush_operand(static_cast<float>(scale));
    return is_plus_side(desc.antithetic, member) ? rounded : -rounded;
}

}  // namespace

void run_twin(const PerturbedLinearDesc& desc, const HostViews& views, const NoiseContext& when,
              OrDefault<std::int32_t> first_member) {
    const FormatFloats weights(views[0], desc.weights_format), input(views[1], desc.input_format);
    const std::vector<float> columns = desc.transposed ? columns_of(desc, weights.values()) : std::vector<float>();
    const std::span<const float> lines = desc.transposed ? columns : weights.values();
    float* next = views.out<float>(2).data();
    const Domain of_inner = desc.transposed ? Domain::A : Domain::B;
    const Domain of_outer = desc.transposed ? Domain::B : Domain::A;
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        const std::int32_t member = first_member.value + static_cast<std::int32_t>(m);
        const std::vector<float> a = noise_matrix(desc, when, of_outer, member, outer(desc));
        const std::vector<float> b = noise_matrix(desc, when, of_inner, member, inner(desc));
        for (std::uint32_t row = 0; row < desc.rows; ++row) {
            const std::span<const float> x = input_row(desc, input.values(), m, row);
            const std::vector<float> projection = project_twin(desc, x, b, twin_scale(desc, when, member));
            for (std::size_t o = 0; o < outer(desc); ++o) {
                const float sum = output_twin(x, lines.subspan(o * inner(desc), inner(desc)), projection,
                                              std::span(a).subspan(o * desc.rank, desc.rank));
                *next++ = exact::exact_activate(static_cast<std::uint32_t>(desc.activation), sum);
            }
        }
    }
}
template struct Twin<PerturbedLinearDesc>;

std::vector<double> perturbed_weights(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                      const NoiseContext& when, std::int32_t member) {
    std::vector<double> formed(weights.begin(), weights.end());
    if (member < 0 || when.sigma == 0.0F) return formed;
    const double scale = (is_plus_side(desc.antithetic, member) ? 1.0 : -1.0) * static_cast<double>(when.sigma) /
                         std::sqrt(static_cast<double>(desc.rank));
    const double deviation = std::sqrt(static_cast<double>(kNoiseVariance));
    const std::vector<float> a = noise_matrix(desc, when, Domain::A, member, desc.out);
    const std::vector<float> b = noise_matrix(desc, when, Domain::B, member, desc.in);
    for (std::size_t o = 0; o < desc.out; ++o) {
        for (std::size_t k = 0; k < desc.in; ++k) {
            double dot = 0.0;
            for (std::size_t rho = 0; rho < desc.rank; ++rho)
                dot += a[o * desc.rank + rho] / deviation * (b[k * desc.rank + rho] / deviation);
            formed[o * desc.in + k] += scale * dot;
        }
    }
    return formed;
}

std::vector<float> perturbed_matrix(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                    const NoiseContext& when, std::int32_t member) {
    const std::vector<float> a = noise_matrix(desc, when, Domain::A, member, desc.out);
    const std::vector<float> b = noise_matrix(desc, when, Domain::B, member, desc.in);
    const float scale = twin_scale(desc, when, member);
    std::vector<float> formed(weights.size());
    std::vector<float> projection(desc.rank);
    for (std::size_t o = 0; o < desc.out; ++o) {
        for (std::size_t rho = 0; rho < desc.rank; ++rho)
            projection[rho] = exact::exact_flush_operand(a[o * desc.rank + rho] * scale);
        for (std::size_t k = 0; k < desc.in; ++k) {
            float sum = 0.0F + exact::exact_flush_operand(weights[o * desc.in + k]);
            for (std::size_t rho = 0; rho < desc.rank; ++rho) {
                const float product = projection[rho] * b[k * desc.rank + rho];
                sum = sum + product;
            }
            formed[o * desc.in + k] = sum;
        }
    }
    return formed;
}

}  // namespace yolk::reference
