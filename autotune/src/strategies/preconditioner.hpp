// SPDX-License-Identifier: Apache-2.0
// Steps that `eggroll` and `smoothed` can take along a gradient.
#pragma once

#include <Eigen/Core>
#include <deque>

#include "yolk/internal/autotune/strategy.hpp"

namespace yolk::autotune {

/// matrix^power of a symmetric matrix after adding `damping` times its mean eigenvalue; eigenvalues below are lifted to
/// that.
[[nodiscard]] Eigen::MatrixXd damped_power(const Eigen::MatrixXd& matrix, double power, double damping);

/// Covariance of the last samples of a gradient, about their mean.
class GradientWindow {
   public:
    explicit GradientWindow(std::size_t length) : length_(length) {}
    void add(const Eigen::VectorXd& sample);
    [[nodiscard]] std::size_t count() const noexcept { return samples_.size(); }
    [[nodiscard]] Eigen::MatrixXd covariance() const;

   private:
    std::size_t length_;
    std::deque<Eigen::VectorXd> samples_;
};

}  // namespace yolk::autotune
