// SPDX-License-Identifier: Apache-2.0
// Which device of a pool makes the updates, by how fast each has shown itself to be.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "pool_fixtures.hpp"

namespace yolk::evolve {
namespace {

constexpr std::chrono::microseconds kUsual{50};  // for a member
constexpr std::chrono::microseconds kSlow{20 * kUsual};

/// A run on two devices, of which the first one leads and takes kSlow for a member in these generations.
class LedRun {
   public:
    [[nodiscard]] Result<void> begin(std::function<bool(std::uint32_t generation)> is_slow) {
        for (std::optional<Device>& each : devices_) {
            YOLK_TRY(each, probed_device(testing::first_device_name()));
        }
        const std::array both{*devices_[0], *devices_[1]};
        YOLK_TRY(DevicePool pool, DevicePool::create(both));
        PoolParts parts = host_scored_parts(kOptions, [is_slow = std::move(is_slow)](std::size_t worker) {
            return host_members([is_slow, worker](const HostQuestion& question, std::span<float> returns) {
                const bool slow = worker == 0 && is_slow(question.when.generation);
                std::this_thread::sleep_for((slow ? kSlow : kUsual) * question.members.count);
                return score_on_host(question, returns);
            });
        });
        parts.update_by = UpdateBy::Lead;
        YOLK_TRY(run_, Evolution::create(std::move(pool), std::move(parts), kOptions));
        return {};
    }
    [[nodiscard]] Result<void> step() {
        YOLK_TRY_VOID(run_->step());
        return {};
    }
    /// Whoever has made no plans has made no update.
    [[nodiscard]] bool has_second_led() const { return devices_[1]->counts().pipelines_created > before_; }
    void forget_pipelines_so_far() { before_ = devices_[1]->counts().pipelines_created; }

   private:
    static constexpr EvolutionOptions kOptions{.population = 1024, .seed = 3};
    std::array<std::optional<Device>, 2> devices_;
    std::optional<Evolution> run_;
    std::uint64_t before_ = 0;  // pipelines of the second device: a probe makes some
};

/// A machine that stands still for a moment makes any device seem slow; plans that are made anew for that take seconds
/// and leave memory behind.
TEST(pool_lead, stays_where_it_was_slow_for_a_moment) {
    LedRun run;
    ASSERT_OK(run.begin([](std::uint32_t generation) { return generation % 10 == 9; }));
    run.forget_pipelines_so_far();
    for (int generation = 0; generation < 30; ++generation) ASSERT_OK(run.step());
    EXPECT_FALSE(run.has_second_led());
}

TEST(pool_lead, makes_way_where_it_stays_slow) {
    LedRun run;
    ASSERT_OK(run.begin([](std::uint32_t generation) { return generation >= 5; }));
    run.forget_pipelines_so_far();
    for (int generation = 0; generation < 5; ++generation) ASSERT_OK(run.step());
    EXPECT_FALSE(run.has_second_led());
    constexpr int kMost = 200;
    for (int generation = 0; generation < kMost && !run.has_second_led(); ++generation) ASSERT_OK(run.step());
    EXPECT_TRUE(run.has_second_led());
}

}  // namespace
}  // namespace yolk::evolve
