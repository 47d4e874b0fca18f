// SPDX-License-Identifier: Apache-2.0
// Candidates with values of their own, and states that stay on the device from one evaluation to the next.
#include <gmock/gmock.h>

#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/hyper/hyperfunction.hpp"
#include "yolk/internal/hyper/population.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::yolk::testing::expect_error;

class population_states : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(population_states);

constexpr std::uint32_t kMembers = 5;  // the mean and two pairs

/// y = W x, for an x of each candidate, and the sum of all y so far.
struct SummingTask {
    ParameterSet parameters{};
    std::vector<TracedExample> traced{};
    SearchSpace space{};

    static Result<SummingTask> make() {
        SummingTask task;
        YOLK_TRY_VOID(task.parameters.add({.name = "w", .shape = {2, 3}, .optimize = true},
                                          *Tensor::create({2, 3}, {1, 2, 3, 4, 5, 6})));
        YOLK_TRY_VOID(task.parameters.add({.name = "x", .shape = {3}}, Tensor::filled({3}, 0.0F)));
        YOLK_TRY_VOID(task.parameters.add({.name = "sum", .shape = {2}}, Tensor::filled({2}, 0.0F)));
        TracedExample traced;
        YOLK_TRY(traced.graph, trace("sums", {}, [](std::span<const Traced>) {
                     const auto itself = [](const Traced& w) { return w; };
                     const Traced w = hyperfunction("w", MatrixWeight{.out = 2, .in = 3}, itself)();
                     const Traced y = linear(w, hyperfunction("x", VectorWeight{.size = 3}, itself)());
                     return TracedValues{y, y + hyperfunction("sum", VectorWeight{.size = 2}, itself)()};
                 }));
        traced.values.resize(traced.graph.variables.size());
        for (const GraphParameter& one : traced.graph.parameters)
            traced.values[one.variable.value] = task.parameters.find(one.group)->value();
        task.traced.push_back(std::move(traced));
        YOLK_TRY(task.space, search_space(task.parameters));
        return task;
    }
    [[nodiscard]] Perturbations around() const {
        return {.table = space.table,
                .mean = space.mean,
                .when = {.seed = 3, .generation = 1, .time = 1, .sigma = 0.5F},
                .first_member = -1,
                .members = kMembers};
    }
    /// Inputs that differ between candidates and turns.
    [[nodiscard]] static OwnValues own(float turn, const Buffer& sums) {
        OwnValues own{.given = {{.group = "x", .values = {}}}, .carried = {{.group = "sum", .values = sums}}};
        for (std::uint32_t m = 0; m < kMembers; ++m)
            own.given[0].values.push_back(Tensor::vector({turn, static_cast<float>(m), -1.0F}));
        return own;
    }
};

TEST_P(population_states, each_candidate_has_its_own) {
    ASSERT_OK_AND_ASSIGN(const SummingTask task, SummingTask::make());
    const Buffer sums = device().create_buffer({.size_bytes = 4 * 2 * kMembers, .label = "sums"}).value();
    for (const std::uint32_t at_once : {0U, 2U}) {  // all in one chunk, or in three
        SCOPED_TRACE(at_once);
        ASSERT_OK(dispatcher().upload(sums, std::vector<std::byte>(sums.size_bytes())));
        ASSERT_OK_AND_ASSIGN(auto evaluator,
                             PopulationEvaluator::create({.devices = dispatcher()}, task.traced, task.parameters,
                                                         {.max_batch_size = at_once, .plain_outputs = true}));
        std::vector<float> expected(2 * kMembers, 0.0F);
        for (const float turn : {1.0F, 2.0F, 3.0F}) {
            const OwnValues own = SummingTask::own(turn, sums);
            ASSERT_OK_AND_ASSIGN(const PopulationOutputs outputs, evaluator.evaluate(task.around(), own));
            ASSERT_EQ(outputs.plain.elements.size(), expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += outputs.plain.elements[i];
            EXPECT_EQ(outputs.plain.elements[0], turn - 3.0F) << "of the mean: 1, 2, 3 times turn, 0, -1";
            EXPECT_EQ(outputs.plain.elements[1], 4.0F * turn - 6.0F);
        }
        std::vector<float> found(expected.size());
        ASSERT_OK(dispatcher().download(sums, std::as_writable_bytes(std::span(found))));
        EXPECT_EQ(found, expected);
        EXPECT_NE(found[2] + found[4], 0.0F);
    }
}

TEST_P(population_states, what_does_not_fit_is_refused) {
    ASSERT_OK_AND_ASSIGN(const SummingTask task, SummingTask::make());
    const Buffer sums = device().create_buffer({.size_bytes = 4 * 2 * kMembers, .label = "sums"}).value();
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher()}, task.traced,
                                                                     task.parameters, {.plain_outputs = true}));
    const auto refused = [&](const std::function<void(OwnValues&)>& spoil, const std::string& message) {
        OwnValues own = SummingTask::own(1.0F, sums);
        spoil(own);
        return expect_error(evaluator.evaluate(task.around(), own), ErrorKind::BadInput, message);
    };
    EXPECT_TRUE(refused([](OwnValues& o) { o.given[0].group = "w"; }, "'w', which is optimized"));
    EXPECT_TRUE(refused([](OwnValues& o) { o.given[0].group = "v"; }, "'v', which is no group"));
    EXPECT_TRUE(refused([](OwnValues& o) { o.given[0].values.pop_back(); }, "4 values of 'x' were given for 5"));
    EXPECT_TRUE(refused([](OwnValues& o) { o.given[0].values[1] = Tensor::vector({1}); }, "of the group's shape"));
    EXPECT_TRUE(
        refused([&](OwnValues& o) { o.carried[0].values = BufferView(sums, 0, 8); }, "40 bytes; the view has 8"));
    EXPECT_TRUE(refused([](OwnValues& o) { o.carried[0].group = "x"; }, "Output 1 of graph 'sums' is no next state"));
    EXPECT_TRUE(refused([](OwnValues& o) { o.carried.push_back(o.carried[0]); }, "carry 2 states, and graph 'sums'"));
    const OwnValues own = SummingTask::own(1.0F, sums);
    EXPECT_OK(evaluator.evaluate(task.around(), own)) << "it can be used again";
}

}  // namespace
}  // namespace yolk::hyper
