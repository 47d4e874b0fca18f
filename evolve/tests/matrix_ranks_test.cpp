// SPDX-License-Identifier: Apache-2.0
// Matrices that have noise ranks of their own, in one run: on a device, on a pool, on the host.
#include <gtest/gtest.h>

#include <array>

#include "fixtures.hpp"
#include "yolk/evolution.hpp"
#include "yolk/internal/evolve/member_parameters.hpp"
#include "yolk/internal/evolve/schedule.hpp"
#include "yolk/internal/evolve/settings.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::evolve {
namespace {

constexpr std::uint32_t kRankedGenerations = 4;

EvolutionOptions ranked_options() {
    return {.population = 34, .rank = 2, .sigma = 0.3F, .optimizer = OptimizerRule::Adam, .seed = 12};
}

std::vector<ParameterDesc> ranked_parameters(const std::array<std::uint32_t, 4>& ranks) {
    return {{.name = "a", .rows = 6, .columns = 9, .rank = ranks[0]},
            {.name = "b", .rows = 6, .perturbation = Perturbation::Vector},
            {.name = "c", .rows = 9, .columns = 5, .rank = ranks[1]},
            {.name = "fixed", .rows = 2, .columns = 3, .perturbation = Perturbation::Frozen, .rank = 8},
            {.name = "d", .rows = 4, .columns = 4, .rank = ranks[2]},
            {.name = "e", .rows = 9, .columns = 3, .rank = ranks[3]}};
}

/// c has the run's.
ParameterTable ranked_table() { return *ParameterTable::create(ranked_parameters({1, 0, 4, 1})); }

/// Minus the squared distance of each member's parameters from one half.
std::uint64_t score_members(std::span<const float> parameters, const NoiseContext& when, const MemberRange& members,
                            std::span<float> returns) {
    const EvolutionOptions options = ranked_options();
    for (std::uint32_t i = 0; i < members.count; ++i) {
        const auto values = member_parameters(ranked_table(), parameters, when, options.rank, options.antithetic,
                                              static_cast<std::int32_t>(members.first + i));
        EXPECT_OK(values);
        double sum = 0.0;
        for (const float value : *values) sum -= (double{value} - 0.5) * (double{value} - 0.5);
        returns[i] = static_cast<float>(sum);
    }
    return members.count;
}

PoolParts ranked_parts() {
    PoolParts parts{.parameters = ranked_table(), .initial = initial_parameters(ranked_table(), ranked_options().seed)};
    parts.members = [](const Device*, Dispatcher*) {
        return Result(host_members([](const HostQuestion& question, std::span<float> returns) {
            return Result<std::uint64_t>(score_members(question.parameters, question.when, question.members, returns));
        }));
    };
    return parts;
}

Result<std::vector<std::string>> ranked_twin_hashes() {
    YOLK_TRY(Evolution twin, Evolution::create(Devices::none(), ranked_parts(), ranked_options()));
    std::vector<std::string> hashes;
    for (std::uint32_t g = 0; g < kRankedGenerations; ++g) {
        YOLK_TRY_VOID(twin.step());
        YOLK_TRY(hashes.emplace_back(), twin.state_hash());
    }
    return hashes;
}

class matrix_ranks_run : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(matrix_ranks_run);

/// Cut in two: the second half goes on with what the first left.
TEST_P(matrix_ranks_run, has_the_bits_of_the_twin_and_goes_on) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> expected, ranked_twin_hashes());
    const EvolutionOptions options = ranked_options();
    EvolutionParts next{.parameters = ranked_table(), .initial = initial_parameters(ranked_table(), options.seed)};
    for (std::uint32_t g = 0; g < kRankedGenerations; g += 2) {
        ASSERT_OK_AND_ASSIGN(std::unique_ptr<HostScoresEvaluator> scores,
                             host_scores_evaluator(device(), options.population));
        const std::span<float> returns = scores->returns();
        next.evaluator = std::move(scores);
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(device(), dispatcher(), std::move(next), options));
        Schedule schedule(options, g);
        for (std::uint32_t i = g; i < g + 2; ++i, schedule.advance()) {
            score_members(run.parameters(), schedule.noise_time(), {.count = options.population}, returns);
            ASSERT_OK(run.step());
            ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
            EXPECT_EQ(hash, expected[i]) << i;
        }
        next = {.parameters = ranked_table(),
                .initial = {run.parameters().begin(), run.parameters().end()},
                .optimizer_state = {run.optimizer_state().begin(), run.optimizer_state().end()},
                .generation = run.generations()};
    }
}

TEST(matrix_ranks, of_a_run_over_two_devices_are_those_of_one) {
    ASSERT_OK_AND_ASSIGN(const std::vector<std::string> expected, ranked_twin_hashes());
    const std::array devices{::yolk::testing::first_device().device, ::yolk::testing::other_device().device};
    for (const UpdateBy by : {UpdateBy::Lead, UpdateBy::All}) {
        ASSERT_OK_AND_ASSIGN(DevicePool pool, DevicePool::create(devices, {}));
        PoolParts parts = ranked_parts();
        parts.update_by = by;
        ASSERT_OK_AND_ASSIGN(Evolution run, Evolution::create(pool, std::move(parts), ranked_options()));
        for (const std::string& wanted : expected) {
            ASSERT_OK(run.step());
            ASSERT_OK_AND_ASSIGN(const std::string hash, run.state_hash());
            EXPECT_EQ(hash, wanted);
        }
    }
}

/// Each matrix is that of a run whose rank is its own.
TEST(matrix_ranks, of_members_are_their_own) {
    const ParameterTable table = ranked_table();
    const std::vector<float> values = drawn_scores(table.element_count(), 4);
    constexpr NoiseContext kThen{.seed = 3, .generation = 2, .time = 2, .sigma = 0.2F};
    const ParameterTable silent = *ParameterTable::create(ranked_parameters({0, 0, 0, 0}));
    for (const std::int32_t member : {-1, 0, 5}) {
        ASSERT_OK_AND_ASSIGN(const auto made, member_parameters(table, values, kThen, 2, true, member));
        for (std::uint32_t id = 0; id < table.parameters().size(); ++id) {
            const std::uint32_t rank = std::array{1U, 2U, 2U, 2U, 4U, 1U}.at(id);
            ASSERT_OK_AND_ASSIGN(const auto alike, member_parameters(silent, values, kThen, rank, true, member));
            const ParameterDesc& parameter = table.parameters()[id];
            for (std::uint32_t i = 0; i < parameter.rows * parameter.columns; ++i) {
                const std::size_t at = table.offset(ParameterId{id}) + i;
                EXPECT_EQ(made[at], alike[at]) << parameter.name << ", " << member;
            }
        }
    }
}

TEST(matrix_ranks, are_a_setting) {
    EXPECT_EQ(matrix_ranks(ranked_table(), 2), "a 1, c 2, d 4, e 1");
    EXPECT_EQ(matrix_ranks(*ParameterTable::create(ranked_parameters({4, 4, 4, 4})), 2), "4");
    EXPECT_EQ(matrix_ranks(*ParameterTable::create(ranked_parameters({0, 2, 0, 2})), 2), "2");
    EXPECT_EQ(matrix_ranks(*ParameterTable::create({}), 3), "3");
}

}  // namespace
}  // namespace yolk::evolve
