// SPDX-License-Identifier: Apache-2.0
// The algebra of the house strategy against textbook forms of it.
#include <gmock/gmock.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "covariance.hpp"
#include "evidence_fit.hpp"
#include "posterior_search.hpp"
#include "surfaces.hpp"
#include "yolk/internal/autotune/linear_algebra.hpp"

namespace yolk::autotune {
namespace {

/// One-hot features of all candidates, centred by their mean over the candidates.
Eigen::MatrixXd features_of(const CandidateSet& candidates) {
    Eigen::Index columns = 0;
    for (const Parameter& parameter : candidates.space().parameters()) {
        columns += static_cast<Eigen::Index>(parameter.values.size());
    }
    Eigen::MatrixXd features = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(candidates.size()), columns);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        Eigen::Index at = 0;
        for (std::size_t p = 0; p < candidates.dimensions(); ++p) {
            features(static_cast<Eigen::Index>(c), at + candidates[c][p]) = 1.0;
            at += static_cast<Eigen::Index>(candidates.space().parameters()[p].values.size());
        }
    }
    features.rowwise() -= features.colwise().mean().eval();
    return features;
}

struct Measured {
    std::vector<std::size_t> candidates;
    std::vector<double> values;
};
Measured some(const RecordedSurface& surface, std::size_t count) {
    Measured measured;
    Random random(8);
    while (measured.candidates.size() < count) {
        const std::size_t c = random.below(surface.costs().size());
        if (!std::isfinite(surface.costs()[c])) continue;
        measured.candidates.push_back(c);
        measured.values.push_back(std::log(surface.costs()[c]));
    }
    return measured;
}

// The policy pi(c) ~ exp(theta . phi(c)) has the Fisher matrix F = Phi^T diag(pi) Phi of centred features. With
// measurements weighted alike, the damped natural gradient (Phi_S^T Phi_S + d I)^-1 Phi_S^T y is a ridge regression:
// its scores for all candidates are those of the posterior with the log-linear covariance, computed in the other space.
TEST(posterior, log_linear_scores_are_the_natural_gradient) {
    const RecordedSurface surface = tiled_product();
    const CandidateSet& candidates = surface.candidates();
    const Measured measured = some(surface, 40);
    const Eigen::MatrixXd features = features_of(candidates);
    const double scale = 1.0 / features.rowwise().squaredNorm().mean();
    constexpr double kNoise = 0.01;
    Eigen::MatrixXd fisher = Eigen::MatrixXd::Identity(features.cols(), features.cols()) * (kNoise / scale);
    Eigen::VectorXd gradient = Eigen::VectorXd::Zero(features.cols());
    for (std::size_t k = 0; k < measured.values.size(); ++k) {
        const Eigen::VectorXd phi = features.row(static_cast<Eigen::Index>(measured.candidates[k])).transpose();
        fisher += phi * phi.transpose();
        gradient += phi * measured.values[k];
    }
    const Eigen::VectorXd expected = features * fisher.llt().solve(gradient);

    const Covariance covariance(candidates, {.linear_share = 1.0, .residual_share = 0.0});
    const std::unique_ptr<LinearAlgebra> algebra = host_linear_algebra();
    algebra->begin(covariance);
    for (std::size_t k = 0; k < measured.values.size(); ++k) {
        algebra->append(measured.candidates[k], kNoise, measured.values[k]);
    }
    for (Eigen::Index c = 0; c < expected.size(); ++c) {
        EXPECT_NEAR(algebra->at(static_cast<std::size_t>(c)).value_score, expected(c), 1e-9);
    }
}

// The growing factor against one Cholesky solve of the whole: scores, variances and the parts of the evidence.
TEST(posterior, growing_factor_is_the_dense_solve) {
    const RecordedSurface surface = tiled_product();
    const CandidateSet& candidates = surface.candidates();
    const Covariance covariance(candidates, {.relevance = {1.0, 2.0, 0.5, 1.0, 4.0, 1.0}, .constant = 0.3});
    const Measured measured = some(surface, 90);
    const auto n = static_cast<Eigen::Index>(measured.values.size());
    constexpr double kNoise = 0.0025;
    const std::unique_ptr<LinearAlgebra> algebra = host_linear_algebra();
    for (int round = 0; round < 2; ++round) {  // begin() forgets
        algebra->begin(covariance);
        for (std::size_t k = 0; k < measured.values.size(); ++k) {
            algebra->append(measured.candidates[k], kNoise, measured.values[k]);
        }
    }
    Eigen::MatrixXd a(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
        for (Eigen::Index j = 0; j < n; ++j) {
            a(i, j) = covariance.between(measured.candidates[static_cast<std::size_t>(i)],
                                         measured.candidates[static_cast<std::size_t>(j)]);
        }
    }
    a.diagonal().array() += kNoise;
    const Eigen::LLT<Eigen::MatrixXd> solver(a);
    const Eigen::VectorXd y = Eigen::Map<const Eigen::VectorXd>(measured.values.data(), n);
    const Eigen::VectorXd weights = solver.solve(y);
    const Eigen::VectorXd units = solver.solve(Eigen::VectorXd::Ones(n));
    for (std::size_t c = 0; c < candidates.size(); c += 13) {
        Eigen::VectorXd row(n);
        for (Eigen::Index k = 0; k < n; ++k) {
            row(k) = covariance.between(c, measured.candidates[static_cast<std::size_t>(k)]);
        }
        EXPECT_NEAR(algebra->at(c).value_score, row.dot(weights), 1e-8);
        EXPECT_NEAR(algebra->at(c).unit_score, row.dot(units), 1e-8);
        EXPECT_NEAR(algebra->at(c).variance, covariance.between(c, c) - row.dot(solver.solve(row)), 1e-8);
    }
    const Evidence evidence = algebra->evidence();
    const Eigen::MatrixXd& factor = solver.matrixLLT();
    EXPECT_NEAR(evidence.values_values, y.dot(weights), 1e-8 * std::abs(y.dot(weights)));
    EXPECT_NEAR(evidence.values_units, units.dot(y), 1e-7);
    EXPECT_NEAR(evidence.units_units, units.sum(), 1e-7);
    EXPECT_NEAR(evidence.log_determinant, 2.0 * factor.diagonal().array().log().sum(), 1e-8);
    EXPECT_EQ(evidence.count, 90U);
}

TEST(posterior, covariance_column_is_between) {
    const RecordedSurface surface = tiled_product();
    const std::size_t size = surface.costs().size();
    std::vector<double> factor(size);
    std::iota(factor.begin(), factor.end(), 0.0);
    for (double& value : factor) value = std::sin(value);
    const Covariance covariance(surface.candidates(), {.constant = 0.2, .factors = {factor}});
    std::vector<double> column(size);
    covariance.column(17, column);
    for (std::size_t c = 0; c < size; ++c) EXPECT_NEAR(column[c], covariance.between(c, 17), 1e-12);
    // The shares are what they say: the log-linear part's variance is its share on average, the residual's everywhere.
    const std::vector<double> diagonal = Covariance(surface.candidates(), {}).diagonal();
    EXPECT_NEAR(std::accumulate(diagonal.begin(), diagonal.end(), 0.0) / static_cast<double>(size), 1.0, 1e-9);
}

// Values that depend on two parameters alone make the others irrelevant.
TEST(posterior, evidence_finds_what_matters) {
    const RecordedSurface surface = tiled_product();
    Measured measured = some(surface, 60);
    for (std::size_t k = 0; k < measured.values.size(); ++k) {
        const ChoiceView v = surface.candidates()[measured.candidates[k]];
        measured.values[k] = std::sin(1.5 * v[0]) * std::cos(1.1 * v[5]);
    }
    const FittedCovariance fitted =
        fit_covariance(surface.candidates(), measured.candidates, measured.values, {.covariance = {}, .noise = 0.05});
    const std::vector<double>& relevance = fitted.covariance.relevance;
    ASSERT_EQ(relevance.size(), 6U);
    for (const std::size_t irrelevant : {1U, 2U, 3U, 4U}) {
        EXPECT_GT(relevance[0], 2.0 * relevance[irrelevant]);
        EXPECT_GT(relevance[5], 2.0 * relevance[irrelevant]);
    }
    EXPECT_LT(fitted.covariance.linear_share, 0.5);
}

// Bad values are learned as if they were less bad, in the fit and after it; the density is that of the value given.
TEST(posterior, values_above_the_median_are_bent) {
    const RecordedSurface surface = tiled_product();
    const CandidateSet& candidates = surface.candidates();
    const Measured measured = some(surface, 31);
    std::vector<double> sorted(measured.values.begin(), measured.values.begin() + 21);
    std::ranges::sort(sorted);
    const double median = sorted[10];
    const auto bent = [&](double value) { return value <= median ? value : median + 0.25 * (value - median); };
    const History history(candidates.size());
    PosteriorSearch bending(candidates, history, {.fit_at = {21}, .slope_above_median = 0.25}, host_linear_algebra());
    PosteriorSearch plain(candidates, history, {.fit_at = {21}}, host_linear_algebra());
    for (std::size_t k = 0; k < measured.values.size(); ++k) {
        bending.add(measured.candidates[k], measured.values[k]);
        plain.add(measured.candidates[k], bent(measured.values[k]));
    }
    EXPECT_EQ(bending.means(), plain.means());
    EXPECT_EQ(bending.moments().deviation, plain.moments().deviation);
    EXPECT_EQ(bending.log_density(7, median - 0.1), plain.log_density(7, median - 0.1));
    EXPECT_NEAR(bending.log_density(7, median + 0.4), plain.log_density(7, median + 0.1) + std::log(0.25), 1e-12);
}

}  // namespace
}  // namespace yolk::autotune
