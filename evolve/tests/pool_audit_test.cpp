// SPDX-License-Identifier: Apache-2.0
// Audits over a pool: whatever a wrong device or worker spoilt, and however late it is found, the run ends in the bits
// of the exact twin.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <limits>
#include <thread>

#include "pool_fixtures.hpp"
#include "yolk/internal/evolve/update_twin.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk::evolve {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

class pool_audit : public ::testing::Test {
   protected:
    /// Before any fault injector, which can fail only devices that are made after it.
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
    }
    static const Device& one_device() { return testing::first_device().device; }
    static const Device& another_device() { return testing::other_device().device; }
};

PhiloxKey key_of_seed(std::uint64_t seed) {
    return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
}
bool are_members_drawn(std::uint64_t seed, double audit, std::uint32_t generation, std::uint32_t first) {
    const std::uint64_t of_generation = seed ^ std::uint64_t{generation} << 32U;
    return static_cast<double>(philox4x32({first, 0, 0, 0}, key_of_seed(of_generation))[0]) * 0x1p-32 < audit;
}
std::uint32_t first_update_drawn(std::uint64_t seed, double audit) {
    std::uint32_t generation = 0;
    while (!is_update_audited(audit, seed, generation)) ++generation;
    return generation;
}

/// Steps until `generations` are done; how often it went back.
Result<std::uint32_t> run_to(Evolution& run, std::uint32_t generations) {
    std::uint32_t went_back = 0;
    while (run.generations() < generations) {
        const std::uint32_t before = run.generations();
        YOLK_TRY_VOID(run.step());
        went_back += run.generations() <= before ? 1U : 0U;
    }
    return went_back;
}

/// Others are dealt more meanwhile.
void take_time() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

/// Longer than a state is remembered for: members are verified all the time, and no update is before one is found
/// wrong.
TEST_F(pool_audit, a_wrong_update_that_is_found_late_leaves_nothing_behind) {
    constexpr double kAudit = 0.02;
    const EvolutionOptions options{.population = 16, .seed = 3};
    const auto fits = [](std::uint64_t seed) {
        const std::uint32_t found = first_update_drawn(seed, kAudit);
        bool is_base_verified = false;
        for (std::uint32_t g = 66; g < found; ++g)
            is_base_verified = is_base_verified || are_members_drawn(seed, kAudit, g, 0);
        return found >= 80 && found < 120 && is_base_verified;
    };
    std::uint64_t seed = 1;
    while (!fits(seed)) ++seed;
    const std::uint32_t generations = first_update_drawn(seed, kAudit) + 2;

    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device wrong, probed_device(testing::first_device_name()));
    faults.spoil_multiplications(true);
    std::string notices;
    const std::array devices{wrong, one_device()};
    ASSERT_OK_AND_ASSIGN(
        DevicePool pool,
        DevicePool::create(
            devices, {.audit = kAudit, .seed = seed, .on_drop = [&](const std::string& text) { notices += text; }}));
    ASSERT_OK_AND_ASSIGN(const std::size_t lead, pool.lead());
    ASSERT_EQ(lead, 0U);
    PoolParts parts = host_scored_parts(options, [](std::size_t) { return host_members(&score_on_host); });
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), options));
    ASSERT_OK(run_to(run, generations));
    EXPECT_THAT(notices, HasSubstr("It computes wrongly: its update of generation"));
    ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
    ASSERT_OK_AND_ASSIGN(const auto expected, hashes_of_twin(options, generations));
    EXPECT_EQ(hash, expected.back());
}

/// After the other device was lost; both wrong ends the run.
TEST_F(pool_audit, the_exact_twin_judges_the_only_device_that_is_left) {
    const EvolutionOptions options{.population = 16, .seed = 3};
    for (const bool is_spoilt : {false, true}) {
        SCOPED_TRACE(is_spoilt);
        std::string notices;
        const std::array devices{one_device(), another_device()};
        ASSERT_OK_AND_ASSIGN(
            DevicePool pool,
            DevicePool::create(devices, {.audit = 1.0, .on_drop = [&](const std::string& text) { notices += text; }}));
        PoolParts parts =
            host_scored_parts(options, [is_spoilt](std::size_t worker) -> std::unique_ptr<MemberEvaluator> {
                if (worker == 0) {
                    return spoilt_pairs([is_spoilt](const HostQuestion& question) {
                        return is_spoilt && question.when.generation >= 3 ? 1.0F : 0.0F;
                    });
                }
                return host_pairs([](const HostQuestion& question, std::span<float> returns) -> Result<std::uint64_t> {
                    if (question.when.generation >= 1)
                        return Error{.kind = ErrorKind::DeviceLost, .message = "It is gone."};
                    return score_on_host(question, returns);
                });
            });
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), options));
        const Result<std::uint32_t> done = run_to(run, 6);
        EXPECT_THAT(notices, HasSubstr("It is gone."));
        if (is_spoilt) {
            EXPECT_TRUE(expect_error(done, ErrorKind::DeviceLost, "No device of the pool is left."));
            EXPECT_THAT(notices, HasSubstr("It computes wrongly: in generation 3"));
            continue;
        }
        ASSERT_OK(done);
        ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
        ASSERT_OK_AND_ASSIGN(const auto expected, hashes_of_twin(options, 6));
        EXPECT_EQ(hash, expected.back());
    }
}

/// Alone from the beginning, and its updates are wrong.
TEST_F(pool_audit, the_exact_twin_judges_the_updates_of_a_lone_device) {
    const EvolutionOptions options{.population = 16, .seed = 3};
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device wrong, probed_device(testing::first_device_name()));
    const auto run_alone = [&](const Device& device) -> Result<std::uint32_t> {
        YOLK_TRY(DevicePool pool,
                 DevicePool::create(std::span(&device, 1),
                                    {.audit = 1.0, .audits_alone = true, .on_drop = [](const std::string&) {}}));
        PoolParts parts = host_scored_parts(options, [](std::size_t) { return host_members(&score_on_host); });
        YOLK_TRY(Evolution run, Evolution::create(pool, std::move(parts), options));
        return run_to(run, 4);
    };
    EXPECT_OK(run_alone(one_device()));
    faults.spoil_multiplications(true);  // of kernels that the device has not met yet
    EXPECT_TRUE(
        expect_error(run_alone(wrong), ErrorKind::DeviceLost, "its update of generation 0 is not the exact twin's"));
    EXPECT_TRUE(expect_error(DevicePool::create(std::span(&wrong, 1), {.audit = 1.0}), ErrorKind::BadInput,
                             "there is one device"));
}

/// No audit of its members has found the second device, but one of an update does.
TEST_F(pool_audit, what_a_device_scored_before_its_update_was_wrong_is_made_again) {
    constexpr double kAudit = 0.25;
    const EvolutionOptions options{.population = 4, .seed = 3};
    const auto fits = [](std::uint64_t seed) {
        const std::uint32_t found = first_update_drawn(seed, kAudit);
        if (found < 3 || found > 8) return false;
        for (std::uint32_t g = 1; g <= found; ++g) {
            if (are_members_drawn(seed, kAudit, g, 0) || are_members_drawn(seed, kAudit, g, 2)) return false;
        }
        return true;
    };
    std::uint64_t seed = 1;
    while (!fits(seed)) ++seed;
    const std::uint32_t generations = first_update_drawn(seed, kAudit) + 2;

    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device wrong, probed_device(testing::first_device_name()));
    faults.spoil_multiplications(true);
    std::string notices;
    const std::array devices{one_device(), wrong};
    ASSERT_OK_AND_ASSIGN(
        DevicePool pool,
        DevicePool::create(
            devices, {.audit = kAudit, .seed = seed, .on_drop = [&](const std::string& text) { notices += text; }}));
    std::atomic<std::uint32_t> spoilt = 0;
    const auto right = [](const HostQuestion& question, std::span<float> returns) {
        take_time();  // so that the other one is dealt members
        return score_on_host(question, returns);
    };
    PoolParts parts = host_scored_parts(options, [&](std::size_t worker) {
        return worker == 0 ? host_pairs(right) : spoilt_pairs([&](const HostQuestion& question) {
            if (question.when.generation == 0) return 0.0F;
            ++spoilt;
            return 1e9F;
        });
    });
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), options));
    ASSERT_OK(run_to(run, generations));
    EXPECT_GT(spoilt, 0U);
    EXPECT_THAT(notices, HasSubstr("It computes wrongly: its update of generation"));
    EXPECT_TRUE(pool.is_used(0));
    ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
    ASSERT_OK_AND_ASSIGN(const auto expected, hashes_of_twin(options, generations));
    EXPECT_EQ(hash, expected.back());
}

/// The second one begins to be wrong in generations that are made again, which it had been verified in before.
TEST_F(pool_audit, a_second_wrong_worker_is_not_believed_for_what_was_before_going_back) {
    constexpr std::uint32_t kGenerations = 14;
    const EvolutionOptions options{.population = 64, .seed = 3};
    ASSERT_OK_AND_ASSIGN(const auto expected, hashes_of_twin(options, kGenerations));
    std::uint32_t went_back_twice = 0;
    for (std::uint64_t seed = 1; seed <= 24; ++seed) {
        std::atomic<bool> second_is_wrong = false;
        ASSERT_OK_AND_ASSIGN(DevicePool pool,
                             DevicePool::create(std::span(&one_device(), 1),
                                                {.audit = 0.15, .seed = seed, .host_workers = 2, .on_drop = [&](auto&) {
                                                     second_is_wrong = true;
                                                 }}));
        PoolParts parts = host_scored_parts(options, [&](std::size_t worker) {
            return spoilt_pairs([&second_is_wrong, worker](const HostQuestion& question) {
                if (worker == 0) take_time();
                if (worker == 1) return question.when.generation > 0 ? 1e9F : 0.0F;
                return worker == 2 && second_is_wrong ? -1e9F : 0.0F;
            });
        });
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), options));
        ASSERT_OK_AND_ASSIGN(const std::uint32_t went_back, run_to(run, kGenerations));
        if (pool.in_use() > 1) continue;  // not found before the end
        went_back_twice += went_back > 1 ? 1U : 0U;
        ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
        EXPECT_EQ(hash, expected.back()) << seed;
    }
    EXPECT_GE(went_back_twice, 1U);
}

TEST_F(pool_audit, not_a_number_is_the_same_whatever_its_bits) {
    const EvolutionOptions options{.population = 8};
    ASSERT_OK_AND_ASSIGN(
        DevicePool pool,
        DevicePool::create(std::span(&one_device(), 1), {.audit = 1.0, .host_workers = 1, .on_drop = [](auto&) {}}));
    PoolParts parts = host_scored_parts(options, [](std::size_t worker) {
        return host_pairs([worker](const HostQuestion& question, std::span<float> returns) {
            Result<std::uint64_t> count = score_on_host(question, returns);
            const std::uint32_t bits = 0x7FC00001U + static_cast<std::uint32_t>(worker);
            if (question.members.first == 2) returns.front() = std::bit_cast<float>(bits);
            return count;
        });
    });
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), options));
    ::testing::internal::CaptureStderr();
    for (int generation = 0; generation < 3; ++generation) {
        const Result<GenerationSummary> summary = run.step();
        EXPECT_TRUE(summary.has_value() && summary->not_finite == 1U);
    }
    static_cast<void>(::testing::internal::GetCapturedStderr());
    EXPECT_EQ(pool.in_use(), 2U) << pool.losses();
}

/// An audited update is made on a second device each time, and a lead that is lost is followed by another.
TEST_F(pool_audit, scores_that_are_not_finite_are_named_once) {
    const EvolutionOptions options{.population = 8};
    const std::array devices{one_device(), another_device()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {.audit = 1.0, .on_drop = [](auto&) {}}));
    const auto scored = [] {
        return host_pairs([](const HostQuestion& question, std::span<float> returns) {
            Result<std::uint64_t> count = score_on_host(question, returns);
            if (question.members.first == 2) returns.front() = std::numeric_limits<float>::infinity();
            return count;
        });
    };
    PoolParts parts = host_scored_parts(options, [&](std::size_t) { return scored(); });
    parts.judge = scored();
    ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), options));
    ::testing::internal::CaptureStderr();
    EXPECT_OK(run.step());
    EXPECT_OK(run.step());
    pool.drop(0, "It is needed elsewhere.");
    EXPECT_OK(run.step());
    const std::string notices = ::testing::internal::GetCapturedStderr();
    const std::size_t first = notices.find("are not finite");
    EXPECT_NE(first, std::string::npos);
    EXPECT_EQ(notices.find("are not finite", first + 1), std::string::npos) << notices;
}

TEST_F(pool_audit, evaluations_are_those_that_count) {
    const EvolutionOptions options{.population = 32};
    for (const bool has_wrong_one : {false, true}) {
        ASSERT_OK_AND_ASSIGN(DevicePool pool,
                             DevicePool::create(std::span(&one_device(), 1),
                                                {.audit = 1.0, .host_workers = 2, .on_drop = [](auto&) {}}));
        PoolParts parts = host_scored_parts(options, [has_wrong_one](std::size_t worker) {
            return spoilt_pairs([has_wrong_one, worker](const HostQuestion& question) {
                return has_wrong_one && worker == 1 && question.when.generation == 2 ? 1e9F : 0.0F;
            });
        });
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), options));
        for (int generation = 0; generation < 4; ++generation) {
            ASSERT_OK_AND_ASSIGN(const GenerationSummary summary, run.step());
            EXPECT_EQ(summary.evaluations, 32U) << generation;
        }
    }
}

TEST_F(pool_audit, a_run_of_another_determinism_than_the_pools_is_refused) {
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(std::span(&one_device(), 1), {.host_workers = 1}));
    EvolutionOptions options{.population = 8};
    options.determinism = Determinism::Fast;
    const auto members = [](std::size_t) { return host_pairs(); };
    EXPECT_TRUE(expect_error(Evolution::create(pool, host_scored_parts(options, members), options), ErrorKind::BadInput,
                             "The run's determinism is fast, and its pool was made for exact"));
    ASSERT_OK_AND_ASSIGN(DevicePool fast, DevicePool::create(std::span(&one_device(), 1),
                                                             {.determinism = Determinism::Fast, .host_workers = 1}));
    EXPECT_OK(Evolution::create(fast, host_scored_parts(options, members), options));
    options.determinism = Determinism::Exact;
    EXPECT_TRUE(expect_error(Evolution::create(fast, host_scored_parts(options, members), options), ErrorKind::BadInput,
                             "The run's determinism is exact, and its pool was made for fast"));
}

TEST_F(pool_audit, a_device_that_is_left_alone_without_a_twin_says_that_it_is_not_audited) {
    testing::FaultInjector faults;
    faults.spoil_multiplications(true);
    ASSERT_OK_AND_ASSIGN(const Device spoilt,
                         Device::create(testing::instance(), testing::device_index(testing::first_device_name())));
    const std::array devices{spoilt, another_device()};
    for (const double audit : {0.0, 1.0}) {
        ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {.audit = audit, .on_drop = [](auto&) {}}));
        ASSERT_EQ(pool.in_use(), 1U);
        const EvolutionOptions options{.population = 8};
        PoolParts parts = host_scored_parts(options, [](std::size_t) { return host_pairs(); });
        parts.judge = nullptr;
        parts.single = [](const Device& device) -> Result<std::unique_ptr<Evaluator>> {
            YOLK_TRY(std::unique_ptr<HostScoresEvaluator> made, host_scores_evaluator(device, 8));
            return std::unique_ptr<Evaluator>(std::move(made));
        };
        ::testing::internal::CaptureStderr();
        Result<Evolution> run = Evolution::create(pool, std::move(parts), options);
        const std::string notice = ::testing::internal::GetCapturedStderr();
        ASSERT_OK(run);
        EXPECT_THAT(notice, HasSubstr(audit == 0.0 ? "" : "only its updates are audited"));
        ::testing::internal::CaptureStderr();
        EXPECT_OK(run->step());
        static_cast<void>(::testing::internal::GetCapturedStderr());
        EXPECT_EQ(run->shares().empty(), audit == 0.0);
    }
}

/// The parameters that were given are the host's, so that another device has them where the first is lost.
TEST_F(pool_audit, parameters_can_be_given_where_the_lead_is_lost) {
    const EvolutionOptions options{.population = 8};
    const std::vector<float> given(2, 0.5F);
    const auto steps = [&](Evolution& run, const std::function<void()>& between) -> Result<std::string> {
        YOLK_TRY_VOID(run.step());
        between();
        YOLK_TRY_VOID(run.set_parameters(std::vector<float>(run.table().element_count(), -0.5F)));
        YOLK_TRY_VOID(run.set_elements(3, given));
        YOLK_TRY_VOID(run.step());
        return run.state_hash();
    };
    const auto make = [&](DevicePool& pool) {
        return Evolution::create(pool, host_scored_parts(options, [](std::size_t) { return host_pairs(); }), options);
    };
    ASSERT_OK_AND_ASSIGN(DevicePool undisturbed, DevicePool::create(std::span(&another_device(), 1)));
    ASSERT_OK_AND_ASSIGN(Evolution alone, make(undisturbed));
    ASSERT_OK_AND_ASSIGN(const std::string expected, steps(alone, [] {}));
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device mortal, probed_device(testing::first_device_name()));
    const std::array devices{mortal, another_device()};
    ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {.on_drop = [](auto&) {}}));
    ASSERT_OK_AND_ASSIGN(Evolution run, make(pool));
    ASSERT_OK_AND_ASSIGN(const std::string hash,
                         steps(run, [&] { faults.fail_nth_call(1, testing::FaultKind::DeviceLost); }));
    EXPECT_EQ(hash, expected);
    EXPECT_FALSE(pool.is_used(0));
}

}  // namespace
}  // namespace yolk::evolve
