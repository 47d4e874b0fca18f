// SPDX-License-Identifier: Apache-2.0
#include "yolk/hyper/traced_layers.hpp"

#include <cmath>
#include <utility>

#include "tracer.hpp"

namespace yolk::hyper {
namespace {

/// Far below any score: its exponential is 0, and unlike an infinity it stays finite where a row has nothing else.
constexpr double kUnseen = -1e30;

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

Traced causal_mask(std::uint32_t rows, std::uint32_t columns) {
    std::vector<float> seen(std::size_t{rows} * columns, 0.0F);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < columns; ++j) seen[i * columns + j] = j + rows <= i + columns ? 1.0F : 0.0F;
    }
    return Traced(Tensor::create({rows, columns}, std::move(seen)).value());
}

Traced attention(const Traced& q, const Traced& k, const Traced& v, bool causal, Line line) {
    const Shape shape = q.shape();  // what is not [..., n, d] is refused by matmul
    const double depth = shape.rank() == 0 ? 1.0 : static_cast<double>(shape[shape.rank() - 1]);
    Traced scores = matmul(q * Located(1.0 / std::sqrt(depth), line), transpose(k, line), line);
    if (const Shape square = scores.shape(); causal && square.rank() >= 2) {
        const auto rows = static_cast<std::uint32_t>(square[square.rank() - 2]);
        const auto columns = static_cast<std::uint32_t>(square[square.rank() - 1]);
        scores = where(causal_mask(rows, columns), scores, kUnseen, line);
    }
    return matmul(softmax(scores, -1, line), v, line);
}

}  // namespace yolk::hyper
