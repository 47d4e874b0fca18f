// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "philox_oracle.hpp"
#include "rollout_oracle.hpp"
#include "yolk/internal/core/noise.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"
#include "yolk/internal/reference/member_weights.hpp"

namespace yolk::oracle {

namespace {

constexpr double kHiddenError = 1.3e-6;      // exact_tanh's stated bound, and what it flushes
constexpr double kFastHiddenError = 1.2e-4;  // fast_tanh's (policy_network.glsl)
// Of normalized observations (docs/environments.md).
constexpr double kMostObserved = 32768.0;
constexpr double kMostNormalized = 10.0;

double noise_value(const NoiseContext& when, std::size_t parameter, Domain domain, std::uint32_t pair,
                   std::size_t index) {
    return noise_f32_oracle({.seed = when.seed,
                             .parameter = static_cast<std::uint32_t>(parameter),
                             .domain = domain,
                             .pair = pair,
                             .time = when.time},
                            static_cast<std::uint32_t>(index));
}

std::vector<double> noise_values(const NoiseContext& when, std::size_t parameter, Domain domain, std::uint32_t pair,
                                 std::size_t count) {
    std::vector<double> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = noise_value(when, parameter, domain, pair, i);
    return values;
}

}  // namespace

PolicyOracle::PolicyOracle(const RolloutDesc& desc, std::span<const float> parameters, const NoiseContext& when,
                           std::uint32_t member)
    : rank_(desc.rank),
      recurrent_(desc.network.recurrent),
      tanh_error_(desc.determinism == Determinism::Exact ? kHiddenError : kFastHiddenError) {
    const auto table = desc.parameters.parameters();
    const double side = reference::is_plus_side(desc.antithetic, static_cast<std::int32_t>(member)) ? 1.0 : -1.0;
    const double signed_sigma = desc.mean_only ? 0.0 : side * static_cast<double>(when.sigma);
    const std::uint32_t pair = desc.antithetic ? member / 2 : member;
    for (std::size_t p = 0; p < desc.network.layer_parameters(); p += 2) {
        Layer layer;
        layer.inputs = table[p].columns;
        layer.outputs = table[p].rows;
        const std::size_t weight_count = std::size_t{layer.inputs} * layer.outputs;
        const auto weights = parameters.first(weight_count);
        const auto biases = parameters.subspan(weight_count, layer.outputs);
        parameters = parameters.subspan(weight_count + layer.outputs);
        layer.weights.assign(weights.begin(), weights.end());
        layer.biases.assign(biases.begin(), biases.end());
        for (const double weight : layer.weights) layer.magnitudes.push_back(std::abs(weight));
        const double matrix_sigma = table[p].perturbation == Perturbation::Frozen ? 0.0 : signed_sigma;
        if (matrix_sigma != 0.0) {
            const auto a = noise_values(when, p, Domain::A, pair, std::size_t{layer.outputs} * rank_);
            const auto b = noise_values(when, p, Domain::B, pair, std::size_t{layer.inputs} * rank_);
            const double scale = matrix_sigma / std::sqrt(static_cast<double>(rank_));
            for (std::size_t w = 0; w < weight_count; ++w) {
                for (std::size_t r = 0; r < rank_; ++r) {
                    const double term = scale * a[w / layer.inputs * rank_ + r] * b[w % layer.inputs * rank_ + r];
                    layer.weights[w] += term;
                    layer.magnitudes[w] += std::abs(term);
                }
            }
        }
        const double vector_sigma = table[p + 1].perturbation == Perturbation::Frozen ? 0.0 : signed_sigma;
        for (std::size_t o = 0; o < layer.outputs; ++o) {
            const double shift =
                vector_sigma == 0.0 ? 0.0 : vector_sigma * noise_value(when, p + 1, Domain::Vector, pair, o);
            layer.bias_magnitudes.push_back(std::abs(layer.biases[o]) + std::abs(shift));
            layer.biases[o] += shift;
        }
        layers_.push_back(std::move(layer));
    }
    if (!desc.network.normalized) return;
    const std::size_t values = desc.network.widths.front();
    shifts_.assign(parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(values));
    const auto scales = parameters.subspan(values, values);
    scales_.assign(scales.begin(), scales.end());
}

std::vector<RolloutValue> PolicyOracle::apply(const Layer& layer, std::span<const RolloutValue> inputs) const {
    // A term meets at most: its product's rounding, the additions of its projection (inputs), the scale's own rounding
    // and its product's, the product with A, and the additions of the chain (inputs, rank columns); the bias its
    // scale's and product's and one addition more. Fused multiply-adds only leave roundings out.
    const double roundings = 2.0 * layer.inputs + rank_ + 6.0;
    const double depth = roundings * kFp32Rounding / (1.0 - roundings * kFp32Rounding);
    std::vector<RolloutValue> outputs(layer.outputs);
    for (std::size_t o = 0; o < layer.outputs; ++o) {
        double sum = layer.biases[o];
        double norm = layer.bias_magnitudes[o];
        double carried = 0.0;
        for (std::size_t i = 0; i < layer.inputs; ++i) {
            const std::size_t w = o * layer.inputs + i;
            sum += inputs[i].value * layer.weights[w];
            norm += (std::abs(inputs[i].value) + inputs[i].tolerance) * layer.magnitudes[w];
            carried += inputs[i].tolerance * layer.magnitudes[w];
        }
        // The operand rule may drop every weight, the bias, and each projection before its product with an element of
        // A.
        double dropped = kOperandFloor * (1.0 + rank_ * kNoiseMaximum);
        for (const RolloutValue& input : inputs) dropped += kOperandFloor * std::abs(input.value);
        outputs[o] = {sum, depth * norm + carried + dropped};
    }
    return outputs;
}

std::vector<RolloutValue> PolicyOracle::inputs(std::span<const float> observation) const {
    std::vector<RolloutValue> units;
    for (std::size_t i = 0; i < observation.size(); ++i) {
        const double value = observation[i];
        const double flushed = std::abs(value) < kOperandFloor ? kOperandFloor : 0.0;
        if (shifts_.empty()) {
            units.push_back({value, flushed});
            continue;
        }
        // A rounding of the difference and one of the product; the operand rule may drop the value, the difference and
        // the result.
        const double centred = std::clamp(value, -kMostObserved, kMostObserved) - shifts_[i];
        const double normalized = std::clamp(centred * scales_[i], -kMostNormalized, kMostNormalized);
        const double rounded = 2.0 * kFp32Rounding * (1.0 + kFp32Rounding) * std::abs(centred * scales_[i]);
        units.push_back({std::isfinite(value) ? normalized : 0.0,
                         rounded + (flushed + kOperandFloor) * std::abs(scales_[i]) + kOperandFloor});
    }
    return units;
}

namespace {

/// tanh' is at most 1.
void apply_tanh(std::span<RolloutValue> units, double error) {
    for (RolloutValue& unit : units) unit = {std::tanh(unit.value), unit.tolerance + error};
}

/// The error of one fp32 result of about that size, which may be flushed.
double rounded(double magnitude) { return kFp32Rounding * magnitude + kOperandFloor; }

/// The bound of a product of both.
double carried(const RolloutValue& a, const RolloutValue& b) {
    return std::abs(a.value) * b.tolerance + (std::abs(b.value) + b.tolerance) * a.tolerance;
}

/// A gate is half of a tanh's half argument, and a half: one rounding of a number below 1.
RolloutValue gate_of(const RolloutValue& sum, double tanh_error) {
    return {1.0 / (1.0 + std::exp(-sum.value)), 0.25 * sum.tolerance + 0.5 * tanh_error + rounded(1.0)};
}

RolloutValue product_of(const RolloutValue& gate, const RolloutValue& memory) {
    const double product = gate.value * memory.value;
    return {product, carried(gate, memory) + rounded(std::abs(product))};
}

/// memory + gate (candidate - memory): both weights are between 0 and 1. Three roundings, each of a number of at most
/// both magnitudes.
RolloutValue next_of(const RolloutValue& gate, const RolloutValue& memory, const RolloutValue& candidate) {
    const double difference = candidate.value - memory.value;
    const double magnitude = std::abs(memory.value) + std::abs(candidate.value);
    const double moved = gate.value * candidate.tolerance + (1.0 - gate.value) * memory.tolerance +
                         gate.tolerance * (std::abs(difference) + candidate.tolerance + memory.tolerance);
    return {memory.value + gate.value * difference, moved + 3.0 * rounded(magnitude)};
}

std::vector<RolloutValue> joined(std::span<const RolloutValue> first, std::span<const RolloutValue> second) {
    std::vector<RolloutValue> all(first.begin(), first.end());
    all.insert(all.end(), second.begin(), second.end());
    return all;
}

}  // namespace

std::vector<RolloutValue> given_values(std::span<const float> values) {
    std::vector<RolloutValue> given;
    for (const float value : values) given.push_back({value, 0.0});
    return given;
}

std::vector<RolloutValue> PolicyOracle::next_memory(std::span<const RolloutValue> observation,
                                                    std::span<const RolloutValue> memory) const {
    std::vector<RolloutValue> gates, gated, next;
    for (const RolloutValue& sum : apply(layers_[0], joined(observation, memory)))
        gates.push_back(gate_of(sum, tanh_error_));
    for (std::size_t u = 0; u < recurrent_; ++u) gated.push_back(product_of(gates[u], memory[u]));
    std::vector<RolloutValue> candidates = apply(layers_[1], joined(observation, gated));
    apply_tanh(candidates, tanh_error_);
    for (std::size_t u = 0; u < recurrent_; ++u) next.push_back(next_of(gates[u], memory[u], candidates[u]));
    return next;
}

PolicyOracle::Step PolicyOracle::step(std::span<const float> observation, std::span<const RolloutValue> memory) const {
    std::vector<RolloutValue> units = inputs(observation);
    Step step;
    if (recurrent_ != 0) units = step.memory = next_memory(units, memory);
    for (std::size_t layer = recurrent_ == 0 ? 0 : 2; layer < layers_.size(); ++layer) {
        units = apply(layers_[layer], units);
        if (layer + 1 < layers_.size()) apply_tanh(units, tanh_error_);
    }
    step.outputs = std::move(units);
    return step;
}

}  // namespace yolk::oracle
