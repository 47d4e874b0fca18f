// SPDX-License-Identifier: Apache-2.0
#include "matmul_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "error_bounds.hpp"
#include "exact_math_table.hpp"
#include "yolk/internal/reference/matrix_elements.hpp"

namespace yolk::oracle {

namespace {

double sigmoid(double x) { return x < 0.0 ? std::exp(x) / (1.0 + std::exp(x)) : 1.0 / (1.0 + std::exp(-x)); }

struct Index {
    std::uint32_t z = 0, row = 0, column = 0;
};

template <class Visit>
void for_each_output(const MatmulDesc& d, Visit visit) {
    for (std::uint32_t z = 0; z < d.batch; ++z) {
        for (std::uint32_t row = 0; row < d.m; ++row) {
            for (std::uint32_t column = 0; column < d.n; ++column) visit(Index{z, row, column});
        }
    }
}

std::size_t bias_of(const MatmulDesc& d, const Index& at) {
    return d.bias_offset + (d.bias_per_matrix ? std::size_t{at.z} * d.n : 0) + at.column;
}

struct Dot {
    double sum = 0.0;
    double norm = 0.0;
    double dropped = 0.0;
};

/// Sums and magnitudes of all outputs, k outermost and descending.
std::vector<Dot> dots_of(const MatmulDesc& d, const MatmulGiven& inputs) {
    std::vector<Dot> dots(std::size_t{d.batch} * d.m * d.n);
    for (std::uint32_t k = d.k; k-- > 0;) {
        std::size_t i = 0;
        for_each_output(d, [&](const Index& at) {
            const double a = inputs.a[reference::element_of(d, d.a, at.z, at.row, k)];
            const double b = inputs.b[reference::element_of(d, d.b, at.z, k, at.column)];
            Dot& dot = dots[i++];
            dot.sum += a * b;
            dot.norm += std::abs(a * b);
            if (std::abs(a) < kOperandFloor || std::abs(b) < kOperandFloor) dot.dropped += std::abs(a * b);
        });
    }
    return dots;
}

}  // namespace

ActivationOracle activation_oracle(Activation activation, double x) {
    switch (activation) {
        case Activation::Identity: return {x, 1.0, 0.0};
        case Activation::Relu: return {std::max(x, 0.0), 1.0, 0.0};
        case Activation::Tanh: return {std::tanh(x), 1.0, 1.2e-6};
        case Activation::Sigmoid: return {sigmoid(x), 0.25, 2.5e-7 * sigmoid(x) + 1e-29};
        case Activation::Silu: return {x * sigmoid(x), 1.1, 1e-29 + 2.7e-7 * std::abs(x * sigmoid(x))};
        case Activation::Gelu: {
            const OracleValue gelu = gelu_oracle(x);
            return {gelu.value, 1.13, gelu.tolerance};
        }
    }
    return {};
}

std::vector<OracleValue> matmul_oracle(const MatmulDesc& desc, const MatmulGiven& inputs) {
    const MatmulDesc d = reference::without_dense(desc);
    const std::vector<Dot> dots = dots_of(d, inputs);
    // A term meets its product's rounding and at most k + 1 additions, the bias's included (Higham, Accuracy and
    // Stability of Numerical Algorithms, lemma 3.1), in whatever order they are made; the residual one more.
    const double roundings = (static_cast<double>(d.k) + 2.0) * kFp32Rounding;
    const double depth = roundings / (1.0 - roundings);
    std::vector<OracleValue> values;
    std::size_t i = 0;
    for_each_output(d, [&](const Index& at) {
        Dot dot = dots[i++];
        if (d.has_bias) {
            const double bias = inputs.bias[bias_of(d, at)];
            dot.sum += bias;
            dot.norm += std::abs(bias);
            if (std::abs(bias) < kOperandFloor) dot.dropped += std::abs(bias);
        }
        const ActivationOracle active = activation_oracle(d.activation, dot.sum);
        OracleValue value{active.value, active.slope * (depth * dot.norm + dot.dropped) + active.error};
        if (d.has_residual) {
            const double residual = inputs.residual[reference::element_of(d, d.residual, at.z, at.row, at.column)];
            value.value += residual;
            value.tolerance = value.tolerance * (1.0 + kFp32Rounding) + kFp32Rounding * std::abs(value.value) +
                              (std::abs(residual) < kOperandFloor ? std::abs(residual) : 0.0);
        }
        // Products below the smallest normal number may be flushed in `Fast`, each by at most that.
        value.tolerance += static_cast<double>(d.k) * 0x1p-126;
        values.push_back(value);
    });
    return values;
}

}  // namespace yolk::oracle
