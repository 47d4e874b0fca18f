// SPDX-License-Identifier: Apache-2.0
#include "failure_odds.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace yolk::autotune {

std::vector<double> odds_of_failure(const Covariance& covariance, double noise, const History& history,
                                    std::span<const std::size_t> among) {
    const std::span<const std::size_t> known = history.order();
    const auto n = static_cast<Eigen::Index>(known.size());
    Eigen::VectorXd failed(n);
    for (Eigen::Index i = 0; i < n; ++i)
        failed(i) = std::isfinite(history.cost(known[static_cast<std::size_t>(i)])) ? 0.0 : 1.0;
    if (failed.isZero(0.0)) return std::vector<double>(among.size(), 0.0);
    Eigen::MatrixXd between(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
        for (Eigen::Index j = 0; j <= i; ++j)
            between(i, j) = covariance.between(known[static_cast<std::size_t>(i)], known[static_cast<std::size_t>(j)]);
        between(i, i) += noise * noise;
    }
    const Eigen::VectorXd weights = between.selfadjointView<Eigen::Lower>().llt().solve(failed);
    std::vector<double> odds;
    for (const std::size_t candidate : among) {
        double score = 0.0;
        for (Eigen::Index i = 0; i < n; ++i)
            score += weights(i) * covariance.between(candidate, known[static_cast<std::size_t>(i)]);
        odds.push_back(std::clamp(score, 0.0, 1.0));
    }
    return odds;
}

}  // namespace yolk::autotune
