// SPDX-License-Identifier: Apache-2.0
#include "yolk/devices.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pool_fixtures.hpp"
#include "yolk/context.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"
#include "yolk/internal/testing/variable.hpp"

namespace yolk::evolve {
namespace {

using testing::expect_error;
using testing::Variable;

std::vector<Device> two_vendors() { return {testing::first_device().device, testing::other_device().device}; }

class devices_value : public ::testing::Test {
   protected:
    void TearDown() override { std::filesystem::remove_all(folder_); }
    const std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / ("yolk-devices-" + std::to_string(::getpid()));
    const Variable cache_{"YOLK_CACHE", folder_.c_str()};
    const Variable table_{"YOLK_TABLE", nullptr};
};

TEST_F(devices_value, opens_the_chosen_device_once_for_all_copies) {
    const std::string index = std::to_string(testing::device_index(testing::first_device_name()));
    const Devices chosen;
    const Devices copy = chosen;
    {
        const Variable nobody("YOLK_DEVICE", "nobody");
        EXPECT_TRUE(expect_error(chosen.dispatcher(), ErrorKind::BadInput, "nobody"));
    }
    const Variable device("YOLK_DEVICE", index.c_str());
    ASSERT_OK_AND_ASSIGN(const Dispatcher* const first, copy.dispatcher());
    ASSERT_OK_AND_ASSIGN(const Dispatcher* const second, chosen.dispatcher());
    EXPECT_EQ(first, second);
    EXPECT_EQ(first->device().info().name, testing::first_device().device.info().name);
    EXPECT_EQ(chosen.pool(), nullptr);
    EXPECT_FALSE(chosen.is_none());
}

TEST_F(devices_value, keeps_a_context_and_a_pool_open) {
    std::optional<Devices> one;
    std::optional<Devices> several;
    {
        const std::string index = std::to_string(testing::device_index(testing::first_device_name()));
        ASSERT_OK_AND_ASSIGN(const Context context, Context::create({.device = index, .pipeline_cache = false}));
        one = context;
        ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(two_vendors(), {.on_drop = [](auto&) {}}));
        several = pool;
        pool.drop(0, "The test says so.");
    }
    ASSERT_OK_AND_ASSIGN(Dispatcher* const alone, one->dispatcher());
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, alone->device().create_buffer({.size_bytes = 256, .label = "kept"}));
    EXPECT_OK(alone->upload(buffer, std::vector<std::byte>(256)));
    ASSERT_NE(several->pool(), nullptr);
    EXPECT_FALSE(several->pool()->is_used(0));
    ASSERT_OK_AND_ASSIGN(const std::vector<Device> left, several->handles());
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left.front().impl(), testing::other_device().device.impl());
    ASSERT_OK_AND_ASSIGN(const Dispatcher* const lead, several->dispatcher());
    EXPECT_EQ(lead, &several->pool()->dispatcher(1));
}

TEST_F(devices_value, of_open_devices_are_taken_together_when_that_is_needed) {
    const Devices both = two_vendors();
    const Devices copy = both;
    ASSERT_NE(both.pool(), nullptr);
    EXPECT_EQ(both.pool(), copy.pool());
    EXPECT_EQ(both.pool()->in_use(), 2U);
    const Devices twice = std::vector<Device>{two_vendors()[0], two_vendors()[0]};
    EXPECT_EQ(twice.pool(), nullptr);
    EXPECT_TRUE(expect_error(twice.dispatcher(), ErrorKind::BadInput, "give each device once"));
    const Devices empty = std::vector<Device>();
    EXPECT_TRUE(expect_error(empty.dispatcher(), ErrorKind::BadInput, "at least one device"));
}

TEST_F(devices_value, borrows_what_an_engine_brings_and_other_ranks) {
    const Devices engine = testing::first_device().dispatcher;
    ASSERT_OK_AND_ASSIGN(const Dispatcher* const its, engine.dispatcher());
    EXPECT_EQ(its, &testing::first_device().dispatcher);
    SoloExchange solo;
    EXPECT_EQ(engine.with(solo).exchange(), &solo);
    EXPECT_FALSE(engine.with(solo).has_other_ranks());
    EXPECT_EQ(engine.exchange(), nullptr);
    testing::on_ranks<Exchange>(2, [&](Exchange& exchange) { EXPECT_TRUE(engine.with(exchange).has_other_ranks()); });
}

TEST_F(devices_value, of_none_run_on_the_host_alone) {
    EXPECT_TRUE(Devices::none().is_none());
    EXPECT_TRUE(expect_error(Devices::none().dispatcher(), ErrorKind::BadInput, "needs a device"));
    ASSERT_OK_AND_ASSIGN(const std::vector<Device> handles, Devices::none().handles());
    EXPECT_TRUE(handles.empty());
    const EvolutionOptions options{.population = 8};
    testing::on_ranks<Exchange>(2, [&](Exchange& exchange) {
        PoolParts parts = host_scored_parts(options, [](std::size_t) { return host_members(&score_on_host); });
        EXPECT_TRUE(expect_error(Evolution::create(Devices::none().with(exchange), std::move(parts), options),
                                 ErrorKind::BadInput, "several ranks"));
    });
}

/// One value for all: the same run, to the bit, on whatever it is made of; and the run keeps it open.
TEST_F(devices_value, of_any_kind_make_the_same_run) {
    const EvolutionOptions options{.population = 16, .seed = 7};
    const auto hash_on = [&](const Devices& devices) -> Result<std::string> {
        PoolParts parts = host_scored_parts(options, [](std::size_t) { return host_members(&score_on_host); });
        YOLK_TRY(Evolution run, Evolution::create(devices, std::move(parts), options));
        for (int generation = 0; generation < 3; ++generation) YOLK_TRY_VOID(run.step());
        return run.state_hash();
    };
    ASSERT_OK_AND_ASSIGN(const std::string expected, hash_on(testing::first_device().dispatcher));
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(two_vendors()));
    for (const Devices& devices :
         {Devices(std::move(pool)), Devices(two_vendors()), Devices(testing::other_device().device), Devices::none()}) {
        ASSERT_OK_AND_ASSIGN(const std::string hash, hash_on(devices));
        EXPECT_EQ(hash, expected);
    }
}

}  // namespace
}  // namespace yolk::evolve
