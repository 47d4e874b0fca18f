// SPDX-License-Identifier: Apache-2.0
// Other examples for plans that are there: the outputs are those of an evaluator made for them.
#include <gmock/gmock.h>

#include "fixtures.hpp"
#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/runtime/shape_requests.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;

class population_examples : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(population_examples);

ParameterSet rows_and_bias() {
    ParameterSet set;
    EXPECT_OK(set.add(matrix_spec("w", 3, 4), drawn_tensor({3, 4}, 1)));
    EXPECT_OK(set.add(vector_spec("v", 4), drawn_tensor({4}, 2)));
    return set;
}
/// Inputs: a tensor, ids below 5, an index that an equation of data reads, and an offset.
std::map<std::string, Value> data_of(std::uint32_t seed, float offset) {
    const auto id = static_cast<float>(seed % 5);
    return {{"x", drawn_tensor({5, 4}, seed)},
            {"ids", Tensor::vector({id, 4 - id, 2})},
            {"offset", Tensor::vector({offset})}};
}
/// Data that is computed once, a table by ids, products with a perturbed matrix, broadcasting of data.
TracedExample example_of(const ParameterSet& set, const std::map<std::string, Value>& data) {
    Sketch s(set);
    const Atom x = s.input("x", data.at("x"));
    const Atom ids = s.input("ids", data.at("ids"));
    const Atom offset = s.input("offset", data.at("offset"));
    const Atom moved = s.one("add", {x, offset});
    const Atom shifted = s.one("add", {moved, s.parameter("v")});
    const Atom rows = s.one("gather", {shifted, ids}, {{"dimension", std::int64_t{0}}});
    const Atom both = s.one("add", {s.one("linear", {s.parameter("w"), rows}), offset});
    return s.finish(
        s.one("concat", {both, s.one("linear", {s.parameter("w"), moved})}, {{"dimension", std::int64_t{0}}}));
}
std::vector<TracedExample> examples_of(const ParameterSet& set, std::uint32_t seed, float first, float second) {
    return {example_of(set, data_of(seed, first)), example_of(set, data_of(seed + 1, second)),
            example_of(set, data_of(seed + 2, first))};
}
Perturbations five_members(const SearchSpace& space) {
    return {.table = space.table,
            .mean = space.mean,
            .when = {.seed = 7, .generation = 3, .time = 3, .sigma = 0.1F},
            .first_member = -1,
            .members = 5};
}

TEST_P(population_examples, set_examples_gives_what_a_new_evaluator_gives) {
    const ParameterSet set = rows_and_bias();
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    const PopulationEvaluator::Resources here{.devices = dispatcher()};
    const std::vector<TracedExample> before = examples_of(set, 10, .5F, .5F);
    const std::vector<TracedExample> after = examples_of(set, 20, .25F, -2.0F);
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator kept,
                         PopulationEvaluator::create(here, before, set, {.examples_change = true}));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator made, PopulationEvaluator::create(here, after, set, {}));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator first, PopulationEvaluator::create(here, before, set, {}));
    std::vector<Candidate> given(2);
    given[1].values.emplace_back("v", drawn_tensor({4}, 3));
    for (const bool is_after : {false, true, false}) {
        ASSERT_OK(kept.set_examples(is_after ? after : before));
        PopulationEvaluator& fresh = is_after ? made : first;
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs outputs, kept.evaluate(five_members(space)));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, fresh.evaluate(five_members(space)));
        EXPECT_TRUE(outputs.values == wanted.values) << is_after;
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs candidates, kept.evaluate(given));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted_candidates, fresh.evaluate(given));
        EXPECT_TRUE(candidates.values == wanted_candidates.values) << is_after;
    }
    EXPECT_EQ(kept.fallbacks(), std::vector<std::string>{});
    const std::size_t planned = shape_requests(device()).size();
    ASSERT_OK(kept.set_examples(after));
    ASSERT_OK(kept.evaluate(five_members(space)));
    EXPECT_EQ(shape_requests(device()).size(), planned) << "nothing is planned again";
}

TEST_P(population_examples, what_they_cannot_take_is_refused_and_the_former_stay) {
    const ParameterSet set = rows_and_bias();
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    const PopulationEvaluator::Resources here{.devices = dispatcher()};
    const std::vector<TracedExample> before = examples_of(set, 10, .5F, .5F);
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator fixed, PopulationEvaluator::create(here, before, set, {}));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator open,
                         PopulationEvaluator::create(here, before, set, {.examples_change = true}));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, fixed.evaluate(five_members(space)));
    EXPECT_THAT(refusal(fixed.set_examples(examples_of(set, 20, 1, 2))),
                HasSubstr("PopulationOptions::examples_change"));
    EXPECT_THAT(refusal(open.set_examples(std::span(before).first(2))),
                HasSubstr("2 examples were given in place of 3"));
    std::vector<TracedExample> other = examples_of(set, 20, 1, 2);
    other[1] = two_layer_example(two_layers(), drawn_tensor({4}, 1));
    EXPECT_THAT(refusal(open.set_examples(other)), HasSubstr("which the set has not"));
    other = examples_of(set, 20, 1, 2);
    other[2].graph.equations.pop_back();
    other[2].graph.outputs = {other[2].graph.equations.back().results[0]};
    EXPECT_THAT(refusal(open.set_examples(other)), HasSubstr("Example 2 has another structure"));
    other = examples_of(set, 20, 1, 2);
    other[1].values[1] = Tensor::vector({0, 5, 1});
    EXPECT_THAT(refusal(open.set_examples(other)), HasSubstr("taking example 1"));
    for (PopulationEvaluator* evaluator : {&fixed, &open}) {
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs outputs, evaluator->evaluate(five_members(space)));
        EXPECT_TRUE(outputs.values == wanted.values);
    }
}

TEST(population_refresh, is_the_trace_of_other_inputs) {
    const ParameterSet set = rows_and_bias();
    TracedExample example = example_of(set, data_of(10, .5F));
    const TracedExample wanted = example_of(set, data_of(13, 2));
    TracedExample all = example;
    ASSERT_OK(population::refresh(all, data_of(13, 2), std::vector<std::string>{}));
    EXPECT_TRUE(all.values == wanted.values) << "nothing varies: all of it is evaluated again";
    ASSERT_OK(population::refresh(example, data_of(13, 2)));
    const std::vector<bool> varies = depends_on(example.graph).value();
    std::size_t same = 0;
    for (std::size_t v = 0; v < varies.size(); ++v) {
        if (varies[v]) continue;
        EXPECT_EQ(example.values[v], wanted.values[v]) << v;
        ++same;
    }
    EXPECT_EQ(same, 4U) << "three inputs and a sum of data";
    EXPECT_EQ(signature(example.graph).value(), signature(wanted.graph).value());
}

TEST(population_refresh, refuses_what_the_trace_would_and_leaves_the_example) {
    const ParameterSet set = rows_and_bias();
    TracedExample example = example_of(set, data_of(10, .5F));
    const std::vector<Value> before = example.values;
    auto data = data_of(11, 1);
    data["ids"] = Tensor::vector({0, 1, 5});
    EXPECT_THAT(refusal(population::refresh(example, data)), HasSubstr("gather"));
    data["ids"] = Tensor::vector({0, 1});
    EXPECT_THAT(refusal(population::refresh(example, data)), HasSubstr("Input 'ids'"));
    data.erase("ids");
    EXPECT_THAT(refusal(population::refresh(example, data)), HasSubstr("has the input 'ids', which was not given"));
    data = data_of(11, 1);
    data["more"] = 1.0;
    EXPECT_THAT(refusal(population::refresh(example, data)), HasSubstr("4 inputs were given"));
    EXPECT_TRUE(example.values == before);
    example.notes.emplace_back("variable 0 was read.");
    EXPECT_THAT(refusal(population::refresh(example, data_of(11, 1))), HasSubstr("read values past the tracer"));
}

TEST(population_refresh, reaches_all_devices_of_a_pool) {
    const ParameterSet set = rows_and_bias();
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    std::string notices;
    System system("of the pool", [](const Inputs& in) { return in["x"]; });
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool both,
                         pool_of({another_device(), one_device()}, notices, {.audit = 1.0, .host_workers = 1}));
    const PopulationEvaluator::Resources pooled{.devices = both, .pool = &system.pool()};
    const std::vector<TracedExample> before = examples_of(set, 10, .5F, .5F);
    const std::vector<TracedExample> after = examples_of(set, 20, 1, 2);
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator kept,
                         PopulationEvaluator::create(pooled, before, set, {.examples_change = true}));
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator made, PopulationEvaluator::create(pooled, after, set, {}));
    Perturbations members = five_members(space);
    members.members = 32;
    ASSERT_OK(kept.evaluate(members));
    ASSERT_OK(kept.set_examples(after));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs outputs, kept.evaluate(members));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, made.evaluate(members));
    EXPECT_TRUE(outputs.values == wanted.values);
    EXPECT_EQ(outputs.pooled.lost, "");
}

}  // namespace
}  // namespace yolk::hyper
