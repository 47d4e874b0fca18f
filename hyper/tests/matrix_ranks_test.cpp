// SPDX-License-Identifier: Apache-2.0
// Matrices of a system that have noise ranks of their own.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "exact_twin.hpp"
#include "fixtures.hpp"
#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "search_checkpoint.hpp"
#include "searched.hpp"
#include "yolk/internal/core/file.hpp"
#include "yolk/internal/evolve/exchange.hpp"
#include "yolk/internal/reference/member_weights.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"
#include "yolk/perturbed_linear.hpp"

namespace yolk::hyper {
namespace {

using ::yolk::testing::expect_error;

constexpr NoiseContext kRankedNoise{.seed = 9, .generation = 2, .time = 2, .sigma = 0.2F};
constexpr std::uint32_t kRunRank = 2;
constexpr std::array<std::uint32_t, 3> kOwnRanks{1, 0, 4};

/// Square, of ranks 1, the run's and 4.
ParameterSet ranked_set() {
    ParameterSet set;
    for (std::uint32_t i = 0; i < kOwnRanks.size(); ++i) {
        ParameterSpec spec = matrix_spec("w" + std::to_string(i), 5, 5);
        spec.noise_rank = kOwnRanks.at(i);
        EXPECT_OK(set.add(std::move(spec), drawn_tensor({5, 5}, i)));
    }
    return set;
}

/// Each matrix formed by hand, at its rank.
std::vector<Candidate> formed_by_hand(const SearchSpace& space, std::uint32_t members) {
    std::vector<Candidate> all(members);
    for (std::uint32_t member = 0; member < members; ++member) {
        for (std::uint32_t id = 0; id < kOwnRanks.size(); ++id) {
            const PerturbedLinearDesc desc{.members = 1,
                                           .in = 5,
                                           .out = 5,
                                           .rank = std::array{1U, kRunRank, 4U}.at(id),
                                           .parameter = ParameterId(id)};
            const auto values = reference::perturbed_matrix(
                desc, std::span(space.mean).subspan(space.table.offset(ParameterId(id)), 25), kRankedNoise,
                static_cast<std::int32_t>(member));
            all[member].values.emplace_back("w" + std::to_string(id), *Tensor::create({5, 5}, values));
        }
    }
    return all;
}

class matrix_ranks : public ::yolk::testing::DeviceTest {
   protected:
    /// Of eight candidates: as perturbations, by the host's twin, and given outright.
    void evaluate_all(std::vector<TracedExample> examples, const ParameterSet& set) {
        ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
        ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator,
                             PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {}));
        const Perturbations members{
            .table = space.table, .mean = space.mean, .when = kRankedNoise, .rank = kRunRank, .members = 8};
        ASSERT_OK_AND_ASSIGN(drawn_, evaluator.evaluate(members));
        ASSERT_OK_AND_ASSIGN(const population::ExampleSet known, population::ExampleSet::create(examples, set));
        ASSERT_OK_AND_ASSIGN(const population::Question question, known.ask(members));
        const population::PopulationTwin twin(nullptr, known);
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, twin.evaluate(question, {.count = 8}, nullptr));
        EXPECT_TRUE(drawn_.values == wanted.values);
        EXPECT_EQ(drawn_.counts.host_equations, 0U);
        ASSERT_OK_AND_ASSIGN(by_hand_, evaluator.evaluate(formed_by_hand(space, 8)));
    }
    PopulationOutputs drawn_, by_hand_;
};
YOLK_FOR_EACH_DEVICE(matrix_ranks);

TEST_P(matrix_ranks, of_what_is_formed_are_their_own) {
    const ParameterSet set = ranked_set();
    Sketch s(set);
    const Atom x = s.input("x", drawn_tensor({5, 5}, 20));
    Atom sum = s.one("multiply", {s.parameter("w0"), x});
    for (const char* name : {"w1", "w2"}) sum = s.one("add", {sum, s.one("multiply", {s.parameter(name), x})});
    evaluate_all({s.finish(sum)}, set);
    EXPECT_TRUE(drawn_.values == by_hand_.values);
}

/// Kernels that draw the noise add it to the product, so that its roundings are others. Elements are below 5.2: 1, and
/// sigma times noise of at most 30 * 30 * 4 / (85 * 2). So sums are below 25 * 5.2^3, with at most 30 roundings of
/// 2^-24 on the way: 6e-3. Noise of another rank differs by tenths.
TEST_P(matrix_ranks, of_what_kernels_draw_are_their_own) {
    const ParameterSet set = ranked_set();
    Sketch s(set);
    const Atom ids = s.input("ids", Tensor::vector({3.0F, 0.0F}));
    const Atom rows = s.one("embedding", {s.parameter("w2"), ids});
    evaluate_all({s.finish(s.one("linear", {s.parameter("w1"), s.one("linear", {s.parameter("w0"), rows})}))}, set);
    ASSERT_EQ(drawn_.values.size(), by_hand_.values.size());
    for (std::size_t i = 0; i < drawn_.values.size(); ++i) {
        const auto drawn = drawn_.values[i].tensor()->values();
        const auto wanted = by_hand_.values[i].tensor()->values();
        for (std::size_t e = 0; e < wanted.size(); ++e) EXPECT_NEAR(drawn[e], wanted[e], 6e-3) << i;
    }
}

/// 3-5-4-2 of matrices that declare these ranks, 0 for the run's.
Task ranked_task(const std::array<std::uint32_t, 3>& ranks) {
    const auto layer = [](const Traced& w, const Traced& x) { return tanh(linear(w, x)); };
    const auto first =
        hyperfunction("first", MatrixWeight{.out = 5, .in = 3, .noise_rank = ranks[0]}, layer, {.optimize = true});
    const auto second =
        hyperfunction("second", MatrixWeight{.out = 4, .in = 5, .noise_rank = ranks[1]}, layer, {.optimize = true});
    const auto third =
        hyperfunction("third", MatrixWeight{.out = 2, .in = 4, .noise_rank = ranks[2]}, layer, {.optimize = true});
    Task task{
        System("ranked", [=](const Inputs& in) { return third(second(first(in["x"]))); }), {}, numeric_distance()};
    for (std::uint32_t i = 0; i < 6; ++i)
        task.examples.push_back({{{"x", drawn_tensor({3}, 30 + i)}}, drawn_tensor({2}, 40 + i)});
    return task;
}

TEST(matrix_ranks_search, has_the_same_bits_on_any_devices) {
    const auto values_on = [](const Device& device, const std::array<std::uint32_t, 3>& ranks) {
        std::string notices;
        auto pool = pool_of({device}, notices);
        EXPECT_OK(pool);
        auto searched = search(ranked_task(ranks), few_generations(), &*pool);
        EXPECT_OK(searched);
        return std::pair(searched->values, searched->outcome.state_hash);
    };
    const auto expected = values_on(one_device(), {1, 0, 4});
    EXPECT_EQ(values_on(another_device(), {1, 0, 4}), expected);
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool both, pool_of({one_device(), another_device()}, notices, {.audit = 1.0}));
    ASSERT_OK_AND_ASSIGN(const Searched together, search(ranked_task({1, 0, 4}), few_generations(), &both));
    EXPECT_EQ(std::pair(together.values, together.outcome.state_hash), expected);
    // A rank that is declared counts, and 0 is the run's, which is 1.
    EXPECT_EQ(values_on(one_device(), {0, 1, 4}), expected);
    EXPECT_NE(values_on(one_device(), {1, 1, 1}).first, expected.first);
    EXPECT_NE(values_on(one_device(), {4, 4, 4}).first, expected.first);
}

/// Two processes, as threads; then two that were given other systems.
TEST(matrix_ranks_search, has_the_same_bits_over_processes) {
    ASSERT_OK_AND_ASSIGN(const Searched expected, search(ranked_task({1, 0, 4}), few_generations()));
    ASSERT_OK_AND_ASSIGN(std::vector<RankDevice> devices, devices_of_ranks(2));
    for (const std::uint32_t of_second : {4U, 2U}) {
        std::vector<Result<Searched>> results(2, failed_work("not run"));
        yolk::testing::on_ranks<evolve::Exchange>(2, [&](evolve::Exchange& exchange) {
            Task task = ranked_task({1, 0, exchange.rank() == 0 ? 4 : of_second});
            task.system.use(evolve::Devices(devices[exchange.rank()].dispatcher).with(exchange));
            OptimizeOptions options = few_generations();
            results[exchange.rank()] = optimized(task, options);
        });
        for (const Result<Searched>& result : results) {
            if (of_second != 4) {
                EXPECT_TRUE(expect_error(result, ErrorKind::BadInput, "ranks of the matrices' noise of rank 1 is"));
            } else {
                ASSERT_OK(result);
                EXPECT_EQ(result->values, expected.values);
            }
        }
    }
}

class matrix_ranks_checkpoint : public ::testing::Test {
   protected:
    [[nodiscard]] OptimizeOptions options(std::uint32_t steps, bool resume) const {
        OptimizeOptions options = few_generations(steps);
        options.checkpoint = path_;
        options.resume = resume;
        return options;
    }
    /// As versions wrote it whose matrices all had the largest rank.
    void forget_the_ranks() const {
        ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> bytes, read_file(path_, 1U << 20U));
        ASSERT_OK_AND_ASSIGN(SearchCheckpoint checkpoint, decode_checkpoint(bytes, "it"));
        EXPECT_EQ(std::erase_if(checkpoint.settings,
                                [](const auto& setting) { return setting.first == "ranks of the matrices' noise"; }),
                  1U);
        ASSERT_OK_AND_ASSIGN(const std::vector<std::byte> old, encode_checkpoint(checkpoint));
        ASSERT_OK(write_file_atomically(path_, old));
    }
    void TearDown() override { std::filesystem::remove(path_); }
    const std::filesystem::path path_ =
        std::filesystem::path(::testing::TempDir()) /
        (std::string("yolk-ranks-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(matrix_ranks_checkpoint, goes_on_with_the_same_ranks_alone) {
    ASSERT_OK_AND_ASSIGN(const Searched whole, search(ranked_task({1, 0, 4}), few_generations(6)));
    ASSERT_OK(search(ranked_task({1, 0, 4}), options(3, false)));
    EXPECT_TRUE(expect_error(search(ranked_task({1, 0, 2}), options(6, true)), ErrorKind::BadInput,
                             "whose ranks of the matrices' noise is first 1, second 1, third 4; now it is first 1, "
                             "second 1, third 2"));
    EXPECT_TRUE(expect_error(search(ranked_task({0, 0, 0}), options(6, true)), ErrorKind::BadInput, "now it is 1"));
    ASSERT_OK_AND_ASSIGN(const Searched resumed, search(ranked_task({1, 0, 4}), options(6, true)));
    EXPECT_EQ(resumed.values, whole.values);
    EXPECT_EQ(resumed.outcome.state_hash, whole.outcome.state_hash);
}

TEST_F(matrix_ranks_checkpoint, of_before_goes_on_where_nothing_has_changed) {
    ASSERT_OK_AND_ASSIGN(const Searched whole, search(ranked_task({2, 2, 2}), few_generations(6)));
    ASSERT_OK(search(ranked_task({2, 2, 2}), options(3, false)));
    forget_the_ranks();
    EXPECT_TRUE(expect_error(search(ranked_task({2, 0, 1}), options(6, true)), ErrorKind::BadInput,
                             "noise is 2; now it is first 2, second 1, third 1"));
    ASSERT_OK_AND_ASSIGN(const Searched resumed, search(ranked_task({2, 2, 2}), options(6, true)));
    EXPECT_EQ(resumed.values, whole.values);
}

TEST(matrix_ranks_search, refuses_a_rank_that_is_none) {
    EXPECT_TRUE(expect_error(search(ranked_task({1, 33, 4}), few_generations()), ErrorKind::BadInput,
                             "'second' has the noise rank 33; it must be from 1 to 32"));
}

}  // namespace
}  // namespace yolk::hyper
