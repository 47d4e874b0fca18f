// SPDX-License-Identifier: Apache-2.0
#include "06_kfac_task.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>
#include <utility>

namespace kfac_example {
namespace {

/// Box and Muller's, since std::normal_distribution differs between standard libraries.
class Gaussian {
   public:
    explicit Gaussian(std::uint64_t seed) : engine_(seed) {}
    double operator()() {
        const double radius = std::sqrt(-2.0 * std::log((static_cast<double>(engine_()) + 1.0) * 0x1p-64));
        return radius * std::cos(6.283185307179586 * static_cast<double>(engine_()) * 0x1p-64);
    }

   private:
    std::mt19937_64 engine_;
};

std::vector<double> gaussian_matrix(Gaussian& gaussian, std::size_t elements, double deviation) {
    std::vector<double> values(elements);
    for (double& value : values) value = deviation * gaussian();
    return values;
}

/// Orthonormal rows, by Gram and Schmidt.
std::vector<double> random_rotation(Gaussian& gaussian) {
    std::vector<double> rows = gaussian_matrix(gaussian, std::size_t{kIn} * kIn, 1.0);
    for (std::size_t i = 0; i < kIn; ++i) {
        const std::span<double> row(&rows[i * kIn], kIn);
        for (std::size_t before = 0; before < i; ++before) {
            double dot = 0.0;
            for (std::size_t j = 0; j < kIn; ++j) dot += row[j] * rows[before * kIn + j];
            for (std::size_t j = 0; j < kIn; ++j) row[j] -= dot * rows[before * kIn + j];
        }
        double squares = 0.0;
        for (const double value : row) squares += value * value;
        for (double& value : row) value /= std::sqrt(squares);
    }
    return rows;
}

/// Along the principal axis: small, but no smaller than the teacher can see.
double deviation(std::size_t axis) { return std::pow(kSmallestDeviation, static_cast<double>(axis) / (kIn - 1)); }

/// values [rows, kIn] by the rotation, with `last` behind each row.
Matrix rotated(const std::vector<double>& values, const std::vector<double>& rotation, std::span<const double> last) {
    Matrix out;
    for (std::size_t row = 0; row < last.size(); ++row) {
        for (std::size_t j = 0; j < kIn; ++j) {
            double sum = 0.0;
            for (std::size_t axis = 0; axis < kIn; ++axis) sum += values[row * kIn + axis] * rotation[axis * kIn + j];
            out.push_back(static_cast<float>(sum));
        }
        out.push_back(static_cast<float>(last[row]));
    }
    return out;
}

Matrix layer(Gaussian& gaussian, std::uint32_t rows, std::uint32_t columns, bool zero_bias) {
    Matrix weights;
    const double scale = 1.0 / std::sqrt(columns - 1.0);
    for (const double value : gaussian_matrix(gaussian, std::size_t{rows} * columns, scale)) {
        const bool bias = weights.size() % columns == columns - 1;
        weights.push_back(bias && zero_bias ? 0.0F : static_cast<float>(value));
    }
    return weights;
}

/// hidden [kExamples, kHidden1], and the network's outputs minus the targets into `out`. The inner loops run over the
/// hidden units, which compilers make vectors of.
void forward(const Task& task, const Network& network, Matrix& hidden, Matrix& out) {
    hidden.resize(std::size_t{kExamples} * kHidden1);
    out.resize(task.targets.size());
    std::array<float, kIn1 * kHidden> w1{};  // transposed
    for (std::size_t i = 0; i < w1.size(); ++i) w1[i] = network.w1[i % kHidden * kIn1 + i / kHidden];
    for (std::size_t example = 0; example < kExamples; ++example) {
        float* units = &hidden[example * kHidden1];
        std::fill(units, units + kHidden, 0.0F);
        for (std::size_t i = 0; i < kIn1; ++i) {
            const float input = task.inputs[example * kIn1 + i];
            for (std::size_t unit = 0; unit < kHidden; ++unit) units[unit] += input * w1[i * kHidden + unit];
        }
        for (std::size_t unit = 0; unit < kHidden; ++unit) units[unit] = std::tanh(units[unit]);
        units[kHidden] = 1.0F;
        for (std::size_t o = 0; o < kOut; ++o) {
            float sum = -task.targets[example * kOut + o];
            for (std::size_t unit = 0; unit < kHidden1; ++unit) sum += network.w2[o * kHidden1 + unit] * units[unit];
            out[example * kOut + o] = sum;
        }
    }
}

template <class Rule>
std::uint32_t steps_of(const Task& task, std::uint32_t most, Rule&& rule) {
    Network network = task.start;
    Gradient gradient;
    for (std::uint32_t step = 0; step < most; ++step) {
        differentiate(task, network, gradient);
        if (gradient.loss < kTargetLoss) return step;
        if (!std::isfinite(gradient.loss)) return most;
        rule(step, 0, network.w1, gradient.of.w1);
        rule(step, 1, network.w2, gradient.of.w2);
    }
    return most;
}

}  // namespace

Task make_task(std::uint64_t seed) {
    Gaussian gaussian(seed);
    const std::vector<double> rotation = random_rotation(gaussian);
    Task task;
    std::vector<double> axes = gaussian_matrix(gaussian, std::size_t{kExamples} * kIn, 1.0);
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] *= deviation(i % kIn);
    task.inputs = rotated(axes, rotation, std::vector<double>(kExamples, 1.0));

    // The teacher looks at the weak axes as well: with the root of their deviation it evens them out half-way.
    Network teacher;
    std::vector<double> seen = gaussian_matrix(gaussian, std::size_t{kHidden} * kIn, 1.0 / std::sqrt(double{kIn}));
    for (std::size_t i = 0; i < seen.size(); ++i) seen[i] /= std::sqrt(deviation(i % kIn));
    teacher.w1 = rotated(seen, rotation, gaussian_matrix(gaussian, kHidden, 0.5));
    teacher.w2 = layer(gaussian, kOut, kHidden1, false);
    task.targets.assign(std::size_t{kExamples} * kOut, 0.0F);
    Matrix hidden;
    Matrix outputs;
    forward(task, teacher, hidden, outputs);
    task.targets = std::move(outputs);

    task.start = {.w1 = layer(gaussian, kHidden, kIn1, true), .w2 = layer(gaussian, kOut, kHidden1, true)};
    for (std::size_t o = 0; o < kOut; ++o) {
        double mean = 0.0;
        double squares = 0.0;
        for (std::size_t example = 0; example < kExamples; ++example) {
            const double target = task.targets[example * kOut + o];
            mean += target / kExamples;
            squares += target * target / kExamples;
        }
        task.target_variance += 0.5 * (squares - mean * mean);
    }
    return task;
}

void differentiate(const Task& task, const Network& network, Gradient& gradient) {
    forward(task, network, gradient.hidden, gradient.out_derivative);
    gradient.of.w1.resize(network.w1.size());
    gradient.of.w2.assign(network.w2.size(), 0.0F);
    gradient.loss = 0.0;
    std::array<float, kIn1 * kHidden> of1{};  // transposed
    for (std::size_t example = 0; example < kExamples; ++example) {
        const float* units = &gradient.hidden[example * kHidden1];
        const float* error = &gradient.out_derivative[example * kOut];
        std::array<float, kHidden> back{};
        for (std::size_t o = 0; o < kOut; ++o) {
            gradient.loss += 0.5 * error[o] * error[o] / kExamples;
            const float* weights = &network.w2[o * kHidden1];
            float* of2 = &gradient.of.w2[o * kHidden1];
            for (std::size_t unit = 0; unit < kHidden; ++unit) back[unit] += error[o] * weights[unit];
            for (std::size_t unit = 0; unit < kHidden1; ++unit) of2[unit] += error[o] * units[unit] / kExamples;
        }
        for (std::size_t unit = 0; unit < kHidden; ++unit) back[unit] *= (1.0F - units[unit] * units[unit]) / kExamples;
        for (std::size_t i = 0; i < kIn1; ++i) {
            const float input = task.inputs[example * kIn1 + i];
            for (std::size_t unit = 0; unit < kHidden; ++unit) of1[i * kHidden + unit] += input * back[unit];
        }
    }
    for (std::size_t i = 0; i < of1.size(); ++i) gradient.of.w1[i % kHidden * kIn1 + i / kHidden] = of1[i];
}

std::uint32_t steps_of_sgd(const Task& task, const Settings& settings, std::uint32_t most) {
    const auto rate = static_cast<float>(settings.learning_rate);
    const auto momentum = static_cast<float>(settings.second);
    Matrix velocity[2] = {Matrix(task.start.w1.size(), 0.0F), Matrix(task.start.w2.size(), 0.0F)};
    return steps_of(task, most, [&](std::uint32_t, int which, Matrix& weights, const Matrix& gradient) {
        for (std::size_t i = 0; i < weights.size(); ++i) {
            velocity[which][i] = momentum * velocity[which][i] + gradient[i];
            weights[i] -= rate * velocity[which][i];
        }
    });
}

std::uint32_t steps_of_adam(const Task& task, const Settings& settings, std::uint32_t most) {
    constexpr float kBeta1 = 0.9F;
    const auto rate = static_cast<float>(settings.learning_rate);
    const auto beta2 = static_cast<float>(settings.second);
    const Matrix zeros[2] = {Matrix(task.start.w1.size(), 0.0F), Matrix(task.start.w2.size(), 0.0F)};
    Matrix first[2] = {zeros[0], zeros[1]};
    Matrix second[2] = {zeros[0], zeros[1]};
    return steps_of(task, most, [&](std::uint32_t step, int which, Matrix& weights, const Matrix& gradient) {
        const float unbias1 = 1.0F / (1.0F - std::pow(kBeta1, static_cast<float>(step + 1)));
        const float unbias2 = 1.0F / (1.0F - std::pow(beta2, static_cast<float>(step + 1)));
        for (std::size_t i = 0; i < weights.size(); ++i) {
            first[which][i] = kBeta1 * first[which][i] + (1.0F - kBeta1) * gradient[i];
            second[which][i] = beta2 * second[which][i] + (1.0F - beta2) * gradient[i] * gradient[i];
            weights[i] -= rate * first[which][i] * unbias1 / (std::sqrt(second[which][i] * unbias2) + 1e-8F);
        }
    });
}

}  // namespace kfac_example
