// SPDX-License-Identifier: Apache-2.0
// One population over devices of two vendors: the outputs of one device, whatever fails on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

class pooled_population : public ::testing::Test {
   protected:
    /// Before any fault injector, which can fail only devices that are made after it.
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
    }
};

struct Shift {
    double by = 0.0;
    static FieldsOf<Shift> fields() { return {field_of("by", &Shift::by).between(-2.0, 2.0)}; }
};

/// Matrices, an embedding, a vector, a knob with bounds and a host function; two structures of examples. Calls are
/// counted, and no two give the same where `by_chance`.
struct Mixed {
    std::shared_ptr<std::atomic<int>> calls = std::make_shared<std::atomic<int>>(0);
    System system;
    std::vector<Example> examples;

    explicit Mixed(bool by_chance = false) : system(make(calls, by_chance)) {
        for (std::uint32_t i = 0; i < 6; ++i) {
            examples.push_back({{{"x", drawn_tensor({3}, 100 + i)},
                                 {"id", Tensor::vector({static_cast<float>(i % 4)})},
                                 {"deep", i % 2 == 0}},
                                drawn_tensor({2}, 200 + i)});
        }
    }
    static System make(const std::shared_ptr<std::atomic<int>>& calls, bool by_chance) {
        const auto optimized = HyperfunctionOptions{.optimize = true};
        const auto table = hyperfunction(
            "table", MatrixWeight{.out = 4, .in = 3},
            [](const Traced& w, const Traced& id) { return embedding(w, id); }, optimized);
        const auto hidden = hyperfunction(
            "hidden", MatrixWeight{.out = 4, .in = 3, .noise_rank = 2},
            [](const Traced& w, const Traced& x) { return tanh(linear(w, x)); }, optimized);
        const auto bias = hyperfunction(
            "bias", VectorWeight{.size = 4}, [](const Traced& b, const Traced& x) { return gelu(x + b); }, optimized);
        const auto out = hyperfunction(
            "out", MatrixWeight{.out = 2, .in = 4},
            [](const Traced& w, const Traced& x) { return softmax(linear(w, x)); }, optimized);
        const auto shift = hyperfunction(
            "shift", Shift{},
            [calls, by_chance](const Shift& p, const Tensor& x) {
                const int call = ++*calls;
                std::vector<float> values(x.values().begin(), x.values().end());
                for (float& value : values)
                    value += static_cast<float>(p.by) + (by_chance ? static_cast<float>(call) : 0);
                return Tensor::create(x.shape(), values);
            },
            optimized);
        return System("mixed", [=](const Inputs& in) {
            const Traced x = in["x"] + reshape(table(in["id"]), {3});
            const Traced h = bias(hidden(x));
            return *in["deep"].read().boolean() ? shift(out(h)) : out(tanh(shift(h)));
        });
    }
};

struct Prepared {
    std::vector<TracedExample> traced;
    SearchSpace space;
    [[nodiscard]] Perturbations members(std::int32_t first, std::uint32_t count) const {
        return {.table = space.table,
                .mean = space.mean,
                .when = {.seed = 7, .generation = 3, .time = 3, .sigma = 0.3F},
                .rank = 2,
                .first_member = first,
                .members = count};
    }
};
Result<Prepared> prepare(Mixed& mixed) {
    YOLK_TRY(std::vector<TracedExample> traced, mixed.system.trace_all(mixed.examples));
    YOLK_TRY(SearchSpace space, search_space(mixed.system.parameters()));
    return Prepared{.traced = std::move(traced), .space = std::move(space)};
}
Result<PopulationEvaluator> evaluator_over(evolve::DevicePool& devices, Mixed& mixed, const Prepared& prepared,
                                           const PopulationOptions& options = {}) {
    return PopulationEvaluator::create({.devices = devices, .pool = &mixed.system.pool()}, prepared.traced,
                                       mixed.system.parameters(), options);
}
Result<PopulationOutputs> outputs_of(std::vector<Device> devices, Mixed& mixed, const Prepared& prepared,
                                     std::int32_t first, std::uint32_t count,
                                     const evolve::DevicePoolOptions& options = {}) {
    std::string notices;
    YOLK_TRY(evolve::DevicePool pool, pool_of(std::move(devices), notices, options));
    YOLK_TRY(PopulationEvaluator evaluator, evaluator_over(pool, mixed, prepared));
    return evaluator.evaluate(prepared.members(first, count));
}

TEST_F(pooled_population, two_vendors_and_the_host_give_the_bits_of_one) {
    Mixed mixed;
    ASSERT_OK_AND_ASSIGN(const Prepared prepared, prepare(mixed));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs expected, outputs_of({one_device()}, mixed, prepared, -1, 65));
    EXPECT_TRUE(expected.pooled.devices.shares.empty());
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs other, outputs_of({another_device()}, mixed, prepared, -1, 65));
    EXPECT_TRUE(other.values == expected.values);
    for (const std::uint32_t host_workers : {0U, 1U}) {
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs both, outputs_of({another_device(), one_device()}, mixed, prepared,
                                                                      -1, 65, {.host_workers = host_workers}));
        EXPECT_TRUE(both.values == expected.values);
        EXPECT_EQ(both.counts.host_calls, 65U * 6U);
        std::uint32_t members = 0;
        for (const evolve::WorkerShare& share : both.pooled.devices.shares) members += share.members;
        EXPECT_EQ(members, 65U);
    }
}

TEST_F(pooled_population, an_audit_agrees_even_where_host_functions_go_by_chance) {
    Mixed mixed(true);
    ASSERT_OK_AND_ASSIGN(const Prepared prepared, prepare(mixed));
    const int before = *mixed.calls;
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs both, outputs_of({another_device(), one_device()}, mixed, prepared, -1,
                                                                  40, {.audit = 1.0, .host_workers = 1}));
    EXPECT_EQ(*mixed.calls - before, 40 * 6);
    std::uint32_t audited = 0;
    for (const evolve::WorkerShare& share : both.pooled.devices.shares) {
        audited += share.audited;
        EXPECT_FALSE(share.dropped) << both.pooled.lost;
    }
    EXPECT_EQ(audited, 40U);
}

TEST_F(pooled_population, given_candidates_of_a_system) {
    std::vector<Candidate> candidates;
    for (std::uint32_t c = 0; c < 40; ++c) {
        candidates.push_back({{{"hidden", drawn_tensor({4, 3}, 300 + c)}, {"table", drawn_tensor({4, 3}, 400 + c)}}});
        if (c % 2 == 0) candidates.back().values.emplace_back("shift", drawn_tensor({1}, 600 + c));
    }
    Mixed alone;
    alone.system.use(yolk::testing::first_device().dispatcher);
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation expected,
                         alone.system.evaluate_population(candidates, alone.examples, numeric_distance()));
    Mixed mixed;
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool, pool_of({one_device(), another_device()}, notices, {.audit = 1.0}));
    mixed.system.use(pool);
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation both,
                         mixed.system.evaluate_population(candidates, mixed.examples, numeric_distance()));
    EXPECT_EQ(both.rewards, expected.rewards);
    EXPECT_EQ(pool.in_use(), 2U) << notices;
    candidates.resize(0);
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation none,
                         mixed.system.evaluate_population(candidates, mixed.examples, numeric_distance()));
    EXPECT_TRUE(none.rewards.empty());
}

TEST_F(pooled_population, errors_of_host_functions_name_the_candidate) {
    const auto refuse = hyperfunction("refuse", Shift{}, [](const Shift& p, double x) -> Result<double> {
        if (p.by > 1.0) return bad_input("too far");
        return x + p.by;
    });
    System system("refuse", [=](const Inputs& in) { return refuse(in["x"]); });
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool, pool_of({one_device(), another_device()}, notices, {.audit = 1.0}));
    system.use(pool);
    std::vector<Candidate> candidates(48);
    for (std::size_t c = 0; c < candidates.size(); ++c)
        candidates[c].values.emplace_back("refuse", Tensor::vector({c == 37 ? 1.5F : 0.5F}));
    const std::vector<Example> examples{{{{"x", 1.0}}, 1.5}};
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation population,
                         system.evaluate_population(candidates, examples, numeric_distance()));
    for (std::size_t c = 0; c < candidates.size(); ++c) EXPECT_EQ(population.errors[c].has_value(), c == 37) << c;
    EXPECT_THAT(population.errors[37]->message, HasSubstr("example 0, candidate 37"));
    EXPECT_EQ(pool.in_use(), 2U) << notices;
}

TEST_F(pooled_population, a_lost_device_is_dropped_and_the_bits_stay) {
    Mixed mixed;
    ASSERT_OK_AND_ASSIGN(const Prepared prepared, prepare(mixed));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs expected, outputs_of({another_device()}, mixed, prepared, -1, 65));
    for (const std::uint64_t call : {1U, 4U, 30U}) {
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device mortal, mortal_device(yolk::testing::first_device_name()));
        std::string notices;
        ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool, pool_of({mortal, another_device()}, notices));
        ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator, evaluator_over(pool, mixed, prepared));
        faults.fail_nth_call(call, testing::FaultKind::DeviceLost);
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs got, evaluator.evaluate(prepared.members(-1, 65)));
        EXPECT_TRUE(got.values == expected.values) << call;
        EXPECT_EQ(pool.in_use(), faults.injected_into().empty() ? 2U : 1U);
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs again, evaluator.evaluate(prepared.members(-1, 65)));
        EXPECT_TRUE(again.values == expected.values) << call;
        EXPECT_THAT(again.pooled.lost, HasSubstr(pool.in_use() == 1 ? "was dropped" : ""));
    }
}

TEST_F(pooled_population, a_device_that_computes_wrongly_is_found) {
    Mixed mixed;
    ASSERT_OK_AND_ASSIGN(const Prepared prepared, prepare(mixed));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs expected, outputs_of({another_device()}, mixed, prepared, -1, 65));
    testing::FaultInjector faults;
    ASSERT_OK_AND_ASSIGN(const Device wrong, mortal_device(yolk::testing::first_device_name()));
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool, pool_of({wrong, another_device()}, notices, {.audit = 1.0}));
    faults.spoil_multiplications(true);  // after its probe
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator, evaluator_over(pool, mixed, prepared));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs got, evaluator.evaluate(prepared.members(-1, 65)));
    EXPECT_TRUE(got.values == expected.values);
    EXPECT_FALSE(pool.is_used(0));
    EXPECT_TRUE(pool.is_used(1));
    EXPECT_THAT(notices, HasSubstr("It computes wrongly"));
}

TEST_F(pooled_population, one_device_takes_the_path_of_one) {
    Mixed mixed;
    ASSERT_OK_AND_ASSIGN(const Prepared prepared, prepare(mixed));
    ASSERT_OK_AND_ASSIGN(
        PopulationEvaluator plain,
        PopulationEvaluator::create({.devices = yolk::testing::first_device().dispatcher, .pool = &mixed.system.pool()},
                                    prepared.traced, mixed.system.parameters(), {}));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs expected, plain.evaluate(prepared.members(-1, 65)));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs got, outputs_of({one_device()}, mixed, prepared, -1, 65));
    EXPECT_EQ(got.counts.dispatches, expected.counts.dispatches);
    EXPECT_EQ(got.counts.submissions, expected.counts.submissions);
    EXPECT_EQ(got.counts.chunks, expected.counts.chunks);
}

TEST_F(pooled_population, bad_input_is_refused) {
    Mixed mixed;
    ASSERT_OK_AND_ASSIGN(const Prepared prepared, prepare(mixed));
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool, pool_of({one_device(), another_device()}, notices));
    EXPECT_TRUE(
        expect_error(PopulationEvaluator::create({.devices = pool}, prepared.traced, mixed.system.parameters(), {}),
                     ErrorKind::BadInput, "need a host pool"));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluator, evaluator_over(pool, mixed, prepared));
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, one_device().create_buffer(
                                                  {.size_bytes = prepared.space.table.size_bytes(), .label = "mean"}));
    Perturbations members = prepared.members(-1, 5);
    members.device_mean = {buffer, 0, buffer.size_bytes()};
    EXPECT_TRUE(expect_error(evaluator.evaluate(members), ErrorKind::BadInput, "The mean is on one device"));
    EXPECT_EQ(pool.in_use(), 2U) << notices;
}

}  // namespace
}  // namespace yolk::hyper
