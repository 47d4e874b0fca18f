// SPDX-License-Identifier: Apache-2.0
#include "preconditioner.hpp"

#include <Eigen/Eigenvalues>

namespace yolk::autotune {

Eigen::MatrixXd damped_power(const Eigen::MatrixXd& matrix, double power, double damping) {
    constexpr double kLeast = 1e-12;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix);
    const double lift = std::max(kLeast, damping * matrix.trace() / static_cast<double>(matrix.rows()));
    const Eigen::ArrayXd values = (solver.eigenvalues().array().max(0.0) + lift).pow(power);
    return solver.eigenvectors() * values.matrix().asDiagonal() * solver.eigenvectors().transpose();
}

void GradientWindow::add(const Eigen::VectorXd& sample) {
    samples_.push_back(sample);
    if (samples_.size() > length_) samples_.pop_front();
}

Eigen::MatrixXd GradientWindow::covariance() const {
    if (samples_.empty()) return {};
    const Eigen::Index n = samples_.front().size();
    Eigen::VectorXd mean = Eigen::VectorXd::Zero(n);
    for (const Eigen::VectorXd& sample : samples_) mean += sample;
    mean /= static_cast<double>(samples_.size());
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(n, n);
    for (const Eigen::VectorXd& sample : samples_) sum += (sample - mean) * (sample - mean).transpose();
    return sum / static_cast<double>(samples_.size());
}

}  // namespace yolk::autotune
