// SPDX-License-Identifier: Apache-2.0
// Residuals of block_inverse against those of Eigen's fp32 factorizations of the same damped blocks.
#include <gmock/gmock.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <vector>

#include "block_inverse_device.hpp"
#include "yolk/internal/core/philox.hpp"

namespace yolk {
namespace {

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class block_inverse_accuracy : public BlockInverseTest {};
YOLK_FOR_EACH_DEVICE(block_inverse_accuracy);

/// X^T X / s of s samples of n variables, their elements in [-1, 1).
RowMatrix fisher(std::uint32_t n, std::uint32_t samples, std::uint32_t stream) {
    RowMatrix x(samples, n);
    for (std::uint32_t s = 0; s < samples; ++s) {
        for (std::uint32_t i = 0; i < n; ++i) {
            const std::uint32_t word = philox4x32({i, s, stream, 0}, {7, 0})[0];
            x(s, i) = std::ldexp(static_cast<float>(word >> 8U), -23) - 1.0F;
        }
    }
    return x.transpose() * x / static_cast<float>(samples);
}

double residual_of(const RowMatrix& a, const RowMatrix& x) {
    Eigen::MatrixXd r = a.cast<double>() * x.cast<double>();
    r -= Eigen::MatrixXd::Identity(a.rows(), a.rows());
    return r.norm() / std::sqrt(static_cast<double>(a.rows()));
}

/// The larger one of two of Eigen's, for either is lucky at times in small blocks.
double eigen_residual(const RowMatrix& a) {
    const RowMatrix identity = RowMatrix::Identity(a.rows(), a.rows());
    return std::max(residual_of(a, a.ldlt().solve(identity)), residual_of(a, a.partialPivLu().solve(identity)));
}

// Fewer samples than variables, damped so that condition numbers go up to 10^6. A block that cannot be inverted stands
// between them.
TEST_P(block_inverse_accuracy, residuals_are_those_of_eigen) {
    constexpr float kDamping = 1e-5F;
    for (const std::uint32_t n : {1U, 2U, 3U, 7U, 8U, 15U, 16U, 31U, 32U, 33U, 64U, 100U, 129U, 512U}) {
        const std::uint32_t blocks = n == 512 ? 3 : 5;
        BlockInverseInputs inputs;
        std::vector<RowMatrix> damped;
        for (std::uint32_t b = 0; b < blocks; ++b) {
            RowMatrix a = fisher(n, std::max(1U, n * (b + 1) / 6), b);
            if (b == 1) a(n - 1, n - 1) = -a(n - 1, n - 1);
            inputs.in.insert(inputs.in.end(), a.data(), a.data() + a.size());
            const float added = kDamping * (a.trace() / static_cast<float>(n));
            for (std::uint32_t i = 0; i < n; ++i) a(i, i) += added;
            damped.push_back(a);
        }
        ASSERT_OK_AND_ASSIGN(const auto got, run({.n = n, .blocks = blocks, .damping = kDamping}, inputs));
        for (std::uint32_t b = 0; b < blocks; ++b) {
            if (b == 1) {
                EXPECT_EQ(block_status_of(got.status[b]), BlockStatus::Indefinite) << n;
                continue;
            }
            EXPECT_EQ(got.status[b], 0U) << n << " " << b;
            const Eigen::Map<const RowMatrix> x(got.out.data() + std::size_t{b} * n * n, n, n);
            const double residual = residual_of(damped[b], x);
            const double known = eigen_residual(damped[b]);
            EXPECT_LE(residual, 20.0 * std::max(known, 0x1p-24)) << n << " " << b;
            EXPECT_LE(static_cast<double>(got.residual[b]), 40.0 * std::max(known, 0x1p-24)) << n << " " << b;
        }
    }
}

}  // namespace
}  // namespace yolk
