// SPDX-License-Identifier: Apache-2.0
// The task of 06_kfac: a small network fits a larger network's outputs where the inputs are ill-conditioned, and the
// two methods that K-FAC is compared with. On the host, in fp32; the gradient is written out by hand.
#pragma once

#include <cstdint>
#include <vector>

namespace kfac_example {

constexpr std::uint32_t kExamples = 256, kIn = 16, kHidden = 32, kOut = 4;
/// With the coordinate that is always 1, whose weights are the biases.
constexpr std::uint32_t kIn1 = kIn + 1, kHidden1 = kHidden + 1;
/// The inputs' standard deviations along their principal axes go from 1 down to this.
constexpr double kSmallestDeviation = 0.01;
constexpr double kTargetLoss = 1e-3;
constexpr std::uint32_t kMostSteps = 4000;

/// Rows, one behind the other.
using Matrix = std::vector<float>;

struct Network {
    Matrix w1;  ///< [kHidden, kIn1]
    Matrix w2;  ///< [kOut, kHidden1]
};

struct Task {
    Matrix inputs;   ///< [kExamples, kIn1], the last column 1
    Matrix targets;  ///< [kExamples, kOut]
    Network start;
    double target_variance = 0.0;  ///< the loss of the best constant
};

/// Of a seed: other inputs, another teacher, another start.
[[nodiscard]] Task make_task(std::uint64_t seed);

/// Of the loss, half the squared error, mean over the examples.
struct Gradient {
    Network of;
    double loss = 0.0;
    Matrix hidden, out_derivative;  // of the two passes
};
void differentiate(const Task& task, const Network& network, Gradient& gradient);

/// SGD: second is the momentum. Adam: second is beta2, beta1 is .9. K-FAC: second is the damping.
struct Settings {
    double learning_rate = 0.0;
    double second = 0.0;
};

/// Steps until the loss is below kTargetLoss; `most` where it is not by then.
[[nodiscard]] std::uint32_t steps_of_sgd(const Task& task, const Settings& settings, std::uint32_t most);
[[nodiscard]] std::uint32_t steps_of_adam(const Task& task, const Settings& settings, std::uint32_t most);

}  // namespace kfac_example
