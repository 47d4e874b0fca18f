// SPDX-License-Identifier: Apache-2.0
// A search that was interrupted goes on from its checkpoint to the parameters of one that was not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

#include "pool_fixtures.hpp"
#include "searched.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"
#include "yolk/json.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

class search_checkpoint : public ::testing::Test {
   protected:
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
        folder_ = std::filesystem::path(::testing::TempDir()) /
                  (std::string("yolk-search-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] OptimizeOptions options(std::uint32_t steps) const {
        OptimizeOptions options{
            .evolution = {.population = 16, .sigma = 0.5F, .learning_rate = 0.5F, .optimizer = OptimizerRule::Adam},
            .generations = steps};
        options.checkpoint = folder_ / "search";
        options.checkpoint_every = 3;
        return options;
    }
    std::filesystem::path folder_;
};

void expect_went_on(const Searched& got, const Searched& expected) {
    EXPECT_EQ(got.values, expected.values);
    EXPECT_EQ(got.outcome.state_hash, expected.outcome.state_hash);
    EXPECT_EQ(got.outcome.best_reward, expected.outcome.best_reward);
    EXPECT_EQ(got.outcome.start_reward, expected.outcome.start_reward);
    EXPECT_EQ(got.outcome.held_out_start, expected.outcome.held_out_start);
    EXPECT_EQ(got.outcome.held_out_best, expected.outcome.held_out_best);
    EXPECT_EQ(got.outcome.generations, expected.outcome.generations);
}

/// As a kill leaves it: the checkpoint that is there when step 7 is reported, of after step 5.
std::function<bool(const GenerationReport&)> copies_at_generation_7(const std::filesystem::path& folder) {
    return [folder](const GenerationReport& report) {
        if (report.generation == 7) {
            std::filesystem::copy_file(folder / "search", folder / "killed",
                                       std::filesystem::copy_options::overwrite_existing);
        }
        return true;
    };
}

TEST_F(search_checkpoint, a_killed_search_goes_on_to_the_same_parameters) {
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool both, pool_of({one_device(), another_device()}, notices));
    for (const MakeTask& make : small_tasks()) {
        OptimizeOptions whole = options(12);
        whole.on_generation = copies_at_generation_7(folder_);
        ASSERT_OK_AND_ASSIGN(const Searched expected, search(make(), whole));
        for (evolve::DevicePool* const devices : {static_cast<evolve::DevicePool*>(nullptr), &both}) {
            OptimizeOptions again = options(12);
            again.checkpoint = folder_ / "copy";
            std::filesystem::copy_file(folder_ / "killed", again.checkpoint,
                                       std::filesystem::copy_options::overwrite_existing);
            again.resume = true;
            ASSERT_OK_AND_ASSIGN(const Searched resumed, search(make(), again, devices));
            expect_went_on(resumed, expected);
            EXPECT_EQ(resumed.outcome.resumed_from, 6U);
            EXPECT_EQ(resumed.outcome.history.size(), 6U);
            EXPECT_EQ(resumed.outcome.history.front().unperturbed, expected.outcome.history[6].unperturbed);
            EXPECT_EQ(resumed.outcome.cost.metric_calls, expected.outcome.cost.metric_calls);
        }
    }
}

TEST_F(search_checkpoint, one_that_was_stopped_or_had_fewer_steps_goes_on) {
    for (const MakeTask& make : small_tasks()) {
        OptimizeOptions whole = options(12);
        whole.checkpoint = folder_ / "whole";
        ASSERT_OK_AND_ASSIGN(const Searched expected, search(make(), whole));
        std::filesystem::remove(folder_ / "search");
        OptimizeOptions stopped = options(12);
        stopped.on_generation = [](const GenerationReport& report) { return report.generation < 4; };
        ASSERT_OK(search(make(), stopped));
        OptimizeOptions again = options(8);
        again.resume = true;
        ASSERT_OK_AND_ASSIGN(const Searched eight, search(make(), again));
        EXPECT_EQ(eight.outcome.resumed_from, 5U) << "the step whose report ended the search was made";
        again.generations = 12;
        ASSERT_OK_AND_ASSIGN(const Searched resumed, search(make(), again));
        EXPECT_EQ(resumed.outcome.resumed_from, 8U);
        EXPECT_EQ(resumed.values, expected.values);
        EXPECT_EQ(resumed.outcome.state_hash, expected.outcome.state_hash);
    }
}

TEST_F(search_checkpoint, any_number_of_ranks_goes_on) {
    OptimizeOptions whole = options(12);
    whole.on_generation = copies_at_generation_7(folder_);
    ASSERT_OK_AND_ASSIGN(const Searched expected, search(rotation_task(), whole));
    std::filesystem::rename(folder_ / "killed", folder_ / "search");
    std::vector<Result<Searched>> results(3, failed_work("not run"));
    ASSERT_OK_AND_ASSIGN(std::vector<RankDevice> devices, devices_of_ranks(3));
    yolk::testing::on_ranks<evolve::Exchange>(3, [&](evolve::Exchange& exchange) {
        Task task = rotation_task();
        task.system.use(evolve::Devices(devices[exchange.rank()].dispatcher).with(exchange));
        OptimizeOptions again = options(12);
        again.resume = true;
        results[exchange.rank()] = optimized(task, again);
    });
    for (const Result<Searched>& result : results) {
        ASSERT_OK(result);
        EXPECT_EQ(result->values, expected.values);
        EXPECT_EQ(result->outcome.state_hash, expected.outcome.state_hash);
        EXPECT_EQ(result->outcome.resumed_from, 6U);
    }
    // And the one that they left, by a single process.
    OptimizeOptions alone = options(12);
    alone.resume = true;
    ASSERT_OK_AND_ASSIGN(const Searched last, search(rotation_task(), alone));
    EXPECT_EQ(last.values, expected.values);
}

TEST_F(search_checkpoint, the_log_goes_on) {
    const auto lines = [](const std::filesystem::path& path) {
        std::ifstream file(path);
        std::vector<Json> all;
        for (std::string line; std::getline(file, line);) all.push_back(Json::parse(line));
        return all;
    };
    OptimizeOptions whole = options(12);
    whole.log = folder_ / "log";
    whole.on_generation = copies_at_generation_7(folder_);
    ASSERT_OK(search(xor_task(), whole));
    const std::vector<Json> expected = lines(folder_ / "log");
    std::filesystem::rename(folder_ / "killed", folder_ / "search");
    OptimizeOptions again = options(12);
    again.resume = true;
    again.log = folder_ / "log";
    ASSERT_OK(search(xor_task(), again));
    const std::vector<Json> got = lines(folder_ / "log");
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 1; i + 1 < got.size(); ++i) {
        EXPECT_EQ(got[i]["generation"], i - 1);
        EXPECT_EQ(got[i]["unperturbed"], expected[i]["unperturbed"]);
    }
    EXPECT_EQ(got.back()["state_hash"], expected.back()["state_hash"]);
}

TEST_F(search_checkpoint, what_does_not_fit_is_refused) {
    OptimizeOptions first = options(4);
    ASSERT_OK(search(xor_task(), first));
    OptimizeOptions again = options(6);
    again.resume = true;
    again.evolution.sigma = 0.25F;
    EXPECT_TRUE(expect_error(search(xor_task(), again), ErrorKind::BadInput, "whose sigma is 0.5; now it is 0.25"));
    again = options(6);
    again.resume = true;
    EXPECT_TRUE(expect_error(search(rotation_task(), again), ErrorKind::BadInput, "whose system is xor"));
    again.checkpoint.clear();
    EXPECT_TRUE(expect_error(search(xor_task(), again), ErrorKind::BadInput, "no path of a checkpoint"));
    // Nothing to go on from: from the beginning.
    again.checkpoint = folder_ / "none";
    ASSERT_OK_AND_ASSIGN(const Searched anew, search(xor_task(), again));
    EXPECT_EQ(anew.outcome.resumed_from, 0U);
    // A folder that is not there is told before the work would be lost, and the parameters stay.
    OptimizeOptions nowhere = options(4);
    nowhere.checkpoint = folder_ / "missing" / "search";
    EXPECT_TRUE(expect_error(search(xor_task(), nowhere), ErrorKind::Io, "missing"));
}

}  // namespace
}  // namespace yolk::hyper
