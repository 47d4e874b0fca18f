// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>

#include "error_bounds.hpp"
#include "matmul_oracle.hpp"
#include "perturbation_oracle.hpp"
#include "philox_oracle.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/oracle/perturbed_linear.hpp"
#include "yolk/internal/reference/member_weights.hpp"

namespace yolk::oracle {

namespace {

/// Columns of x, and of the output.
std::uint32_t inner(const PerturbedLinearDesc& desc) { return desc.transposed ? desc.out : desc.in; }
std::uint32_t outer(const PerturbedLinearDesc& desc) { return desc.transposed ? desc.in : desc.out; }

/// Row o of what x is multiplied with: a row of W, transposed a column.
template <class T>
std::vector<T> row_of(const PerturbedLinearDesc& desc, std::span<const T> weights, std::size_t o) {
    std::vector<T> row(inner(desc));
    for (std::size_t k = 0; k < row.size(); ++k)
        row[k] = desc.transposed ? weights[k * desc.in + o] : weights[o * desc.in + k];
    return row;
}

std::span<const float> input_row(const PerturbedLinearDesc& desc, std::span<const float> input, std::uint32_t m,
                                 std::uint32_t row) {
    const std::size_t index = desc.shared_input ? row : std::size_t{m} * desc.rows + row;
    return input.subspan(index * inner(desc), inner(desc));
}

struct OracleDot {
    double sum = 0.0;
    double norm = 0.0;
    double dropped = 0.0;  // terms of operands below the operand rule's floor
};

OracleDot oracle_dot(std::span<const float> x, std::span<const float> weights, std::span<const double> values,
                     std::span<const double> magnitudes) {
    OracleDot dot;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const double magnitude = std::abs(static_cast<double>(x[k]));
        const double weight = std::abs(static_cast<double>(weights[k]));
        dot.sum += static_cast<double>(x[k]) * values[k];
        dot.norm += magnitude * magnitudes[k];
        if (magnitude < kOperandFloor) dot.dropped += magnitude * magnitudes[k];
        if (weight < kOperandFloor) dot.dropped += magnitude * weight;
    }
    return dot;
}

}  // namespace

MemberWeights member_weights(const PerturbedLinearDesc& desc, std::span<const float> weights, const NoiseContext& when,
                             std::int32_t member) {
    MemberWeights formed{{weights.begin(), weights.end()}, {weights.begin(), weights.end()}};
    for (double& magnitude : formed.magnitudes) magnitude = std::abs(magnitude);
    const double scale = member_sigma(desc, when, member);
    if (scale == 0.0) return formed;
    const NoiseStream a_stream = stream_of(desc, when, Domain::A, member);
    const NoiseStream b_stream = stream_of(desc, when, Domain::B, member);
    std::vector<double> a(std::size_t{desc.out} * desc.rank);
    std::vector<double> b(std::size_t{desc.in} * desc.rank);
    for (std::uint32_t i = 0; i < a.size(); ++i) a[i] = noise_f32_oracle(a_stream, i);
    for (std::uint32_t i = 0; i < b.size(); ++i) b[i] = noise_f32_oracle(b_stream, i);
    for (std::size_t o = 0; o < desc.out; ++o) {
        for (std::size_t k = 0; k < desc.in; ++k) {
            double dot = 0.0;
            double norm = 0.0;
            for (std::size_t rho = 0; rho < desc.rank; ++rho) {
                const double term = a[o * desc.rank + rho] * b[k * desc.rank + rho];
                dot += term;
                norm += std::abs(term);
            }
            formed.values[o * desc.in + k] += scale * dot;
            formed.magnitudes[o * desc.in + k] += std::abs(scale) * norm;
        }
    }
    return formed;
}

PerturbedLinearOracle perturbed_linear_oracle(const PerturbedLinearDesc& desc, std::span<const float> weights,
                                              std::span<const float> input, const NoiseContext& when,
                                              std::int32_t first_member) {
    // A term meets its product's rounding, at most as many additions as x has columns, the rounding of the scale and of
    // its product, that of the product with A, and `rank` additions: each at most a factor 1 + 2^-24 (Higham, Accuracy
    // and Stability, lemma 3.1).
    const double roundings = (static_cast<double>(inner(desc)) + desc.rank + 4.0) * kFp32Rounding;
    const double depth = roundings / (1.0 - roundings);
    PerturbedLinearOracle oracle;
    oracle.values.resize(std::size_t{desc.members} * desc.rows * outer(desc));
    oracle.tolerances.resize(oracle.values.size());
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        const std::int32_t member = first_member + static_cast<std::int32_t>(m);
        const MemberWeights formed = member_weights(desc, weights, when, member);
        // A projection below the floor is dropped, too, and would have met an element of A.
        const double dropped_projection = member < 0 ? 0.0 : kOperandFloor * desc.rank * kNoiseMaximum;
        for (std::size_t o = 0; o < outer(desc); ++o) {
            const std::vector<float> weight_row = row_of(desc, weights, o);
            const std::vector<double> values = row_of(desc, std::span<const double>(formed.values), o);
            const std::vector<double> magnitudes = row_of(desc, std::span<const double>(formed.magnitudes), o);
            for (std::uint32_t row = 0; row < desc.rows; ++row) {
                const OracleDot dot = oracle_dot(input_row(desc, input, m, row), weight_row, values, magnitudes);
                const std::size_t index = (std::size_t{m} * desc.rows + row) * outer(desc) + o;
                const ActivationOracle active = activation_oracle(desc.activation, dot.sum);
                oracle.values[index] = active.value;
                oracle.tolerances[index] =
                    active.slope * (depth * dot.norm + dot.dropped + dropped_projection) + active.error;
            }
        }
    }
    return oracle;
}

}  // namespace yolk::oracle
