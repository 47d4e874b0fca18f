// SPDX-License-Identifier: Apache-2.0
// Blocks to invert, and Eigen's inverses of them: another library, another algorithm (eigenvectors), in double.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace yolk::autotune {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// [count, n, n], positive definite with a condition number of about `condition`.
inline std::vector<double> definite_blocks(std::uint32_t count, std::uint32_t n, double condition,
                                           std::uint32_t seed = 1) {
    std::mt19937 random(seed);
    std::vector<double> blocks;
    for (std::uint32_t block = 0; block < count; ++block) {
        Matrix any(n, n);
        for (Eigen::Index i = 0; i < any.size(); ++i) any.data()[i] = static_cast<double>(random()) * 0x1p-31 - 1.0;
        const Matrix rotation = Eigen::HouseholderQR<Matrix>(any).householderQ();
        Eigen::VectorXd eigenvalues(n);
        for (std::uint32_t i = 0; i < n; ++i) eigenvalues[i] = std::pow(condition, n == 1 ? 0.0 : -1.0 * i / (n - 1));
        const Matrix made = rotation * eigenvalues.asDiagonal() * rotation.transpose();
        const Matrix symmetric = 0.5 * (made + made.transpose());
        blocks.insert(blocks.end(), symmetric.data(), symmetric.data() + symmetric.size());
    }
    return blocks;
}

/// (F + damping trace(F)/n I)^-1 of each block.
inline std::vector<double> inverses_of(const std::vector<double>& blocks, std::uint32_t count, std::uint32_t n,
                                       double damping) {
    std::vector<double> inverses;
    for (std::uint32_t block = 0; block < count; ++block) {
        Matrix fisher = Eigen::Map<const Matrix>(&blocks[std::size_t{block} * n * n], n, n);
        fisher += damping * fisher.trace() / n * Matrix::Identity(n, n);
        const Eigen::SelfAdjointEigenSolver<Matrix> solver(fisher);
        const Matrix inverse = solver.eigenvectors() * solver.eigenvalues().cwiseInverse().asDiagonal() *
                               solver.eigenvectors().transpose();
        inverses.insert(inverses.end(), inverse.data(), inverse.data() + inverse.size());
    }
    return inverses;
}

/// The largest |given - expected|_F / |expected|_F of the pieces of `length`.
template <class Real>
double worst_relative(const std::vector<Real>& given, const std::vector<double>& expected, std::size_t length) {
    double worst = given.size() == expected.size() ? 0.0 : 1e300;
    for (std::size_t first = 0; first + length <= expected.size() && first + length <= given.size(); first += length) {
        double error = 0.0;
        double size = 0.0;
        for (std::size_t i = first; i < first + length; ++i) {
            error += std::pow(double{given[i]} - expected[i], 2);
            size += expected[i] * expected[i];
        }
        worst = std::max(worst, std::sqrt(error / size));
    }
    return worst;
}

inline std::vector<float> to_float(const std::vector<double>& values) { return {values.begin(), values.end()}; }

}  // namespace yolk::autotune
