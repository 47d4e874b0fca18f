// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "inverse_sqrt_oracle.hpp"
#include "yolk/internal/oracle/error_bounds.hpp"

namespace yolk::oracle {
namespace {

constexpr double kDeviations = 6.0;

struct Spectrum {
    Eigen::VectorXd values;
    Eigen::MatrixXd vectors;
    double shift = 0.0;
    double norm = 0.0;  ///< the largest sum of magnitudes of a row
};

Spectrum spectrum_of(std::uint32_t n, float damping, std::span<const float> in) {
    Eigen::MatrixXd block(n, n);
    for (std::uint32_t i = 0; i < n; ++i) {
        for (std::uint32_t j = 0; j < n; ++j) block(i, j) = static_cast<double>(in[std::size_t{i} * n + j]);
    }
    const double shift = static_cast<double>(damping) * block.trace() / n;
    block.diagonal().array() += shift;
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(block);
    return {solver.eigenvalues(), solver.eigenvectors(), shift, block.cwiseAbs().rowwise().sum().maxCoeff()};
}

/// What becomes of the roundings of the iteration, in the basis of the eigenvectors, where without them all matrices
/// are diagonal: with s the eigenvalues of Z Y and a those of the scaled block, Y has sqrt(s a) and Z sqrt(s / a).
/// Perturbations E of Y, F of Z and D of the direction change the limit of Z in place (p, q) by
///   -E / sqrt(a_p a_q) / (sqrt(s_p) + sqrt(s_q)),  F / (sqrt(s_p) + sqrt(s_q)),
///   D (sqrt(r_q) - sqrt(r_p)) / sqrt(a_q) / (sqrt(s_p) + sqrt(s_q)), r being s before the step.
class Propagation {
   public:
    explicit Propagation(Eigen::VectorXd a)
        : a_(std::move(a)), s_(a_), variance_(Eigen::MatrixXd::Zero(a_.size(), a_.size())) {}

    void step() {
        const double rounding = kFp32Rounding * std::sqrt(static_cast<double>(a_.size()) + 1.0) * (1.0 + 0x1p-6);
        const Eigen::VectorXd before = s_;
        const Eigen::VectorXd direction = (3.0 - s_.array()) / 2.0;
        const double y = (s_.array() * a_.array()).sqrt().maxCoeff();
        const double z = (s_.array() / a_.array()).sqrt().maxCoeff();
        const double w = direction.cwiseAbs().maxCoeff();
        s_ = s_.array() * direction.array().square();
        const double of_y = rounding * y * w;
        const double of_z = rounding * z * w;
        const double of_direction = 0.5 * rounding * z * y + kFp32Rounding * w;
        for (Eigen::Index p = 0; p < a_.size(); ++p) {
            for (Eigen::Index q = 0; q < a_.size(); ++q) {
                const double sum = std::sqrt(s_[p]) + std::sqrt(s_[q]);
                const double from_y = of_y / std::sqrt(a_[p] * a_[q]) / sum;
                const double from_z = of_z / sum;
                const double from_direction =
                    of_direction * (std::sqrt(before[q]) - std::sqrt(before[p])) / std::sqrt(a_[q]) / sum;
                variance_(p, q) += from_y * from_y + from_z * from_z + from_direction * from_direction;
            }
        }
    }

    [[nodiscard]] const Eigen::MatrixXd& variance() const { return variance_; }
    /// Z where the iteration stopped.
    [[nodiscard]] Eigen::VectorXd z() const { return (s_.array() / a_.array()).sqrt(); }

   private:
    Eigen::VectorXd a_;
    Eigen::VectorXd s_;
    Eigen::MatrixXd variance_;
};

}  // namespace

std::vector<Bounded> inverse_sqrt_oracle(std::uint32_t n, float damping, std::span<const float> in,
                                         std::uint32_t iterations) {
    const Spectrum spectrum = spectrum_of(n, damping, in);
    const Eigen::MatrixXd& basis = spectrum.vectors;
    const Eigen::MatrixXd right = basis * spectrum.values.array().rsqrt().matrix().asDiagonal() * basis.transpose();
    const double exponent = std::ceil(std::floor(std::log2(spectrum.norm)) / 2.0);
    const double scale = std::exp2(-2.0 * exponent);
    const Eigen::VectorXd a = spectrum.values * scale;
    Propagation propagation(a);
    for (std::uint32_t i = 0; i < iterations; ++i) propagation.step();
    const Eigen::MatrixXd squares = basis.cwiseAbs2();
    const Eigen::MatrixXd deviation = (squares * propagation.variance() * squares.transpose()).cwiseSqrt();
    // Not by chance: where the iteration stopped, the shift's error, and the roundings of the damped diagonal.
    const double shift_off = scale * ((row_sum_error(n) + 4.0 * kFp32Rounding) * std::abs(spectrum.shift) +
                                      (damping == 0.0F ? 0.0 : kFp32Rounding * spectrum.norm));
    const Eigen::VectorXd off =
        (propagation.z().array() - a.array().rsqrt()).abs() + 0.5 * shift_off * a.array().pow(-1.5);
    const Eigen::MatrixXd systematic = basis.cwiseAbs() * off.asDiagonal() * basis.cwiseAbs().transpose();
    const double root = std::sqrt(scale);
    std::vector<Bounded> values;
    for (std::uint32_t i = 0; i < n; ++i) {
        for (std::uint32_t j = 0; j < n; ++j) {
            const double tolerance = root * (kDeviations * deviation(i, j) + systematic(i, j)) +
                                     2.0 * kFp32Rounding * std::abs(right(i, j)) + 0x1p-100 + root * 0x1p-40;
            values.push_back({right(i, j), tolerance});
        }
    }
    return values;
}

}  // namespace yolk::oracle
