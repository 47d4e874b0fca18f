// SPDX-License-Identifier: Apache-2.0
// Chunks, groups of examples, host functions in between, and what an evaluation leaves behind.
#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>

#include "population_fixtures.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

using ::yolk::testing::expect_error;

class population_chunks : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<PopulationEvaluator> evaluator(const std::vector<TracedExample>& examples,
                                                        const ParameterSet& set,
                                                        const PopulationOptions& options = {}) const {
        return PopulationEvaluator::create({.devices = dispatcher()}, examples, set, options);
    }
};
YOLK_FOR_EACH_DEVICE(population_chunks);

Perturbations chunk_perturbations(const SearchSpace& space, std::int32_t first, std::uint32_t members) {
    return {.table = space.table,
            .mean = space.mean,
            .when = {.seed = 3, .sigma = 0.1F},
            .first_member = first,
            .members = members};
}

TEST_P(population_chunks, any_size_gives_the_same_bits) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples = two_layer_examples(set, 3);
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    std::vector<Value> wanted;
    for (const std::uint32_t batch : {1024U, 1U, 12U}) {
        ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set, {.max_batch_size = batch}));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluate.evaluate(chunk_perturbations(space, -1, 11)));
        if (wanted.empty()) wanted = out.values;
        EXPECT_EQ(out.values, wanted) << batch;
        const std::uint64_t per_chunk = std::min(11U, std::max(1U, batch / 3));
        EXPECT_EQ(out.counts.chunks, (11 + per_chunk - 1) / per_chunk);
        EXPECT_EQ(out.counts.submissions, out.counts.chunks);
    }
}

TEST_P(population_chunks, a_budget_makes_them_small) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples = two_layer_examples(set, 3);
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator whole, evaluator(examples, set));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, whole.evaluate(chunk_perturbations(space, 0, 40)));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator small, evaluator(examples, set, {.memory_budget_bytes = 512}));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs got, small.evaluate(chunk_perturbations(space, 0, 40)));
    EXPECT_EQ(got.values, wanted.values);
    EXPECT_GT(got.counts.chunks, wanted.counts.chunks);
    EXPECT_TRUE(
        expect_error(evaluator(examples, set, {.memory_budget_bytes = 16}), ErrorKind::OutOfMemory, "One candidate"));
}

TEST_P(population_chunks, one_stage_takes_two_dispatches_whatever_the_population) {
    ParameterSet set;
    ASSERT_OK(set.add(matrix_spec("w", 2, 3), drawn_tensor({2, 3}, 1)));
    std::vector<TracedExample> examples;
    for (std::uint32_t i = 0; i < 200; ++i) {
        Sketch s(set);
        const Atom y = s.one("linear", {s.parameter("w"), s.input("x", drawn_tensor({3}, i))});
        examples.push_back(s.finish(y));
    }
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set, {.max_batch_size = 1024}));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluate.evaluate(chunk_perturbations(space, 0, 32)));
    EXPECT_EQ(out.counts.chunks, 7U);  // 1024 / 200 candidates each
    EXPECT_LE(out.counts.dispatches, 2 * out.counts.chunks);
    EXPECT_EQ(out.counts.host_calls, 0U);
    const std::uint64_t dispatches = device().counts().dispatches;
    ASSERT_OK(evaluate.evaluate(chunk_perturbations(space, 0, 32)));
    EXPECT_EQ(device().counts().dispatches - dispatches, out.counts.dispatches);  // the device counts the same
}

/// A graph of one input "x" over stacked inputs, with the values that a trace would have.
Result<TracedExample> batched_example(const TracedExample& one, const std::map<std::string, Tensor>& parameters,
                                      const Tensor& stacked) {
    TracedExample made;
    YOLK_TRY(made.graph, batch(one.graph, {.size = stacked.shape().extents().front()}));
    made.values.resize(made.graph.variables.size());
    made.values[made.graph.inputs.front().second.value] = stacked;
    for (const GraphParameter& parameter : made.graph.parameters)
        made.values[parameter.variable.value] = parameters.at(parameter.group);
    for (const Equation& equation : made.graph.equations) {
        std::vector<Value> operands;
        for (const Atom& atom : equation.operands) {
            const auto* id = std::get_if<VariableId>(&atom);
            operands.push_back(id == nullptr ? std::get<Value>(atom) : made.values[id->value]);
        }
        YOLK_TRY(std::vector<Value> results, evaluate_equation(equation, operands));
        for (std::size_t i = 0; i < results.size(); ++i) made.values[equation.results[i].value] = std::move(results[i]);
    }
    return made;
}

TEST_P(population_chunks, a_batch_of_a_thousand_takes_the_dispatches_of_one) {
    constexpr std::uint64_t kSize = 1000;
    const ParameterSet set = two_layers();
    std::map<std::string, Tensor> parameters;
    for (const char* group : {"w1", "b1", "w2"}) parameters.emplace(group, set.find(group)->values);
    const Tensor x = drawn_tensor({kSize, 4}, 7);
    const TracedExample one = two_layer_example(set, drawn_tensor({4}, 8));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    const auto evaluate = [&](const TracedExample& example, std::int32_t member) -> Result<PopulationOutputs> {
        const std::vector<TracedExample> examples{example};
        YOLK_TRY(PopulationEvaluator evaluate_one, evaluator(examples, set));
        return evaluate_one.evaluate(chunk_perturbations(space, member, 1));
    };
    ASSERT_OK_AND_ASSIGN(const TracedExample thousand, batched_example(one, parameters, x));
    for (const std::int32_t member : {-1, 5}) {
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs of_one, evaluate(one, member));
        const std::uint64_t before = device().counts().dispatches;
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs of_thousand, evaluate(thousand, member));
        EXPECT_GT(of_one.counts.dispatches, 0U);
        // Of one's 3 or 5 elements some are left over by vectors of four, in a dispatch more; of 5,000 none.
        EXPECT_LE(of_thousand.counts.dispatches, of_one.counts.dispatches);
        EXPECT_EQ(device().counts().dispatches - before, of_thousand.counts.dispatches);
        EXPECT_EQ(of_thousand.counts.chunks, 1U);
        EXPECT_EQ(of_thousand.counts.host_equations, 0U);
        const Tensor& outputs = *of_thousand.values[0].tensor();
        ASSERT_EQ(outputs.shape(), (Shape{kSize, 3}));
        for (const std::size_t row : {std::size_t{0}, std::size_t{1}, std::size_t{617}, kSize - 1}) {
            const auto in = x.values().subspan(4 * row, 4);
            const TracedExample alone = two_layer_example(set, Tensor::vector({in.begin(), in.end()}));
            ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, evaluate(alone, member));
            EXPECT_TRUE(std::ranges::equal(outputs.values().subspan(3 * row, 3), wanted.values[0].tensor()->values()))
                << row << ", member " << member;
        }
    }
}

/// 8 MiB of intermediate values on a processor, 512 MiB on a GPU, of which a candidate over 200 examples here needs a
/// few KiB; with 64 columns in place of 2 about 100 KiB.
TEST_P(population_chunks, by_default_have_the_memory_that_suits_the_device) {
    for (const std::uint32_t columns : {2U, 64U}) {
        ParameterSet set;
        ASSERT_OK(set.add(matrix_spec("w", columns, 3), drawn_tensor({columns, 3}, 1)));
        std::vector<TracedExample> examples;
        for (std::uint32_t i = 0; i < 200; ++i) {
            Sketch s(set);
            const Atom h = s.one("linear", {s.parameter("w"), s.input("x", drawn_tensor({3}, i))});
            examples.push_back(s.finish(s.one("tanh", {h})));
        }
        ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set));
        ASSERT_OK_AND_ASSIGN(PopulationEvaluator small, evaluator(examples, set, {.memory_budget_bytes = 1U << 20U}));
        ASSERT_OK_AND_ASSIGN(const std::uint32_t many, evaluate.candidates_per_chunk());
        ASSERT_OK_AND_ASSIGN(const std::uint32_t few, small.candidates_per_chunk());
        const bool on_cpu = device().info().kind == DeviceKind::Cpu;
        EXPECT_EQ(many >= 256, columns == 2 || !on_cpu) << many;
        EXPECT_GE(many, 32U);
        // Whole candidates, of which the small budget has few; 65,536 at most.
        const auto expected = [on_cpu](double in_a_mebibyte) {
            return std::min((on_cpu ? 8.0 : 512.0) * in_a_mebibyte, 65536.0);
        };
        EXPECT_GE(many, 63.0 / 64 * expected(few));
        EXPECT_LE(many, 65.0 / 64 * expected(few + 1.0));
        ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluate.evaluate(chunk_perturbations(space, 0, 40)));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs same, small.evaluate(chunk_perturbations(space, 0, 40)));
        EXPECT_EQ(out.values, same.values);
    }
}

TEST_P(population_chunks, the_second_time_makes_no_objects) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples = two_layer_examples(set, 3);
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set, {.max_batch_size = 15}));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK(evaluate.evaluate(chunk_perturbations(space, 0, 12)));  // five, five, two
    const OperationCounts before = device().counts();
    ASSERT_OK(evaluate.evaluate(chunk_perturbations(space, 12, 12)));
    const OperationCounts after = device().counts();
    EXPECT_EQ(after.buffers_created, before.buffers_created);
    EXPECT_EQ(after.pipelines_created, before.pipelines_created);
    EXPECT_EQ(after.memory_blocks, before.memory_blocks);
}

TEST_P(population_chunks, what_others_left_in_the_arena_is_not_read) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples = two_layer_examples(set, 3);
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, evaluate.evaluate(chunk_perturbations(space, 0, 6)));
    const std::vector<float> poison(space.mean.size(), std::numeric_limits<float>::quiet_NaN());
    Perturbations poisoned = chunk_perturbations(space, 0, 6);
    poisoned.mean = poison;
    ASSERT_OK(evaluate.evaluate(poisoned));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs again, evaluate.evaluate(chunk_perturbations(space, 0, 6)));
    EXPECT_EQ(again.values, wanted.values);
}

TEST_P(population_chunks, without_pairs_each_member_has_noise_of_its_own) {
    ParameterSet set;
    ASSERT_OK(set.add(vector_spec("v", 5), drawn_tensor({5}, 2)));
    ASSERT_OK(set.add(matrix_spec("w", 2, 5), drawn_tensor({2, 5}, 3)));
    Sketch s(set);
    std::vector<TracedExample> examples;
    examples.push_back(s.finish(s.one("linear", {s.parameter("w"), s.parameter("v")})));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    Perturbations alone = chunk_perturbations(space, -1, 4);
    alone.antithetic = false;
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluate.evaluate(alone));
    for (std::int32_t member = -1; member < 3; ++member) {
        const PerturbedVectorDesc vector{
            .members = 1, .element_count = 5, .parameter = ParameterId(0), .antithetic = false};
        const auto v = reference::twin_result<float>(vector, {set.find("v")->values.values()}, alone.when, member);
        const PerturbedLinearDesc linear{
            .members = 1, .rows = 1, .in = 5, .out = 2, .parameter = ParameterId(1), .antithetic = false};
        const auto y = reference::twin_result<float>(linear, {set.find("w")->values.values(), v}, alone.when, member);
        EXPECT_EQ(out.values[static_cast<std::size_t>(member + 1)], Value(Tensor::vector(y))) << member;
    }
}

TEST_P(population_chunks, examples_of_differing_structure_are_groups) {
    const ParameterSet set = two_layers();
    std::vector<TracedExample> examples = two_layer_examples(set, 5);
    Sketch other(set);
    const Atom y = other.one("linear", {other.parameter("w1"), other.input("x", drawn_tensor({4}, 7))});
    examples.insert(examples.begin() + 1, other.finish(y));
    Sketch data(set);
    examples.push_back(data.finish(data.input("x", "a text")));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set));
    std::vector<Candidate> candidates(4);
    for (std::uint32_t c = 0; c < 4; ++c) candidates[c].values = {{"w1", drawn_tensor({5, 4}, 30 + c)}};
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluate.evaluate(candidates));
    for (std::size_t e = 0; e < examples.size(); ++e) {
        for (std::size_t c = 0; c < 4; ++c)
            EXPECT_EQ(out.values[e * 4 + c],
                      answer(examples[e], {{"w1", drawn_tensor({5, 4}, 30 + static_cast<std::uint32_t>(c))}}));
    }
    EXPECT_EQ(out.counts.chunks, 1U);
    EXPECT_EQ(out.counts.submissions, 1U);
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator by_one, evaluator(examples, set, {.max_batch_size = 1}));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs again, by_one.evaluate(candidates));
    EXPECT_EQ(again.values, out.values);
}

}  // namespace
}  // namespace yolk::hyper
