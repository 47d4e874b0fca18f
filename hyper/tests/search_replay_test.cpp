// SPDX-License-Identifier: Apache-2.0
// The log of a search is the search: the same bytes wherever it ran, and every generation's parameters from it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "pool_fixtures.hpp"
#include "searched.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"
#include "yolk/run_log.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

class search_replay : public ::testing::Test {
   protected:
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
        folder_ = std::filesystem::path(::testing::TempDir()) /
                  fmt::format("search_replay_{}_{}", ::getpid(),
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    /// All examples are drawn in each step, so that the last mean is what the search keeps.
    [[nodiscard]] OptimizeOptions logged(const std::string& name, std::uint32_t steps, std::uint32_t examples) const {
        OptimizeOptions options = few_generations(steps);
        options.examples_per_generation = examples;
        options.run_log = folder_ / name;
        return options;
    }
    [[nodiscard]] std::vector<std::byte> bytes_of(const std::string& name) const {
        return read_file(folder_ / name, std::size_t{1} << 30U).value_or(std::vector<std::byte>());
    }
    std::filesystem::path folder_;
};

Result<Searched> searched_on_first(Task task, const OptimizeOptions& options) {
    task.system.use(yolk::testing::first_device().dispatcher);
    return optimized(task, options);
}

std::vector<float> values_of(const System& system) {
    std::vector<float> values;
    for (const ParameterGroup& group : system.parameters().groups())
        values.insert(values.end(), group.values.values().begin(), group.values.values().end());
    return values;
}

TEST_F(search_replay, gives_the_parameters_after_any_generation) {
    for (const MakeTask& make : small_tasks()) {
        const auto count = static_cast<std::uint32_t>(make().examples.size());
        ASSERT_OK(searched_on_first(make(), logged("whole", 6, count)));
        for (const std::uint32_t generation : {0U, 1U, 4U, 6U}) {
            SCOPED_TRACE(generation);
            Task task = make();
            task.system.use(generation % 2 == 0 ? yolk::testing::first_device().dispatcher
                                                : yolk::testing::other_device().dispatcher);
            ASSERT_OK_AND_ASSIGN(const SearchReplay replayed,
                                 replay(task.system, task.examples, folder_ / "whole", generation));
            EXPECT_EQ(replayed.generations_in_log, 6U);
            EXPECT_EQ(replayed.generation, generation);
            EXPECT_FALSE(replayed.differs_from);
            if (generation == 0) continue;
            ASSERT_OK_AND_ASSIGN(const Searched expected, searched_on_first(make(), logged("part", generation, count)));
            EXPECT_EQ(values_of(task.system), expected.values);
        }
    }
}

TEST_F(search_replay, the_log_is_the_same_on_devices_and_ranks) {
    for (const MakeTask& make : small_tasks()) {
        const auto count = static_cast<std::uint32_t>(make().examples.size());
        ASSERT_OK(searched_on_first(make(), logged("one", 5, count)));
        const std::vector<std::byte> expected = bytes_of("one");
        ASSERT_GT(expected.size(), 1000U);
        std::string notices;
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool,
                             pool_of({one_device(), another_device()}, notices, {.audit = 0.5}));
        Task task = make();
        task.system.use(pool);
        ASSERT_OK(optimized(task, logged("pool", 5, count)));
        EXPECT_EQ(bytes_of("pool"), expected);
        ASSERT_OK_AND_ASSIGN(std::vector<RankDevice> devices, devices_of_ranks(2));
        yolk::testing::on_ranks<evolve::Exchange>(2, [&](evolve::Exchange& exchange) {
            Task mine = make();
            mine.system.use(evolve::Devices(devices[exchange.rank()].dispatcher).with(exchange));
            OptimizeOptions options = logged("ranks", 5, count);
            EXPECT_TRUE(optimized(mine, options).has_value());
        });
        EXPECT_EQ(bytes_of("ranks"), expected);
    }
}

TEST_F(search_replay, a_search_that_resumes_goes_on_with_its_log) {
    ASSERT_OK(searched_on_first(temperature_task(), logged("whole", 6, 0)));
    OptimizeOptions first = logged("parts", 6, 0);
    first.checkpoint = folder_ / "checkpoint";
    first.on_generation = [](const GenerationReport& report) { return report.generation < 2; };
    ASSERT_OK(searched_on_first(temperature_task(), first));
    EXPECT_LT(bytes_of("parts").size(), bytes_of("whole").size());
    first.on_generation = {};
    first.resume = true;
    ASSERT_OK(searched_on_first(temperature_task(), first));
    EXPECT_EQ(bytes_of("parts"), bytes_of("whole"));
    // Without its log the search goes on, and the new one says where it begins.
    std::filesystem::remove(folder_ / "parts");
    first.generations = 8;
    ASSERT_OK(searched_on_first(temperature_task(), first));
    Task task = temperature_task();
    task.system.use(yolk::testing::first_device().dispatcher);
    EXPECT_TRUE(expect_error(replay(task.system, task.examples, folder_ / "parts"), ErrorKind::BadInput,
                             "begins after generation 6"));
}

/// What a wrong device spoilt is not in the log.
TEST_F(search_replay, a_search_that_went_back_has_the_log_of_one_that_did_not) {
    ASSERT_OK(searched_on_first(rotation_task(), logged("right", 8, 0)));
    std::uint32_t found = 0;
    for (std::uint64_t seed = 1; found < 1 && seed <= 40; ++seed) {
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device wrong, mortal_device(yolk::testing::first_device_name()));
        std::string notices;
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool,
                             pool_of({wrong, another_device()}, notices, {.audit = 0.2, .seed = seed}));
        faults.only_on_device(1);
        faults.spoil_multiplications(true);
        Task task = rotation_task();
        task.system.use(pool);
        ASSERT_OK_AND_ASSIGN(const Searched got, optimized(task, logged("again", 8, 0)));
        const bool went_back = std::ranges::any_of(
            got.outcome.notes, [](const std::string& note) { return note.starts_with("The search went back"); });
        if (pool.is_used(0) || !went_back) continue;
        EXPECT_EQ(bytes_of("again"), bytes_of("right"));
        ++found;
    }
    EXPECT_EQ(found, 1U);
}

TEST_F(search_replay, what_does_not_fit_is_refused) {
    ASSERT_OK(searched_on_first(xor_task(), logged("log", 3, 0)));
    const std::filesystem::path log = folder_ / "log";
    const auto refused = [](Task task, const std::filesystem::path& path, const std::string& words,
                            std::optional<std::uint32_t> generation = {}) {
        task.system.use(yolk::testing::first_device().dispatcher);
        const std::vector<float> before = values_of(task.system);
        EXPECT_TRUE(expect_error(replay(task.system, task.examples, path, generation), ErrorKind::BadInput, words));
        EXPECT_TRUE(before.empty() || values_of(task.system) == before);
    };
    refused(xor_task(), log, "ends after generation 3; generation 4 was asked for", 4);
    refused(rotation_task(), log, "is of the system");
    Task changed = xor_task();
    ASSERT_OK(optimized(changed, few_generations(1)));
    refused(std::move(changed), log, "began with other parameters");
    std::vector<std::byte> bytes = bytes_of("log");
    bytes[bytes.size() / 2] ^= std::byte{1};
    ASSERT_OK(write_file_atomically(folder_ / "damaged", bytes));
    refused(xor_task(), folder_ / "damaged", "damaged");
    for (const bool by_derivatives : {true, false}) {
        OptimizeOptions options = logged("none", 2, 0);
        if (by_derivatives) {
            options.gradient.emplace();
        } else {
            options.text.emplace();
        }
        EXPECT_TRUE(expect_error(searched_on_first(xor_task(), options), ErrorKind::BadInput,
                                 "A log of generations is kept by EGGROLL alone"));
    }
}

}  // namespace
}  // namespace yolk::hyper
