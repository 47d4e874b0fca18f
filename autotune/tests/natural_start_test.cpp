// SPDX-License-Identifier: Apache-2.0
// What the house strategy measures first: the candidates that its regression is least certain of.
#include <gmock/gmock.h>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "covariance.hpp"
#include "natural_constants.hpp"
#include "surfaces.hpp"
#include "yolk/internal/autotune/tuner.hpp"

namespace yolk::autotune {
namespace {

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
    while (known.size() < kFirstOfNatural) {
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

// What works is not weighed by its cost; seeds matter where the space is large.
TEST(natural_start, depends_on_the_seed_and_not_on_costs) {
    const RecordedSurface surface = tiled_product();
    const auto begun = [&](std::uint64_t seed, auto cost) {
        Tuner tuner = natural_on(surface, seed);
        std::vector<std::size_t> asked;
        while (asked.size() < kFirstOfNatural) {
            asked.push_back(tuner.ask().value());
            EXPECT_TRUE(tuner.tell(asked.back(), cost(asked.size())));
        }
        return asked;
    };
    const auto rising = [](std::size_t k) { return static_cast<double>(k); };
    const auto falling = [](std::size_t k) { return 1.0 / static_cast<double>(k); };
    EXPECT_EQ(begun(1, rising), begun(1, falling));
    EXPECT_NE(begun(1, rising), begun(2, rising));
}

/// 12 x 5 x 5 x 5 configurations, of which those fail that `fails` says.
RecordedSurface failing_surface(bool (*fails)(ChoiceView)) {
    const auto counted = [](int count) {
        std::vector<Value> values;
        for (int i = 0; i < count; ++i) values.emplace_back(static_cast<double>(i));
        return values;
    };
    Space space = Space::create({Parameter::of("a", counted(12)), Parameter::of("b", counted(5)),
                                 Parameter::of("c", counted(5)), Parameter::of("d", counted(5))})
                      .value();
    CandidateSet candidates = CandidateSet::of(std::move(space), 5000, 1).value();
    std::vector<double> costs;
    for (std::size_t c = 0; c < candidates.size(); ++c)
        costs.push_back(fails(candidates[c]) ? kInvalidCost : 1.0 + 0.1 * std::abs(candidates[c][0] - 5.0));
    return RecordedSurface::of(std::move(candidates), std::move(costs)).value();
}

/// The share of failures among the first measurements of many searches, and that of all configurations.
std::pair<double, double> failing_shares(const RecordedSurface& surface, std::size_t searches) {
    std::size_t failed = 0;
    for (std::size_t seed = 1; seed <= searches; ++seed) {
        Tuner tuner = natural_on(surface, seed);
        for (std::size_t k = 0; k < kFirstOfNatural; ++k) {
            const std::size_t asked = tuner.ask().value();
            failed += std::isfinite(surface.costs()[asked]) ? 0U : 1U;
            EXPECT_TRUE(tuner.tell(asked, surface.costs()[asked]));
        }
    }
    const auto all = static_cast<double>(surface.costs().size());
    return {static_cast<double>(failed) / static_cast<double>(searches * kFirstOfNatural),
            1.0 - static_cast<double>(surface.valid_count()) / all};
}

// Values at the ends of a space are rare and fail most often. What is least certain is there, so that without regard
// to failures up to twice as many fail as of random ones. Each of these is measured by its own error, at 99.9 %.
TEST(natural_start, fails_no_more_often_than_random_ones) {
    constexpr std::size_t kSearches = 100;
    std::vector<RecordedSurface> surfaces;
    surfaces.push_back(failing_surface([](ChoiceView v) { return v[0] == 11; }));
    surfaces.push_back(failing_surface([](ChoiceView v) { return v[0] >= 8 && v[1] >= 3; }));
    surfaces.push_back(failing_surface([](ChoiceView v) { return v[1] == 4 || v[2] == 0; }));
    surfaces.push_back(failing_surface([](ChoiceView v) { return v[0] + 2 * v[1] + 2 * v[2] > 22; }));
    for (std::size_t s = 0; s < surfaces.size(); ++s) {
        const auto [share, random] = failing_shares(surfaces[s], kSearches);
        const double error = std::sqrt(random * (1.0 - random) / static_cast<double>(kSearches * kFirstOfNatural));
        EXPECT_LE(share, random + 3.1 * error) << s << ": " << share << " of the first, " << random << " of all";
        EXPECT_GT(share, 0.0) << s << ": a failure has to be seen once to be known";
    }
}

}  // namespace
}  // namespace yolk::autotune
