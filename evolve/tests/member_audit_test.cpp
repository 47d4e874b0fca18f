// SPDX-License-Identifier: Apache-2.0
// Audits of members: whoever scores them wrongly is found and dropped, and what it spoilt is made again.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "rollout_pool_fixtures.hpp"

namespace yolk::evolve {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

class member_audit : public RolloutPoolTest {
   protected:
    /// A device and a worker on the host; what is told of dropped ones goes to notices_.
    Result<DevicePool> device_and_host(double audit, std::uint64_t seed = 1) {
        return DevicePool::create(
            std::span(&one_device(), 1),
            {.audit = audit, .seed = seed, .host_workers = 1, .on_drop = [this](const auto& text) {
                 notices_ += text;
             }});
    }
    std::string notices_;
};

/// Whichever of the two workers evaluated a member that is drawn, the other one evaluates it, too: so the wrong one is
/// found in the first generation from `right_generations` on in which members are drawn. With seed 31 a share of .3
/// draws some in generations 0, 3 and 4, and none in 1 and 2.
TEST_F(member_audit, finds_the_wrong_one_and_goes_back) {
    constexpr int kGenerations = 5;
    struct Case {
        double audit = 0.0;
        std::uint32_t right_generations = 0, found_in = 0;
    };
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed(kGenerations));
    for (const Case& tried : {Case{1.0, 0, 0}, Case{1.0, 2, 2}, Case{0.3, 0, 0}, Case{0.3, 2, 3}}) {
        SCOPED_TRACE(fmt::format("audit {}, right for {}", tried.audit, tried.right_generations));
        notices_.clear();
        ASSERT_OK_AND_ASSIGN(DevicePool pool, device_and_host(tried.audit, 31));
        ASSERT_OK_AND_ASSIGN(
            Evolution run, Evolution::create(pool, parts_with_spoilt_hosts(tried.right_generations), pooled_options()));
        ASSERT_OK_AND_ASSIGN(const Trail trail, follow(run, kGenerations));
        EXPECT_EQ(trail.hashes, expected.hashes);
        EXPECT_FALSE(pool.is_used(1));
        EXPECT_THAT(notices_, HasSubstr(fmt::format("host 0 is dropped: It computes wrongly: in generation {} its",
                                                    tried.found_in)));
    }
}

/// Wrong from generation 1 on and found in generation 3: with seed 26 a share of .15 draws members in generations 0 and
/// 3, and none in 1 and 2.
TEST_F(member_audit, what_a_wrong_worker_spoilt_earlier_is_made_again) {
    constexpr int kGenerations = 5;
    ASSERT_OK_AND_ASSIGN(const Trail expected, undisturbed(kGenerations));
    ASSERT_OK_AND_ASSIGN(DevicePool pool, device_and_host(0.15, 26));
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, parts_with_spoilt_hosts(1), pooled_options()));
    bool went_back = false;
    while (run.generations() < kGenerations) {
        const std::uint32_t before = run.generations();
        ASSERT_OK(run.step());
        went_back = went_back || run.generations() <= before;
    }
    EXPECT_TRUE(went_back);
    EXPECT_THAT(notices_, HasSubstr("in generation 3 its"));
    ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
    EXPECT_EQ(hash, expected.hashes.back());
}

TEST_F(member_audit, without_a_judge_both_that_disagree_are_dropped) {
    ASSERT_OK_AND_ASSIGN(DevicePool pool, device_and_host(1.0));
    PoolParts parts = parts_with_spoilt_hosts(0);
    parts.judge.reset();
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), pooled_options()));
    EXPECT_TRUE(expect_error(follow(run), ErrorKind::DeviceLost, "disagree on members"));
}

/// What worker 1 does with its first chunk; at its second one it fails. Worker 0 waits for that, and then does the
/// rest.
struct FailingSecond {
    bool is_wrong = false;
    std::mutex mutex{};
    std::condition_variable changed{};
    int chunks_of_second = 0;
    std::vector<std::byte> kept = std::vector<std::byte>(64);

    static std::vector<std::byte> right(const MemberRange& part) {
        std::vector<std::byte> result(part.count);
        for (std::uint32_t m = 0; m < part.count; ++m) result[m] = static_cast<std::byte>(part.first + m + 1);
        return result;
    }
    Result<std::vector<std::byte>> evaluate(std::size_t worker, const MemberRange& part) {
        std::unique_lock lock(mutex);
        if (worker == 0) {
            changed.wait(lock, [&] { return chunks_of_second == 2; });
            // Until its failure is known: an audit that comes before it finds the same by another way.
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return right(part);
        }
        changed.notify_all();
        if (++chunks_of_second == 2) return Error{.kind = ErrorKind::DeviceLost, .message = "It is gone."};
        return is_wrong ? std::vector<std::byte>(part.count) : right(part);
    }
    PooledWork work() {
        return {.members = {.first = 0, .count = 64},
                .generation = 4,
                .evaluate = [this](std::size_t worker, const MemberRange& part) { return evaluate(worker, part); },
                .keep =
                    [this](const MemberRange& part, std::span<const std::byte> result) {
                        std::memcpy(&kept[part.first], result.data(), result.size());
                    },
                .kept =
                    [this](const MemberRange& part) {
                        const auto begin = kept.begin() + static_cast<std::ptrdiff_t>(part.first);
                        return std::vector<std::byte>(begin, begin + static_cast<std::ptrdiff_t>(part.count));
                    },
                .judge = [](const MemberRange& part) -> Result<std::vector<std::byte>> { return right(part); }};
    }
};

TEST_F(member_audit, one_that_is_wrong_and_then_lost_is_found) {
    for (const bool is_wrong : {true, false}) {
        SCOPED_TRACE(is_wrong);
        notices_.clear();
        FailingSecond second{.is_wrong = is_wrong};
        ASSERT_OK_AND_ASSIGN(DevicePool pool, device_and_host(1.0));
        ASSERT_OK_AND_ASSIGN(const PooledResult result, pool.evaluate(second.work()));
        EXPECT_EQ(second.kept, FailingSecond::right({.first = 0, .count = 64}));
        EXPECT_TRUE(result.shares[1].dropped);
        EXPECT_EQ(result.shares[0].audited, 16U);
        EXPECT_EQ(result.unaudited, 0U) << "the judge has looked at what nobody else could";
        EXPECT_THAT(notices_, HasSubstr("host 0 is dropped: It "));
        EXPECT_EQ(notices_.find("It computes wrongly: in generation 4") != std::string::npos, is_wrong) << notices_;
    }
}

TEST_F(member_audit, remembers_what_is_verified_of_each_worker) {
    const auto zeros = [](const MemberRange& part) { return std::vector<std::byte>(part.count); };
    const auto verify_in = [&](std::uint32_t generation) {
        return PooledWork{.members = {.first = 0, .count = 64},
                          .generation = generation,
                          .evaluate = [=](std::size_t, const MemberRange& part) -> Result<std::vector<std::byte>> {
                              return zeros(part);
                          },
                          .keep = [](const MemberRange&, std::span<const std::byte>) {},
                          .kept = zeros};
    };
    ASSERT_OK_AND_ASSIGN(DevicePool pool, device_and_host(1.0));
    EXPECT_EQ(pool.verified(0), 0U);
    for (const std::uint32_t generation : {5U, 7U}) {
        ASSERT_OK(pool.evaluate(verify_in(generation)));
        for (const std::size_t worker : {0U, 1U}) EXPECT_EQ(pool.verified(worker), generation);
        EXPECT_EQ(pool.verified(), generation);
    }
    pool.went_back(9);
    EXPECT_EQ(pool.verified(1), 7U);
    pool.went_back(6);
    for (const std::size_t worker : {0U, 1U}) EXPECT_EQ(pool.verified(worker), 6U);
    EXPECT_EQ(pool.verified(), 6U);
    pool.begin_run();
    EXPECT_EQ(pool.verified(1), 0U);
}

}  // namespace
}  // namespace yolk::evolve
