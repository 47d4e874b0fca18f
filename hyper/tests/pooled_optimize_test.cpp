// SPDX-License-Identifier: Apache-2.0
// A search over devices of two vendors ends with the parameters of one device's, whatever fails on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "pool_fixtures.hpp"
#include "searched.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::yolk::testing::expect_error;

class pooled_optimize : public ::testing::Test {
   protected:
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
    }
};

void expect_same(const Searched& got, const Searched& expected) {
    EXPECT_EQ(got.values, expected.values);
    EXPECT_EQ(got.outcome.best_reward, expected.outcome.best_reward);
    EXPECT_EQ(got.outcome.start_reward, expected.outcome.start_reward);
    EXPECT_EQ(got.outcome.held_out_best, expected.outcome.held_out_best);
    ASSERT_EQ(got.outcome.history.size(), expected.outcome.history.size());
    for (std::size_t i = 0; i < got.outcome.history.size(); ++i) {
        EXPECT_EQ(got.outcome.history[i].unperturbed, expected.outcome.history[i].unperturbed) << i;
        EXPECT_EQ(got.outcome.history[i].mean, expected.outcome.history[i].mean) << i;
        EXPECT_EQ(got.outcome.history[i].held_out, expected.outcome.history[i].held_out) << i;
    }
}

TEST_F(pooled_optimize, ends_with_the_parameters_of_one_device) {
    for (auto* const make : {&xor_task, &rotation_task, &temperature_task}) {
        ASSERT_OK_AND_ASSIGN(const Searched expected, search(make(1), few_generations(), nullptr));
        EXPECT_THAT(expected.outcome.shares, IsEmpty());
        std::string notices;
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool one, pool_of({another_device()}, notices));
        ASSERT_OK_AND_ASSIGN(const Searched alone, search(make(1), few_generations(), &one));
        expect_same(alone, expected);
        EXPECT_THAT(alone.outcome.shares, IsEmpty());
        for (const double audit : {0.0, 1.0}) {
            ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool,
                                 pool_of({another_device(), one_device()}, notices, {.audit = audit}));
            ASSERT_OK_AND_ASSIGN(const Searched both, search(make(1), few_generations(), &pool));
            expect_same(both, expected);
            EXPECT_EQ(pool.in_use(), 2U) << notices;
            ASSERT_EQ(both.outcome.shares.size(), 2U);
            // The start, six populations (their means come with the first members), the last mean; held out: the
            // start and the best.
            EXPECT_EQ(both.outcome.shares[0].members + both.outcome.shares[1].members, 1U + 6 * 32 + 1 + 2);
            EXPECT_FALSE(both.outcome.depends_on_placement);
        }
    }
}

TEST_F(pooled_optimize, a_device_lost_midway_changes_nothing) {
    ASSERT_OK_AND_ASSIGN(const Searched expected, search(rotation_task(), few_generations(), nullptr));
    for (const bool is_first : {true, false}) {
        for (const std::uint64_t call : {1U, 7U}) {
            testing::FaultInjector faults;
            ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device(yolk::testing::first_device_name()));
            std::string notices;
            ASSERT_OK_AND_ASSIGN(
                evolve::DevicePool pool,
                pool_of({is_first ? mortal : another_device(), is_first ? another_device() : mortal}, notices));
            OptimizeOptions options = few_generations();
            options.on_generation = [&](const GenerationReport& report) {
                if (report.generation == 2) faults.fail_nth_call(call, testing::FaultKind::DeviceLost);
                return true;
            };
            ASSERT_OK_AND_ASSIGN(const Searched got, search(rotation_task(), options, &pool));
            expect_same(got, expected);
            if (faults.injected_into().empty()) continue;  // so slow today that it got nothing
            EXPECT_EQ(pool.in_use(), 1U);
            EXPECT_THAT(got.outcome.notes, ::testing::Contains(HasSubstr("was dropped")));
        }
    }
}

TEST_F(pooled_optimize, a_hung_device_changes_nothing) {
    ASSERT_OK_AND_ASSIGN(const Searched expected, search(xor_task(), few_generations(), nullptr));
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device(yolk::testing::first_device_name()));
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool,
                         pool_of({mortal, another_device()}, notices, {.hang_limit = std::chrono::seconds(6)}));
    OptimizeOptions options = few_generations();
    options.on_generation = [&](const GenerationReport& report) {
        if (report.generation == 2) faults.hang_submissions(true);
        return true;
    };
    ASSERT_OK_AND_ASSIGN(const Searched got, search(xor_task(), options, &pool));
    expect_same(got, expected);
}

/// Searches over a device that computes wrongly and one that does not. Either vendor's may be so slow today that it
/// gets nothing that is drawn for an audit, so that they take turns, until two were found out.
void search_with_a_wrong_device(double audit, const MakeTask& make,
                                const std::function<void(const Searched& got, const std::string& notices)>& check) {
    std::uint32_t found = 0;
    for (std::uint64_t seed = 1; found < 2 && seed <= 40; ++seed) {
        if (evolve::is_update_audited(audit, seed, 0)) continue;  // nothing to go back over
        SCOPED_TRACE(seed);
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device wrong, mortal_device(seed % 2 == 1 ? yolk::testing::first_device_name()
                                                                             : yolk::testing::other_device_name()));
        std::string notices;
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool, pool_of({wrong, seed % 2 == 1 ? another_device() : one_device()},
                                                              notices, {.audit = audit, .seed = seed}));
        faults.only_on_device(1);            // of those made since: `wrong`
        faults.spoil_multiplications(true);  // after its probe
        const Result<Searched> got = search(make(), few_generations(12), &pool);
        if (pool.is_used(0)) continue;
        ASSERT_OK(got);
        check(*got, notices);
        ++found;
    }
    EXPECT_EQ(found, 2U);
}

/// Nothing is found in the first steps, because an audit draws few chunks; when it is, the search goes back.
TEST_F(pooled_optimize, what_a_wrong_device_spoilt_is_made_again) {
    ASSERT_OK_AND_ASSIGN(const Searched expected, search(rotation_task(), few_generations(12), nullptr));
    search_with_a_wrong_device(
        0.2, [] { return rotation_task(); },
        [&](const Searched& got, const std::string& notices) {
            expect_same(got, expected);
            EXPECT_THAT(notices, HasSubstr("It computes wrongly"));
        });
}

/// Host functions are evaluated on the host, so that the device makes the update alone, and that is wrong.
TEST_F(pooled_optimize, a_wrong_update_is_found_and_made_again) {
    ASSERT_OK_AND_ASSIGN(const Searched expected, search(temperature_task(), few_generations(12)));
    search_with_a_wrong_device(
        0.3, [] { return temperature_task(); },
        [&](const Searched& got, const std::string& notices) {
            expect_same(got, expected);
            EXPECT_THAT(notices, HasSubstr("its update of generation"));
            EXPECT_THAT(got.outcome.notes, ::testing::Contains(HasSubstr("The search went back")));
        });
}

/// A search of the caller's own that asks for one population and ends.
class AsksOnce final : public Search {
   public:
    [[nodiscard]] std::string name() const override { return "once"; }
    [[nodiscard]] std::uint64_t candidates_per_generation(const OptimizeOptions&) const override { return 4; }
    [[nodiscard]] Result<void> run(Objective& objective) override {
        has_devices = objective.devices() != nullptr;
        std::vector<float> points;
        for (int i = 0; i < 4; ++i)
            points.insert(points.end(), objective.space().mean.begin(), objective.space().mean.end());
        YOLK_TRY_VOID(objective.evaluate(points, 4));
        return {};
    }
    bool has_devices = false;
};

TEST_F(pooled_optimize, searches_of_the_callers_own_use_the_pool) {
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool, pool_of({one_device(), another_device()}, notices));
    AsksOnce once;
    OptimizeOptions options = few_generations();
    options.search = &once;
    ASSERT_OK_AND_ASSIGN(const Searched got, search(xor_task(), options, &pool));
    EXPECT_TRUE(once.has_devices);
    EXPECT_EQ(got.outcome.best_reward, got.outcome.start_reward);
}

TEST_F(pooled_optimize, fast_mode_says_what_it_leaves_open) {
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool,
                         pool_of({one_device(), another_device()}, notices, {.determinism = Determinism::Fast}));
    EXPECT_TRUE(expect_error(search(xor_task(), few_generations(), &pool), ErrorKind::BadInput, "in fast mode"));
    OptimizeOptions options = few_generations(2);
    options.evolution.determinism = Determinism::Fast;
    options.evolution.fitness = FitnessRule::ZScore;
    ASSERT_OK_AND_ASSIGN(const Searched got, search(xor_task(), options, &pool));
    EXPECT_TRUE(got.outcome.depends_on_placement);
    EXPECT_THAT(got.outcome.notes, ::testing::Contains(HasSubstr("last bits of rewards may depend")));
    EXPECT_EQ(to_json(got.outcome)["devices"].size(), 2U);
}

}  // namespace
}  // namespace yolk::hyper
