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

constexpr std::uint32_t kMembers = 5;      // the mean and two pairs
constexpr std::uint32_t kStateWidth = 64;  // 256 bytes, the alignment of a view: a chunk may begin at any member
constexpr std::uint32_t kStateRows = 4;

Tensor rising_weights() {
    std::vector<float> values(std::size_t{kStateWidth} * 3);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7 + 1);
    return Tensor::create({kStateWidth, 3}, std::move(values)).value();
}

Traced vector_of_its_own(const char* name, std::uint32_t size) {
    return hyperfunction(name, VectorWeight{.size = size}, [](const Traced& w) { return w; })();
}

/// y = W x, for an x of each candidate, and a state: what `next_of` makes of y and of the state before.
struct SummingTask {
    ParameterSet parameters{};
    std::vector<TracedExample> traced{};
    SearchSpace space{};

    using NextOf = std::function<TracedValues(const Traced& y, const Traced& x)>;
    static TracedValues summed(const Traced& y, const Traced& /*x*/) {
        return {y, y + vector_of_its_own("sum", kStateWidth)};
    }

    static Result<SummingTask> make(const NextOf& next_of = &summed, const Shape& state = {kStateWidth}) {
        SummingTask task;
        YOLK_TRY_VOID(
            task.parameters.add({.name = "w", .shape = {kStateWidth, 3}, .optimize = true}, rising_weights()));
        YOLK_TRY_VOID(task.parameters.add({.name = "x", .shape = {3}}, Tensor::filled({3}, 0.0F)));
        YOLK_TRY_VOID(task.parameters.add({.name = "sum", .shape = state}, Tensor::filled(state, 0.0F)));
        YOLK_TRY_VOID(task.parameters.add({.name = "other", .shape = state}, Tensor::filled(state, 0.0F)));
        TracedExample traced;
        YOLK_TRY(traced.graph, trace("sums", {}, [&](std::span<const Traced>) {
                     const Traced w = hyperfunction("w", MatrixWeight{.out = kStateWidth, .in = 3},
                                                    [](const Traced& all) { return all; })();
                     const Traced x = vector_of_its_own("x", 3);
                     return next_of(linear(w, x), x);
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
    const Buffer sums = device().create_buffer({.size_bytes = 4 * kStateWidth * kMembers, .label = "sums"}).value();
    for (const std::uint32_t at_once : {0U, 2U}) {  // all in one chunk, or in three
        SCOPED_TRACE(at_once);
        ASSERT_OK(dispatcher().upload(sums, std::vector<std::byte>(sums.size_bytes())));
        ASSERT_OK_AND_ASSIGN(auto evaluator,
                             PopulationEvaluator::create({.devices = dispatcher()}, task.traced, task.parameters,
                                                         {.max_batch_size = at_once, .plain_outputs = true}));
        std::vector<float> expected(kStateWidth * kMembers, 0.0F);
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
        EXPECT_NE(found[kStateWidth], found[2 * kStateWidth]);
    }
}

/// A scatter writes y into the state's place turn - 1 where it lies, unless something else reads the state.
TEST_P(population_states, a_scatter_writes_into_them) {
    for (const bool is_read : {false, true}) {
        for (const std::uint32_t at_once : {0U, 2U}) {
            SCOPED_TRACE(::testing::Message() << is_read << " " << at_once);
            const auto next_of = [&](const Traced& y, const Traced& x) {
                std::vector<float> turns{1, 2, 3, 4};
                const Traced place = argmax(equal_to(slice(x, 0, {0, 1}), Tensor::vector(std::move(turns))));
                const Traced before = hyperfunction("sum", MatrixWeight{.out = kStateRows, .in = kStateWidth},
                                                    [](const Traced& all) { return all; })();
                const Traced next = scatter(before, place, reshape(y, {1, kStateWidth}));
                return TracedValues{is_read ? y + reshape(sum(before, 0), {kStateWidth}) : y, next};
            };
            ASSERT_OK_AND_ASSIGN(const SummingTask task, SummingTask::make(next_of, {kStateRows, kStateWidth}));
            const std::uint64_t each = std::uint64_t{kStateRows} * kStateWidth;
            const Buffer state = device().create_buffer({.size_bytes = 4 * each * kMembers, .label = "state"}).value();
            ASSERT_OK(dispatcher().upload(state, std::vector<std::byte>(state.size_bytes())));
            ASSERT_OK_AND_ASSIGN(auto evaluator,
                                 PopulationEvaluator::create({.devices = dispatcher()}, task.traced, task.parameters,
                                                             {.max_batch_size = at_once, .plain_outputs = true}));
            std::vector<float> expected(each * kMembers, 0.0F);
            for (const std::uint32_t turn : {1U, 3U, 4U}) {
                const OwnValues own = SummingTask::own(static_cast<float>(turn), state);
                ASSERT_OK_AND_ASSIGN(const PopulationOutputs outputs, evaluator.evaluate(task.around(), own));
                for (std::size_t m = 0; m < kMembers; ++m) {
                    for (std::size_t i = 0; i < kStateWidth; ++i) {
                        float before = 0.0F;
                        for (std::size_t p = 0; p < kStateRows; ++p) before += expected[m * each + p * kStateWidth + i];
                        const float y = outputs.plain.elements[m * kStateWidth + i] - (is_read ? before : 0.0F);
                        expected[m * each + (turn - 1) * kStateWidth + i] = y;
                    }
                }
            }
            std::vector<float> found(expected.size());
            ASSERT_OK(dispatcher().download(state, std::as_writable_bytes(std::span(found))));
            for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4F) << i;
            EXPECT_EQ(found[kStateWidth], 0.0F) << "no turn was 2";
            EXPECT_NE(found[0], found[each]);
        }
    }
}

TEST_P(population_states, one_cannot_be_another_as_it_is) {
    const auto next_of = [](const Traced& y, const Traced& /*x*/) {
        const Traced other = vector_of_its_own("other", kStateWidth);
        return TracedValues{y, reshape(other, {kStateWidth, 1}), y + other};
    };
    ASSERT_OK_AND_ASSIGN(const SummingTask task, SummingTask::make(next_of));
    const Buffer sums = device().create_buffer({.size_bytes = 4 * kStateWidth * kMembers, .label = "sums"}).value();
    const Buffer others = device().create_buffer({.size_bytes = 4 * kStateWidth * kMembers, .label = "others"}).value();
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher()}, task.traced,
                                                                     task.parameters, {.plain_outputs = true}));
    OwnValues own = SummingTask::own(1.0F, sums);
    own.carried.push_back({.group = "other", .values = others});
    EXPECT_TRUE(expect_error(evaluator.evaluate(task.around(), own), ErrorKind::BadInput,
                             "The next state of 'sum' is that of 'other' as it is"));
}

TEST_P(population_states, what_does_not_fit_is_refused) {
    ASSERT_OK_AND_ASSIGN(const SummingTask task, SummingTask::make());
    const Buffer sums = device().create_buffer({.size_bytes = 4 * kStateWidth * kMembers, .label = "sums"}).value();
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
        refused([&](OwnValues& o) { o.carried[0].values = BufferView(sums, 0, 8); }, "1280 bytes; the view has 8"));
    EXPECT_TRUE(refused([](OwnValues& o) { o.carried[0].group = "x"; }, "Output 1 of graph 'sums' is no next state"));
    EXPECT_TRUE(refused([](OwnValues& o) { o.carried.push_back(o.carried[0]); }, "carry 2 states, and graph 'sums'"));
    const OwnValues own = SummingTask::own(1.0F, sums);
    EXPECT_OK(evaluator.evaluate(task.around(), own)) << "it can be used again";

    const auto short_state = [](const Traced& y, const Traced& /*x*/) {
        return TracedValues{y, slice(y, 0, {0, 3}) + vector_of_its_own("sum", 3)};
    };
    ASSERT_OK_AND_ASSIGN(const SummingTask unaligned, SummingTask::make(short_state, {3}));
    ASSERT_OK_AND_ASSIGN(auto by_twos,
                         PopulationEvaluator::create({.devices = dispatcher()}, unaligned.traced, unaligned.parameters,
                                                     {.max_batch_size = 2, .plain_outputs = true}));
    const Buffer threes = device().create_buffer({.size_bytes = 4 * 3 * kMembers, .label = "threes"}).value();
    EXPECT_TRUE(expect_error(by_twos.evaluate(unaligned.around(), SummingTask::own(1.0F, threes)), ErrorKind::BadInput,
                             "Only 2 candidates are evaluated at once"));
}

}  // namespace
}  // namespace yolk::hyper
