// SPDX-License-Identifier: Apache-2.0
// What the house strategy measures first: the candidates that its regression is least certain of.
#include <gmock/gmock.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "covariance.hpp"
#include "natural_constants.hpp"
#include "surfaces.hpp"
#include "yolk/autotune/tuner.hpp"

namespace yolk::autotune {
namespace {

constexpr std::size_t kFirst = kFirstOfNatural;

/// The variance that each candidate keeps after the `known` were measured, by a solve of the whole.
std::vector<double> variances_after(const CandidateSet& candidates, const std::vector<std::size_t>& known) {
    const Covariance covariance(candidates,
                                {.linear_share = natural::kLinearShare, .residual_share = 1.0 - natural::kLinearShare});
    const auto n = static_cast<Eigen::Index>(known.size());
    Eigen::MatrixXd a = Eigen::MatrixXd::Identity(n, n) * (natural::kNoise * natural::kNoise);
    for (Eigen::Index i = 0; i < n; ++i) {
        for (Eigen::Index j = 0; j < n; ++j)
            a(i, j) += covariance.between(known[static_cast<std::size_t>(i)], known[static_cast<std::size_t>(j)]);
    }
    const Eigen::LDLT<Eigen::MatrixXd> solver(a);
    std::vector<double> variances;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        Eigen::VectorXd with(n);
        for (Eigen::Index i = 0; i < n; ++i) with(i) = covariance.between(c, known[static_cast<std::size_t>(i)]);
        variances.push_back(covariance.between(c, c) - with.dot(solver.solve(with)));
    }
    return variances;
}

/// 5 x 4 x 3 configurations, so few that what is drawn among them is all of them.
RecordedSurface small_surface() {
    Space space =
        Space::create({Parameter::of("a", {1.0, 2.0, 4.0, 8.0, 16.0}), Parameter::of("b", {1.0, 2.0, 3.0, 4.0}),
                       Parameter::of("c", {std::string("x"), std::string("y"), std::string("z")})})
            .value();
    CandidateSet candidates = CandidateSet::of(std::move(space), 100, 1).value();
    std::vector<double> costs;
    for (std::size_t c = 0; c < candidates.size(); ++c) costs.push_back(1.0 + static_cast<double>(c * 7 % 60));
    return RecordedSurface::of(std::move(candidates), std::move(costs)).value();
}

Tuner natural_on(const RecordedSurface& surface, std::uint64_t seed) {
    return Tuner::create(shared(surface), {.strategy = "natural", .budget = 40, .seed = seed}).value();
}

TEST(natural_start, measures_what_is_least_certain) {
    const RecordedSurface surface = small_surface();
    Tuner tuner = natural_on(surface, 3);
    std::vector<std::size_t> known;
    while (known.size() < kFirst) {
        const std::size_t asked = tuner.ask().value();
        const std::vector<double> variances = variances_after(surface.candidates(), known);
        for (std::size_t c = 0; c < variances.size(); ++c)
            EXPECT_GE(variances[asked], variances[c] - 1e-9) << known.size() << ": " << asked << ", " << c;
        ASSERT_TRUE(tuner.tell(asked, surface.costs()[asked]));
        known.push_back(asked);
    }
    // From here on it looks for what is good as well: not always the least certain one any more.
    std::size_t other = 0;
    for (int i = 0; i < 10; ++i) {
        const std::size_t asked = tuner.ask().value();
        const std::vector<double> variances = variances_after(surface.candidates(), known);
        other += variances[asked] < *std::ranges::max_element(variances) - 1e-6 ? 1U : 0U;
        ASSERT_TRUE(tuner.tell(asked, surface.costs()[asked]));
        known.push_back(asked);
    }
    EXPECT_GT(other, 0U);
}

// Costs play no part in it, not even that of a configuration that fails; seeds do, where the space is large.
TEST(natural_start, depends_on_the_seed_and_not_on_costs) {
    const RecordedSurface surface = tiled_product();
    const auto begun = [&](std::uint64_t seed, auto cost) {
        Tuner tuner = natural_on(surface, seed);
        std::vector<std::size_t> asked;
        while (asked.size() < kFirst) {
            asked.push_back(tuner.ask().value());
            EXPECT_TRUE(tuner.tell(asked.back(), cost(asked.size())));
        }
        return asked;
    };
    const auto rising = [](std::size_t k) { return static_cast<double>(k); };
    const auto failing = [](std::size_t k) { return k % 2 == 0 ? kInvalidCost : 1.0; };
    EXPECT_EQ(begun(1, rising), begun(1, failing));
    EXPECT_NE(begun(1, rising), begun(2, rising));
}

}  // namespace
}  // namespace yolk::autotune
