// SPDX-License-Identifier: Apache-2.0
#include "low_rank.hpp"

#include <Eigen/Core>
#include <Eigen/SVD>
#include <cmath>

namespace yolk::transformer {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

LowRank low_rank_of(std::span<const double> change, std::uint64_t out, std::uint64_t in, std::uint64_t rank) {
    const Eigen::Map<const RowMajor> matrix(change.data(), static_cast<Eigen::Index>(out),
                                            static_cast<Eigen::Index>(in));
    LowRank made{.factors = {.out = out, .in = in, .rank = rank, .a = {}, .b = {}}};
    made.factors.a.resize(rank * in);
    made.factors.b.resize(out * rank);
    const Eigen::BDCSVD<Eigen::MatrixXd> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeThinV);
    RowMajor product = RowMajor::Zero(matrix.rows(), matrix.cols());
    for (std::uint64_t r = 0; r < rank; ++r) {
        const auto column = static_cast<Eigen::Index>(r);
        const double root = std::sqrt(svd.singularValues()(column));  // each factor has one of it
        for (std::uint64_t i = 0; i < in; ++i)
            made.factors.a[r * in + i] = static_cast<float>(root * svd.matrixV()(static_cast<Eigen::Index>(i), column));
        for (std::uint64_t o = 0; o < out; ++o)
            made.factors.b[o * rank + r] =
                static_cast<float>(root * svd.matrixU()(static_cast<Eigen::Index>(o), column));
        for (std::uint64_t o = 0; o < out; ++o) {
            for (std::uint64_t i = 0; i < in; ++i)
                product(static_cast<Eigen::Index>(o), static_cast<Eigen::Index>(i)) +=
                    double{made.factors.b[o * rank + r]} * double{made.factors.a[r * in + i]};
        }
    }
    made.left_out = (matrix - product).squaredNorm();
    return made;
}

}  // namespace yolk::transformer
