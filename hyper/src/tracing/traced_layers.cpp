// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/traced_layers.hpp"

#include "tracer.hpp"

namespace yolk::hyper {
namespace {

Traced scaled_and_shifted(Traced x, const NormOptions& options, const Line& line) {
    if (options.scale) x = x * Located(*options.scale, line);
    if (options.shift) x = x + Located(*options.shift, line);
    return x;
}

}  // namespace

Traced layer_norm(const Traced& x, const NormOptions& options, Line line) {
    return scaled_and_shifted(apply("layer_norm", {x}, {{"epsilon", options.epsilon}}, line), options, line);
}
Traced rms_norm(const Traced& x, const NormOptions& options, Line line) {
    return scaled_and_shifted(apply("rms_norm", {x}, {{"epsilon", options.epsilon}}, line), options, line);
}

Traced gru_step(const GruWeights& weights, const Traced& x, const Traced& state, Line line) {
    const auto preactivation = [&](const Traced& input, const Traced& recurrent, const Traced& bias, const Traced& of) {
        const Traced sum = linear(input, x, line) + Located(linear(recurrent, of, line), line);
        return sum + Located(bias, line);
    };
    const Traced gate = sigmoid(preactivation(weights.gate_input, weights.gate_state, weights.gate_bias, state), line);
    const Traced gated = gate * Located(state, line);
    const Traced candidate =
        tanh(preactivation(weights.candidate_input, weights.candidate_state, weights.candidate_bias, gated), line);
    // This form keeps the state, bit by bit, where the gate is 0.
    const Traced step = gate * Located(candidate - Located(state, line), line);
    return state + Located(step, line);
}

}  // namespace yolk::hyper
