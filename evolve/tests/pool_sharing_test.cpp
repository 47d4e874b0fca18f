// SPDX-License-Identifier: Apache-2.0
// Updates that the devices of a pool make together: the bits of one, whoever fails at its share.
#include "pool_sharing.hpp"

#include <array>
#include <thread>

#include "rollout_pool_fixtures.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk::evolve {
namespace {

class pool_sharing : public RolloutPoolTest {};

TEST_F(pool_sharing, an_update_that_all_devices_make_has_the_same_bits) {
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed());
    const std::array devices{another_device(), one_device()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices));
    PoolParts parts = pooled_parts(pooled_options());
    parts.update_by = UpdateBy::All;
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
    ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run));
    EXPECT_EQ(trail, expected);
    EXPECT_EQ(pool.in_use(), 2U);
}

/// A slow device may be given nothing for some generations; the run goes on until it has failed.
TEST_F(pool_sharing, a_device_lost_in_a_shared_update_is_dropped_and_the_bits_stay) {
    constexpr std::uint32_t kMostGenerations = 300;
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed(kMostGenerations));
    for (const std::uint64_t call : {2U, 5U, 8U, 11U}) {
        SCOPED_TRACE(call);
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device(testing::first_device_name()));
        const std::array devices{mortal, another_device()};
        ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {.on_drop = [](auto&) {}}));
        PoolParts parts = pooled_parts(pooled_options());
        parts.update_by = UpdateBy::All;
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
        ASSERT_OK(run.step());
        faults.fail_nth_call(call, testing::FaultKind::DeviceLost);
        while (faults.injected_into().empty() && run.generations() + 1 < kMostGenerations) ASSERT_OK(run.step());
        EXPECT_EQ(pool.in_use(), 1U);
        ASSERT_OK(run.step());
        ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
        EXPECT_EQ(hash, expected.hashes.at(run.generations() - 1));
    }
}

/// No thread is started for a share: each worker has its own.
TEST_F(pool_sharing, shares_are_made_on_the_pools_threads) {
    const std::array devices{another_device(), one_device()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {.host_workers = 1}));
    std::array<std::thread::id, 3> threads;
    pool.on_each([&](std::size_t worker) { threads.at(worker) = std::this_thread::get_id(); });
    const std::vector<std::size_t> workers{1, 0};
    const OnEachDevice on_each = on_pool_threads(pool, workers);
    for (int update = 0; update < 3; ++update) {
        std::array<std::thread::id, 2> made{};
        on_each([&](std::size_t position) { made.at(position) = std::this_thread::get_id(); });
        EXPECT_EQ(made[0], threads[1]);
        EXPECT_EQ(made[1], threads[0]);
    }
}

ShapedGeneration weights_of(const EvolutionOptions& options) {
    ShapedGeneration shaped;
    shaped.summary.coefficient = 0.0123F;
    shaped.summary.finite_count = options.population;
    for (std::uint32_t pair = 0; pair < options.population / 2; ++pair) {
        const auto weight = static_cast<std::int8_t>(pair * 101 % 255 - 127);
        if (is_integer_rule(options.fitness))
            shaped.integer_weights.push_back(weight);
        else
            shaped.float_weights.push_back(static_cast<float>(weight));
    }
    return shaped;
}

/// The state's hash after two updates. Nothing is evaluated, so no rates are known, and the lead is the first of alike
/// devices.
Result<std::string> updated_twice(DevicePool& pool, UpdateBy by, const EvolutionOptions& options,
                                  std::optional<EsUpdateConfig> config = {}) {
    PoolParts parts = pooled_parts(options);
    parts.update_by = by;
    parts.config.es_update = config;
    YOLK_TRY(Evolution run, Evolution::create(pool, std::move(parts), options));
    for (int update = 0; update < 2; ++update) YOLK_TRY_VOID(run.apply(weights_of(options)));
    return run.state_hash();
}

/// Two devices of one driver: the same sums in the same order, and so the same bits of floats.
TEST_F(pool_sharing, float_weights_are_shared_in_fast_mode) {
    EvolutionOptions options = pooled_options();
    options.fitness = FitnessRule::ZScore;
    options.determinism = Determinism::Fast;
    ASSERT_OK_AND_ASSIGN(const Device first, mortal_device(testing::first_device_name()));
    ASSERT_OK_AND_ASSIGN(const Device second, mortal_device(testing::first_device_name()));
    const std::array devices{first, second};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {.determinism = Determinism::Fast}));
    ASSERT_OK_AND_ASSIGN(const std::string alone, updated_twice(pool, UpdateBy::Lead, options));
    const std::uint64_t dispatches = second.counts().dispatches;
    ASSERT_OK_AND_ASSIGN(const std::string together, updated_twice(pool, UpdateBy::All, options));
    EXPECT_EQ(together, alone);
    EXPECT_GT(second.counts().dispatches, dispatches);
}

TEST_F(pool_sharing, shares_take_the_configuration_of_the_run) {
    ASSERT_OK_AND_ASSIGN(const Device first, mortal_device(testing::first_device_name()));
    ASSERT_OK_AND_ASSIGN(const Device second, mortal_device(testing::first_device_name()));
    const std::array devices{first, second};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices));
    ASSERT_OK_AND_ASSIGN(const std::string expected, updated_twice(pool, UpdateBy::All, pooled_options()));
    const std::uint64_t pipelines = second.counts().pipelines_created;
    ASSERT_OK_AND_ASSIGN(const std::string hash, updated_twice(pool, UpdateBy::All, pooled_options(),
                                                               EsUpdateConfig{.workgroup_size = 64, .tile_blocks = 2}));
    EXPECT_EQ(hash, expected);
    EXPECT_GT(second.counts().pipelines_created, pipelines);
}

/// The nth call of the third device fails, for each n until a run of two updates comes to its end: at first while its
/// part of the sharing is made, then while it makes its share. The others go on making shares.
class pool_sharing_faults : public RolloutPoolTest {
   protected:
    void SetUp() override {
        RolloutPoolTest::SetUp();
        faults_.emplace();
    }
    /// Whether a call failed.
    Result<bool> run_with_fault(std::uint64_t n, testing::FaultKind kind, const std::string& expected_hash) {
        YOLK_TRY(const Device mortal, mortal_device(testing::first_device_name()));
        const std::array devices{one_device(), another_device(), mortal};
        std::string notices;
        YOLK_TRY(DevicePool pool,
                 DevicePool::create(devices, {.on_drop = [&](const std::string& text) { notices += text; }}));
        PoolParts parts = pooled_parts(pooled_options());
        parts.update_by = UpdateBy::All;
        YOLK_TRY(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
        // Counted over both updates: the second may have no share for a device that was slow at the first.
        const std::uint64_t dispatches = another_device().counts().dispatches;
        faults_->fail_nth_call(n, kind);
        YOLK_TRY_VOID(run.apply(weights_of(pooled_options())));
        const bool has_failed = !faults_->injected_into().empty();
        faults_->fail_nothing();
        YOLK_TRY_VOID(run.apply(weights_of(pooled_options())));
        EXPECT_GT(another_device().counts().dispatches, dispatches);
        YOLK_TRY(const std::string hash, run.state_hash());
        EXPECT_EQ(hash, expected_hash);
        const bool is_dropped = has_failed && kind == testing::FaultKind::DeviceLost;
        EXPECT_EQ(pool.in_use(), is_dropped ? 2U : 3U) << notices;
        EXPECT_EQ(notices.find("share of device 2") != std::string::npos, is_dropped) << notices;
        return has_failed;
    }
    std::optional<testing::FaultInjector> faults_;
};

TEST_F(pool_sharing_faults, a_device_that_cannot_make_its_share_is_left_out) {
    const std::array both{one_device(), another_device()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(both));
    ASSERT_OK_AND_ASSIGN(const std::string expected, updated_twice(pool, UpdateBy::Lead, pooled_options()));
    for (const testing::FaultKind kind : {testing::FaultKind::OutOfDeviceMemory, testing::FaultKind::DeviceLost}) {
        std::uint64_t n = 0;
        bool has_failed = true;
        while (has_failed) {
            SCOPED_TRACE(++n);
            ASSERT_OK_AND_ASSIGN(has_failed, run_with_fault(n, kind, expected));
        }
        EXPECT_GT(n, 2U);
    }
}

}  // namespace
}  // namespace yolk::evolve
