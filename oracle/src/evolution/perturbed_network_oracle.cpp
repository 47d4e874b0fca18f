// SPDX-License-Identifier: Apache-2.0
#include "perturbed_network_oracle.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

#include "error_bounds.hpp"
#include "matmul_oracle.hpp"
#include "perturbation_oracle.hpp"
#include "philox_oracle.hpp"
#include "yolk/internal/core/noise.hpp"

namespace yolk::oracle {
namespace {

/// What a member has of a layer.
struct MemberLayer {
    std::span<const float> weights;
    MemberWeights formed;
    std::vector<OracleValue> biases;  // none: empty
    std::uint32_t in = 0, out = 0, rank = 0;
    Activation activation = Activation::Identity;
    bool is_mean = false;
};

/// Roundings of the scale, of its product and of the sum; the operand rule may drop the bias, and the scale.
std::vector<OracleValue> member_biases(const PerturbedLinearDesc& whose, std::span<const float> biases,
                                       const NoiseContext& when, std::int32_t member) {
    std::vector<OracleValue> formed;
    PerturbedLinearDesc unscaled = whose;
    unscaled.rank = 1;
    const double sigma = member_sigma(unscaled, when, member);
    for (std::uint32_t i = 0; i < biases.size(); ++i) {
        const double term =
            sigma == 0.0 ? 0.0 : sigma * noise_f32_oracle(stream_of(whose, when, Domain::Vector, member), i);
        const double norm = std::abs(static_cast<double>(biases[i])) + std::abs(term);
        formed.push_back({biases[i] + term, 4 * kFp32Rounding * norm + kOperandFloor * (1 + kNoiseMaximum)});
    }
    return formed;
}

MemberLayer member_layer(const PerturbedNetworkDesc& desc, const NetworkValues& given, std::size_t layer,
                         const NoiseContext& when, std::int32_t member) {
    PerturbedLinearDesc linear{.in = desc.widths[layer],
                               .out = desc.widths[layer + 1],
                               .rank = desc.rank,
                               .parameter = desc.weights[layer],
                               .antithetic = desc.antithetic};
    MemberLayer made{.weights = given.weights[layer],
                     .formed = member_weights(linear, given.weights[layer], when, member),
                     .biases = {},
                     .in = linear.in,
                     .out = linear.out,
                     .rank = desc.rank,
                     .activation = desc.activations[layer],
                     .is_mean = member < 0};
    linear.parameter = desc.bias_vectors[layer];
    made.biases = member_biases(linear, given.biases[layer], when, member);
    return made;
}

/// Output o, before its bias. As perturbed_linear_oracle, with operands that are off themselves.
OracleValue dot_of(const MemberLayer& layer, std::span<const OracleValue> x, std::size_t o) {
    const double roundings = (layer.in + layer.rank + 4.0) * kFp32Rounding;
    const double depth = roundings / (1.0 - roundings);
    OracleValue dot;
    for (std::size_t k = 0; k < x.size(); ++k) {
        const std::size_t at = o * layer.in + k;
        const double most = std::abs(x[k].value) + x[k].tolerance;
        const double weight = std::abs(static_cast<double>(layer.weights[at]));
        const double magnitude = layer.formed.magnitudes[at];
        dot.value += x[k].value * layer.formed.values[at];
        dot.tolerance += depth * most * magnitude + x[k].tolerance * magnitude;
        if (std::abs(x[k].value) - x[k].tolerance < kOperandFloor) dot.tolerance += kOperandFloor * magnitude;
        if (weight < kOperandFloor) dot.tolerance += most * weight;
    }
    if (!layer.is_mean) dot.tolerance += kOperandFloor * layer.rank * kNoiseMaximum;
    return dot;
}

std::vector<OracleValue> apply_layer(const MemberLayer& layer, std::span<const OracleValue> x) {
    std::vector<OracleValue> values;
    for (std::size_t o = 0; o < layer.out; ++o) {
        OracleValue sum = dot_of(layer, x, o);
        if (!layer.biases.empty()) {
            const OracleValue& bias = layer.biases[o];
            sum.tolerance += bias.tolerance;
            sum.tolerance += kFp32Rounding * (std::abs(sum.value) + std::abs(bias.value) + sum.tolerance);
            sum.value += bias.value;
        }
        const ActivationOracle active = activation_oracle(layer.activation, sum.value);
        values.push_back({active.value, active.slope * sum.tolerance + active.error});
    }
    return values;
}

}  // namespace

std::vector<OracleValue> perturbed_network_oracle(const PerturbedNetworkDesc& desc, const NetworkValues& given,
                                                  const NoiseContext& when, std::int32_t first_member) {
    std::vector<OracleValue> outputs;
    const std::size_t in = desc.widths.front();
    for (std::uint32_t m = 0; m < desc.members; ++m) {
        const std::int32_t member = first_member + static_cast<std::int32_t>(m);
        std::vector<MemberLayer> layers;
        for (std::size_t l = 0; l < desc.layers(); ++l) layers.push_back(member_layer(desc, given, l, when, member));
        for (std::uint32_t row = 0; row < desc.rows; ++row) {
            const std::size_t index = desc.shared_input ? row : std::size_t{m} * desc.rows + row;
            std::vector<OracleValue> values;
            for (std::size_t k = 0; k < in; ++k) values.push_back({given.input[index * in + k], 0.0});
            for (const MemberLayer& layer : layers) values = apply_layer(layer, values);
            outputs.insert(outputs.end(), values.begin(), values.end());
        }
    }
    return outputs;
}

}  // namespace yolk::oracle
