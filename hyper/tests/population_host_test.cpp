// SPDX-License-Identifier: Apache-2.0
// Host functions among tensor equations: what they are given, what their errors do, what falls back.
#include <atomic>
#include <memory>
#include <stdexcept>

#include <gmock/gmock.h>

#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::yolk::testing::expect_error;

class population_host : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(population_host);

constexpr NoiseContext kHostNoise{.seed = 4, .generation = 2, .time = 2, .sigma = 0.5F};

/// A knob in 0 ... 10, a vector, a matrix.
ParameterSet knob_vector_and_matrix() {
    ParameterSet set;
    EXPECT_OK(set.add({.name = "knob",
                       .shape = {1},
                       .fields = {{.name = "heat", .initial = 2.0, .lower = 0.0, .upper = 10.0}},
                       .optimize = true},
                      Tensor::vector({2.0F})));
    EXPECT_OK(set.add(vector_spec("v", 4), drawn_tensor({4}, 1)));
    EXPECT_OK(set.add(matrix_spec("w", 3, 4), drawn_tensor({3, 4}, 2)));
    return set;
}

HostFunctionPtr host(std::string name, std::function<Result<Value>(const HostCall&)> run) {
    return std::make_shared<HostFunction>(HostFunction{.name = std::move(name), .run = std::move(run)});
}

/// heat * (the sum of x), as a tensor of three.
HostFunctionPtr scaled_sum() {
    return host("scaled_sum", [](const HostCall& call) -> Result<Value> {
        float sum = 0.0F;
        for (const float x : call.operands[0].tensor()->values()) sum += x;
        return Value(Tensor::filled({3}, call.parameters[0] * sum));
    });
}

/// w (tanh(x + v)), then the host, then tanh of it plus w's product again: device, host, device.
TracedExample mixed_example(const ParameterSet& set, std::uint32_t e, const HostFunctionPtr& function) {
    Sketch s(set);
    const Atom x = s.one("tanh", {s.one("add", {s.input("x", drawn_tensor({4}, 20 + e)), s.parameter("v")})});
    const Atom y = s.one("linear", {s.parameter("w"), x});
    const Atom z = s.one("host_call", {s.parameter("knob"), y}, {}, function);
    return s.finish(s.one("tanh", {s.one("subtract", {z, y})}));
}

std::vector<TracedExample> mixed_examples(const ParameterSet& set, const HostFunctionPtr& function) {
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < 3; ++e) examples.push_back(mixed_example(set, e, function));
    return examples;
}

std::vector<Candidate> some_candidates(std::uint32_t count) {
    std::vector<Candidate> candidates(count);
    for (std::uint32_t c = 0; c < count; ++c) {
        candidates[c].values = {{"knob", Tensor::vector({static_cast<float>(c)})}, {"w", drawn_tensor({3, 4}, 30 + c)}};
    }
    return candidates;
}

TEST_P(population_host, device_and_host_take_turns) {
    const ParameterSet set = knob_vector_and_matrix();
    const std::vector<TracedExample> examples = mixed_examples(set, scaled_sum());
    ASSERT_OK_AND_ASSIGN(HostPool pool, HostPool::create());
    const std::vector<Candidate> candidates = some_candidates(5);
    for (HostPool* const on : {static_cast<HostPool*>(nullptr), &pool}) {
        ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher(), .pool = on},
                                                                         examples, set, {.max_batch_size = 9}));
        EXPECT_THAT(evaluator.fallbacks(), ElementsAre(HasSubstr("host function")));
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluator.evaluate(candidates));
        for (std::uint32_t e = 0; e < 3; ++e) {
            for (std::uint32_t c = 0; c < 5; ++c) {
                const std::map<std::string, Tensor> values(candidates[c].values.begin(), candidates[c].values.end());
                EXPECT_EQ(out.values[e * 5 + c], answer(examples[e], values)) << e << " " << c;
            }
        }
        EXPECT_EQ(out.counts.chunks, 2U);
        EXPECT_EQ(out.counts.submissions, 4U);  // before the host, and after
        EXPECT_EQ(out.counts.host_calls, 15U);
        EXPECT_EQ(out.counts.host_equations, 1U);
    }
}

TEST_P(population_host, knobs_are_decoded_from_perturbed_coordinates) {
    const ParameterSet set = knob_vector_and_matrix();
    std::vector<TracedExample> examples;
    Sketch s(set);
    const auto heat = [](const HostCall& call) -> Result<Value> { return Value(double{call.parameters[0]}); };
    examples.push_back(s.finish(s.one("host_call", {s.parameter("knob"), Value("now")}, {}, host("heat", heat))));
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {}));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(
        const PopulationOutputs out,
        evaluator.evaluate(
            {.table = space.table, .mean = space.mean, .when = kHostNoise, .first_member = -1, .members = 9}));
    for (std::int32_t member = -1; member < 8; ++member) {
        const PerturbedVectorDesc desc{.members = 1, .element_count = 1, .parameter = ParameterId(0)};
        const auto coordinates =
            reference::twin_result<float>(desc, {std::span(space.mean).first(1)}, kHostNoise, member);
        const float wanted = to_natural(set.find("knob")->spec.fields, coordinates)[0];
        EXPECT_EQ(out.values[static_cast<std::size_t>(member + 1)], Value(double{wanted})) << member;
    }
    EXPECT_EQ(out.values[0], Value(2.0));
    EXPECT_EQ(out.counts.dispatches, 0U);
}

TEST_P(population_host, a_failing_candidate_does_not_touch_the_others) {
    const ParameterSet set = knob_vector_and_matrix();
    std::atomic<int> mode{0};
    const auto picky = host("picky", [&](const HostCall& call) -> Result<Value> {
        const bool hit = call.parameters[0] == 1.0F;
        if (hit && mode == 1) throw std::runtime_error("no tea");
        if (hit && mode == 2) return bad_input("no milk");
        if (hit && mode == 3) return Value("text");
        return scaled_sum()->run(call);
    });
    const std::vector<TracedExample> examples = mixed_examples(set, picky);
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {}));
    const std::vector<Candidate> candidates = some_candidates(3);
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, evaluator.evaluate(candidates));
    const char* const texts[] = {"", "no tea", "no milk", "text"};
    for (int m = 1; m <= 3; ++m) {
        mode = m;
        ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluator.evaluate(candidates));
        ASSERT_TRUE(out.errors[1].has_value());
        EXPECT_THAT(out.errors[1]->message, HasSubstr(texts[m]));
        EXPECT_THAT(out.errors[1]->message, HasSubstr("example 0, candidate 1"));
        EXPECT_THAT(out.errors[1]->message, HasSubstr("picky"));
        EXPECT_FALSE(out.errors[0] || out.errors[2]);
        for (std::uint32_t e = 0; e < 3; ++e) {
            EXPECT_EQ(out.values[e * 3], wanted.values[e * 3]);
            EXPECT_EQ(out.values[e * 3 + 2], wanted.values[e * 3 + 2]);
        }
    }
    mode = 0;
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs again, evaluator.evaluate(candidates));
    EXPECT_EQ(again.values, wanted.values);
}

TEST_P(population_host, what_has_no_lowering_falls_back_and_says_so) {
    const ParameterSet set = knob_vector_and_matrix();
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < 2; ++e) {
        Sketch s(set);
        const Atom x = s.input("x", drawn_tensor({4}, 20 + e));
        const Atom y = s.one("linear", {s.parameter("w"), x});
        const Atom twice = s.one("linear", {s.one("add", {s.parameter("w"), Value(0.0)}), x});  // the matrix itself
        const Atom is_less = s.one("less", {s.one("sum", {y}), s.one("sum", {twice})});
        const Atom number = s.one("to_number", {s.one("sum", {twice})});  // in double
        examples.push_back(s.finish(s.one("multiply", {s.one("select", {is_less, y, twice}), number})));
    }
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {}));
    const std::vector<std::string> reasons = evaluator.fallbacks();
    ASSERT_EQ(reasons.size(), 2U) << ::testing::PrintToString(reasons);
    EXPECT_EQ(reasons[0], "Matrix 'w' is formed for each candidate: add takes the whole of it.");
    EXPECT_THAT(reasons[1], HasSubstr("to_number has no kernel"));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(
        const PopulationOutputs out,
        evaluator.evaluate(
            {.table = space.table, .mean = space.mean, .when = kHostNoise, .first_member = -1, .members = 3}));
    for (std::uint32_t e = 0; e < 2; ++e) EXPECT_EQ(out.values[e * 3], answer(examples[e], {}));
    // Formed weights and regenerated ones differ by roundings.
    const auto y = out.values[2].tensor()->values();
    EXPECT_EQ(y.size(), 3U);
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs given, evaluator.evaluate(some_candidates(2)));
    for (std::uint32_t e = 0; e < 2; ++e)
        EXPECT_EQ(given.values[e * 2 + 1], answer(examples[e], {{"w", drawn_tensor({3, 4}, 31)}}));
}

TEST_P(population_host, groups_that_changed_since_the_trace_are_what_they_are_now) {
    ParameterSet set = knob_vector_and_matrix();
    ASSERT_OK(set.set_optimized("v", false));
    const std::vector<TracedExample> examples = mixed_examples(set, scaled_sum());
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {}));
    ASSERT_OK(set.set("v", drawn_tensor({4}, 77)));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(
        const PopulationOutputs out,
        evaluator.evaluate(
            {.table = space.table, .mean = space.mean, .when = kHostNoise, .first_member = -1, .members = 2}));
    EXPECT_EQ(out.values[0], answer(examples[0], {{"v", drawn_tensor({4}, 77)}}));
}

TEST_P(population_host, bad_input_is_told) {
    const ParameterSet set = knob_vector_and_matrix();
    const std::vector<TracedExample> examples = mixed_examples(set, scaled_sum());
    const PopulationEvaluator::Resources resources{.devices = dispatcher()};
    EXPECT_TRUE(expect_error(PopulationEvaluator::create(resources, {}, set, {}), ErrorKind::BadInput,
                             "No examples were given"));
    EXPECT_TRUE(expect_error(PopulationEvaluator::create(resources, examples, {}, {}), ErrorKind::BadInput,
                             "which the set has not"));
    std::vector<TracedExample> without = examples;
    without[1].graph.outputs.clear();
    EXPECT_TRUE(expect_error(PopulationEvaluator::create(resources, without, set, {}), ErrorKind::BadInput,
                             "Example 1 has no output"));
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create(resources, examples, set, {}));
    std::vector<Candidate> candidates = some_candidates(2);
    candidates[1].values[0].first = "oven";
    EXPECT_TRUE(expect_error(evaluator.evaluate(candidates), ErrorKind::BadInput, "oven"));
    candidates[1].values[0] = {"knob", Tensor::vector({11.0F})};
    EXPECT_TRUE(expect_error(evaluator.evaluate(candidates), ErrorKind::BadInput, "candidate 1"));
    candidates[1].values[0] = {"w", Tensor::vector({1.0F})};
    EXPECT_TRUE(expect_error(evaluator.evaluate(candidates), ErrorKind::BadInput, "candidate 1"));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    const auto with = [&](auto change) {
        Perturbations p{.table = space.table, .mean = space.mean, .when = kHostNoise, .members = 2};
        change(p);
        return evaluator.evaluate(p);
    };
    EXPECT_TRUE(expect_error(with([](Perturbations& p) { p.rank = 33; }), ErrorKind::BadInput, "from 1 to 32"));
    EXPECT_TRUE(
        expect_error(with([](Perturbations& p) { p.first_member = -2; }), ErrorKind::BadInput, "-1 is the mean"));
    EXPECT_TRUE(expect_error(with([](Perturbations& p) { p.mean = p.mean.first(3); }), ErrorKind::BadInput, "3"));
    EXPECT_TRUE(expect_error(
        with([](Perturbations& p) { p.table = *ParameterTable::create({{.name = "w", .rows = 3, .columns = 4}}); }),
        ErrorKind::BadInput, "search_space()"));
    EXPECT_OK(with([](Perturbations&) {}));
}

TEST(population_space, coordinates_go_there_and_back) {
    ParameterSet set = knob_vector_and_matrix();
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_EQ(space.table.parameters().size(), 3U);
    EXPECT_EQ(space.table.element_count(), 1U + 4U + 12U);
    EXPECT_EQ(space.mean[0], 0.4F);  // 2 of a half range of 5
    std::vector<float> moved = space.mean;
    moved[0] = 3.0F;  // beyond the upper bound
    moved[1] = 8.0F;
    ASSERT_OK(apply_coordinates(set, moved));
    EXPECT_EQ(set.find("knob")->values.values()[0], 10.0F);
    EXPECT_EQ(set.find("v")->values.values()[0], 8.0F);
    moved.pop_back();
    EXPECT_TRUE(expect_error(apply_coordinates(set, moved), ErrorKind::BadInput, "16 coordinates"));
}

TEST(population_place, equations_say_where_they_run) {
    const ParameterSet set = knob_vector_and_matrix();
    const TracedExample example = mixed_example(set, 0, scaled_sum());
    const std::vector<std::string> all{"knob", "v", "w"};
    const std::vector<PlacedEquation> placed = place(example.graph, all).value();
    using enum Placement;
    const Placement wanted[] = {Device, Device, Device, Host, Device, Device};
    ASSERT_EQ(placed.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(placed[i].placement, wanted[i]) << i;
    EXPECT_EQ(placed[3].reason, "host function");
    const std::vector<std::string> knob{"knob"};
    EXPECT_EQ(place(example.graph, knob).value()[2].placement, Data);
    EXPECT_EQ(place(example.graph, knob).value()[4].placement, Device);
}

}  // namespace
}  // namespace yolk::hyper
