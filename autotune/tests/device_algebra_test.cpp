// SPDX-License-Identifier: Apache-2.0
// The algebra on a device: proposals are the host's, whatever fp32 does to the scores.
#include "yolk/internal/autotune/device_linear_algebra.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <memory>

#include "covariance.hpp"
#include "device_posterior.hpp"
#include "exact_posterior.hpp"
#include "surfaces.hpp"
#include "yolk/internal/autotune/policy_fisher.hpp"
#include "yolk/internal/autotune/replay.hpp"
#include "yolk/internal/runtime/probe.hpp"
#include "yolk/internal/runtime/tuning_table.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk::autotune {
namespace {

using ::testing::HasSubstr;

// The bits of the growing factor over all candidates, candidate by candidate: for few measurements and for many, and
// for candidates that do not fill the last tile.
TEST(exact_posterior, has_the_bits_of_the_host_algebra) {
    for (const std::size_t values : {4U, 12U}) {
        std::vector<Parameter> parameters;
        for (int p = 0; p < 4; ++p) {
            std::vector<Value> all;
            for (std::size_t v = 0; v < values - static_cast<std::size_t>(p % 2); ++v)
                all.emplace_back(static_cast<double>(v));
            parameters.push_back(Parameter::of(std::string(1, static_cast<char>('a' + p)), std::move(all)));
        }
        const CandidateSet set = CandidateSet::of(Space::create(std::move(parameters)).value(), 100'000, 1).value();
        const Covariance covariance(set, {.relevance = {1.0, 2.0, 0.25, 1.0}});
        const std::unique_ptr<LinearAlgebra> host = host_linear_algebra();
        ExactPosterior exact;
        host->begin(covariance);
        exact.begin(covariance);
        Random random(3);
        const std::size_t count = values == 4 ? 60 : 150;
        for (std::size_t k = 0; k < count; ++k) {
            const std::size_t candidate = random.below(set.size());
            const double value = std::sin(static_cast<double>(candidate));
            host->append(candidate, 0.0025, value);
            exact.append(candidate, 0.0025, value);
        }
        EXPECT_EQ(host->evidence().values_values, exact.evidence().values_values);
        EXPECT_EQ(host->evidence().log_determinant, exact.evidence().log_determinant);
        std::vector<std::size_t> some;
        for (std::size_t c = 0; c < set.size(); c += set.size() / 50) some.push_back(c);
        std::vector<CandidatePosterior> got(some.size());
        exact.at(some, got);
        for (std::size_t i = 0; i < some.size(); ++i) {
            const CandidatePosterior right = host->at(some[i]);
            EXPECT_EQ(got[i].value_score, right.value_score) << some[i];
            EXPECT_EQ(got[i].unit_score, right.unit_score) << some[i];
            EXPECT_EQ(got[i].variance, right.variance) << some[i];
        }
    }
}

class device_algebra : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(device_algebra);

TEST_P(device_algebra, blocks_of_a_policy_are_the_dense_solve) {
    ASSERT_OK_AND_ASSIGN(const PolicyFisherReport report, policy_fisher_report(dispatcher()));
    EXPECT_LE(report.fisher, kPolicyFisherTolerance);
    EXPECT_LE(report.step, kPolicyFisherTolerance);
    EXPECT_LE(report.pair_fisher, 1e-12);
    EXPECT_LE(report.pair_step, kPolicyFisherTolerance);
    EXPECT_TRUE(report.singular_reported);
    EXPECT_TRUE(report.indefinite_reported);
    EXPECT_OK(check_policy_fisher(dispatcher()));
}

// One seed, one search, whatever does the algebra: curves agree, not within .002 but bit by bit, and the host never had
// to take over. 80 measurements pass refits, a bucket of 64, and proposals near the best.
TEST_P(device_algebra, curves_are_those_of_the_host) {
    const RecordedSurface surface = tiled_product();
    ReplayOptions options{.tuner = {.strategy = "natural", .budget = 80}, .repeats = 1};
    const Replay host = replay(surface, options).value();
    ASSERT_OK_AND_ASSIGN(const auto algebra, DeviceAlgebra::create(device()));
    options.tuner.settings.linear_algebra = on_device(algebra);
    const Replay on_the_device = replay(surface, options).value();
    EXPECT_EQ(host.curves, on_the_device.curves);
    const DeviceAlgebraCounts counts = algebra->counts();
    EXPECT_EQ(counts.take_overs(), 0U) << counts.reason;
    EXPECT_GT(counts.proposals, 30U);
    EXPECT_GT(counts.near, 15U);
    EXPECT_GT(counts.audits, 2U);
    EXPECT_LT(counts.residual, 0.5);
    EXPECT_LT(counts.mean_error, 0.5);
    EXPECT_LT(counts.variance_error, 0.5);
    // Most of the space is never worked out in double precision.
    EXPECT_LT(counts.worked_out, counts.proposals * surface.costs().size() / 8);
    RecordProperty("residual", std::to_string(counts.residual));
    RecordProperty("mean_error", std::to_string(counts.mean_error));
    RecordProperty("variance_error", std::to_string(counts.variance_error));
}

/// A regression on a surface, measured by its own proposals after some drawn ones.
class Regression {
   public:
    Regression(const RecordedSurface& surface, std::unique_ptr<LinearAlgebra> algebra)
        : surface_(surface),
          covariance_(surface.candidates(), {}),
          history_(surface.costs().size()),
          algebra_(std::move(algebra)) {
        algebra_->begin(covariance_);
    }
    void tell(std::size_t candidate) {
        const double cost = std::isfinite(surface_.costs()[candidate]) ? surface_.costs()[candidate] : 10.0;
        history_.add(candidate, cost);
        algebra_->append(candidate, 0.0025, std::log(cost));
        best_ = std::min(best_, std::log(cost));
    }
    void draw(std::size_t count) {
        Random random(5);
        while (count > 0) {
            const std::size_t candidate = random.below(surface_.costs().size());
            if (history_.known(candidate)) continue;
            tell(candidate);
            --count;
        }
    }
    std::size_t propose() {
        return *algebra_->most_promising({.best = best_, .level = 0.4, .deviation = 0.3, .history = &history_}, {});
    }
    void step(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) tell(propose());
    }

   private:
    const RecordedSurface& surface_;
    Covariance covariance_;
    History history_;
    std::unique_ptr<LinearAlgebra> algebra_;
    double best_ = 1e9;
};

// Counts of measurements are padded: within a bucket nothing is planned and nothing is made.
TEST_P(device_algebra, the_steady_state_makes_nothing) {
    const RecordedSurface surface = tiled_product();
    ASSERT_OK_AND_ASSIGN(const auto algebra, DeviceAlgebra::create(device()));
    Regression regression(surface, algebra->make());
    regression.draw(20);
    regression.step(18);  // past the first audit, which makes its buffer
    const std::uint64_t plans = algebra->counts().plans;
    const OperationCounts before = device().counts();
    regression.step(20);
    EXPECT_EQ(algebra->counts().plans, plans);
    const OperationCounts after = device().counts();
    EXPECT_EQ(after.buffers_created, before.buffers_created);
    EXPECT_EQ(after.memory_blocks, before.memory_blocks);
    EXPECT_EQ(after.pipelines_created, before.pipelines_created);
    EXPECT_EQ(algebra->counts().regressions, 1U);
    regression.step(12);  // past 64: one bucket more, one inverse more, and the same regression
    EXPECT_GT(algebra->counts().plans, plans);
    EXPECT_EQ(algebra->counts().regressions, 1U);
    EXPECT_EQ(algebra->counts().inversions, 2U);
    EXPECT_EQ(algebra->counts().take_overs(), 0U) << algebra->counts().reason;
}

// More measurements than block_inverse takes: the host takes over, and proposes what it would have.
TEST_P(device_algebra, the_host_takes_over_where_the_device_cannot) {
    const RecordedSurface surface = tiled_product();
    ASSERT_OK_AND_ASSIGN(const auto algebra, DeviceAlgebra::create(device()));
    Regression regression(surface, algebra->make());
    Regression right(surface, host_linear_algebra());
    regression.draw(kMostMeasurements + 1);
    right.draw(kMostMeasurements + 1);
    for (int i = 0; i < 3; ++i) {
        const std::size_t proposed = regression.propose();
        EXPECT_EQ(proposed, right.propose());
        regression.tell(proposed);
        right.tell(proposed);
    }
    EXPECT_EQ(algebra->counts().failures, 1U);
    EXPECT_THAT(algebra->counts().reason, HasSubstr("1024"));
}

// Plans are made with what the table says by then: a kernel that was tuned is the one that is used.
TEST_P(device_algebra, tuned_kernels_are_the_ones_that_run) {
    const RecordedSurface surface = tiled_product();
    const MatmulDesc desc{.m = kScoreRows, .n = padded_candidates(surface.costs().size()), .k = kMeasurementBucket};
    const ConfigSpace<MatmulConfig> space = space_of(device().info(), desc);
    const MatmulConfig heuristic = heuristic_of(device().info(), desc);
    MatmulConfig other = heuristic;
    for (const Configuration& drawn : space.space().draw(20, 1)) {
        if (!(space.config(drawn) == heuristic)) other = space.config(drawn);
    }
    ASSERT_FALSE(other == heuristic);
    const auto used = [&]() -> std::optional<MatmulConfig> {
        const auto algebra = DeviceAlgebra::create(device()).value();
        Regression regression(surface, algebra->make());
        regression.draw(20);
        regression.step(2);
        EXPECT_EQ(algebra->counts().take_overs(), 0U) << algebra->counts().reason;
        if (!algebra->plans()) return std::nullopt;
        return algebra->plans()->scores;
    };
    EXPECT_EQ(used(), heuristic);
    device().set_tuning_table(std::make_shared<const TuningTable>(
        std::vector<TuningEntry>{{.family = "matmul",
                                  .shape = space.space().shape(),
                                  .configuration = named_configuration(space.space(), space.configuration(other))}}));
    EXPECT_EQ(used(), other);
    device().set_tuning_table(nullptr);
}

// With the best value out of reach all gains are below what the screens of groups can say: each candidate is bounded,
// and the proposals of two regressions are still the host's.
TEST_P(device_algebra, two_regressions_far_from_the_best_agree_with_the_host) {
    const RecordedSurface surface = tiled_product();
    const CandidateSet& candidates = surface.candidates();
    ASSERT_OK_AND_ASSIGN(const auto algebra, DeviceAlgebra::create(device()));
    const std::array<Covariance, 2> covariances{Covariance(candidates, {}),
                                                Covariance(candidates, {.linear_share = 0.0, .residual_share = 1.0})};
    std::array<std::unique_ptr<LinearAlgebra>, 2> on_device{algebra->make(), algebra->make()};
    std::array<std::unique_ptr<LinearAlgebra>, 2> right{host_linear_algebra(), host_linear_algebra()};
    History history(candidates.size());
    const auto tell = [&](std::size_t candidate) {
        const double cost = std::isfinite(surface.costs()[candidate]) ? surface.costs()[candidate] : 10.0;
        history.add(candidate, cost);
        for (auto* const algebras : {&on_device, &right}) {
            for (const auto& one : *algebras) one->append(candidate, 0.0025, std::log(cost));
        }
    };
    for (std::size_t i = 0; i < 2; ++i) {
        on_device[i]->begin(covariances[i]);
        right[i]->begin(covariances[i]);
    }
    Random random(5);
    while (history.size() < 40) {
        const std::size_t candidate = random.below(candidates.size());
        if (!history.known(candidate)) tell(candidate);
    }
    for (int i = 0; i < 12; ++i) {
        const Acquisition first{
            .best = -20.0, .level = 0.4, .deviation = 0.3, .prior = {}, .history = &history, .weight = 1.0};
        Acquisition second = first;
        second.weight = 2.0;
        const auto proposed = on_device[0]->most_promising_with(first, *on_device[1], second, {});
        ASSERT_TRUE(proposed);
        EXPECT_EQ(proposed, right[0]->most_promising_with(first, *right[1], second, {}));
        tell(*proposed);
    }
    EXPECT_EQ(algebra->counts().proposals, 12U);
    EXPECT_EQ(algebra->counts().closer, 12U);
    EXPECT_EQ(algebra->counts().take_overs(), 0U) << algebra->counts().reason;
    EXPECT_LT(algebra->counts().worked_out, 12U * candidates.size() / 2);
}

class device_algebra_faults : public testing::DeviceTest {
   protected:
    void SetUp() override { static_cast<void>(testing::instance()); }
    testing::FaultInjector faults_;
};
YOLK_FOR_EACH_DEVICE(device_algebra_faults);

// The device goes away in the middle of a search: it goes on, with the same proposals, and says so.
TEST_P(device_algebra_faults, a_lost_device_changes_no_proposal) {
    const RecordedSurface surface = tiled_product();
    ASSERT_OK_AND_ASSIGN(const Device device,
                         Device::create(testing::instance(), testing::device_index(device_name())));
    ASSERT_OK(probe(device));
    ASSERT_OK_AND_ASSIGN(const auto algebra, DeviceAlgebra::create(device));
    Regression regression(surface, algebra->make());
    Regression right(surface, host_linear_algebra());
    regression.draw(20);
    right.draw(20);
    for (int i = 0; i < 6; ++i) {
        if (i == 3) faults_.fail_nth_call(1, testing::FaultKind::DeviceLost);
        const std::size_t proposed = regression.propose();
        EXPECT_EQ(proposed, right.propose());
        regression.tell(proposed);
        right.tell(proposed);
    }
    faults_.fail_nothing();
    EXPECT_EQ(algebra->counts().failures, 1U);
    EXPECT_EQ(algebra->counts().proposals, 3U);
}

}  // namespace
}  // namespace yolk::autotune
