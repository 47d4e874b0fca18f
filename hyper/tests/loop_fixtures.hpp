// SPDX-License-Identifier: Apache-2.0
// Populations of graphs with loops, held against single calls and the twin. Files that use it end in loops_test.cpp,
// which errors of candidates name.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exact_twin.hpp"
#include "example_set.hpp"
#include "fixtures.hpp"
#include "graph_copy.hpp"
#include "population_fixtures.hpp"
#include "traced_graphs.hpp"
#include "yolk/graph.hpp"

namespace yolk::hyper {

inline constexpr std::uint32_t kLoopCandidates = 3;

/// A graph whose first input, a vector, is what candidates differ in.
struct LoopTask {
    Graph graph;
    std::vector<std::vector<Value>> inputs;  ///< by example, without the first
    std::vector<Tensor> candidates;
};

inline LoopTask loop_task(const Graph& graph, std::vector<std::vector<Value>> inputs,
                          std::vector<Tensor> candidates = {}) {
    LoopTask task{.graph = graph, .inputs = std::move(inputs), .candidates = std::move(candidates)};
    const auto [name, id] = task.graph.inputs.front();
    task.graph.inputs.erase(task.graph.inputs.begin());
    task.graph.parameters.push_back({id, "w"});
    const bool are_given = !task.candidates.empty();
    for (std::uint32_t m = 0; !are_given && m < kLoopCandidates; ++m)
        task.candidates.push_back(drawn_tensor(task.graph.variables[id.value].type.shape, 900 + m));
    return task;
}

/// Outputs of a transform behind the original's, as one.
inline Graph joined_outputs(const Graph& graph) {
    GraphBuilder builder(graph.name);
    std::vector<Atom> inputs, flat;
    for (const auto& [name, id] : graph.inputs)
        inputs.emplace_back(builder.input(name, graph.variables[id.value].type));
    const std::vector<Atom> outputs = splice(graph, inputs, builder).value();
    for (const Atom& output : outputs) {
        if (builder.type(output).kind != ValueKind::Tensor) continue;
        const auto count = static_cast<std::int64_t>(builder.type(output).shape.element_count().value());
        flat.push_back(builder.apply("reshape", {output}, {{"shape", std::vector{count}}}).value());
    }
    const Atom all = builder.apply("concat", flat, {{"dimension", std::int64_t{0}}}).value();
    return std::move(builder).finish({all});
}

class LoopTest : public ::yolk::testing::DeviceTest {
   protected:
    /// Holds the population against single calls and the twin; what ran on the host.
    std::vector<std::string> check(const LoopTask& task, PopulationOptions options = {}) {
        if (options.max_batch_size == 0) options.max_batch_size = 4;
        ParameterSet set;
        const Shape& shape = task.candidates.front().shape();
        EXPECT_OK(set.add(vector_spec("w", shape[0]), drawn_tensor(shape, 899)));
        std::vector<TracedExample> examples;
        for (const std::vector<Value>& inputs : task.inputs) examples.push_back(example(task.graph, inputs, set));
        auto evaluator = PopulationEvaluator::create({.devices = dispatcher()}, examples, set, options);
        EXPECT_OK(evaluator);
        if (!evaluator) return {evaluator.error().message};
        std::vector<Candidate> candidates;
        for (const Tensor& values : task.candidates) candidates.push_back({{{"w", values}}});
        const auto given = evaluator->evaluate(candidates);
        EXPECT_OK(given);
        auto known = population::ExampleSet::create(examples, set, false, {.most = options.most_unrolled});
        EXPECT_OK(known);
        if (!given || !known) return {"it failed"};
        counts_ = given->counts;
        failed_ = std::ranges::count_if(given->errors, [](const auto& error) { return error.has_value(); });
        const auto question = known->ask(candidates);
        const population::PopulationTwin twin(nullptr, *known);
        const auto judged = twin.evaluate(*question, {.count = static_cast<std::uint32_t>(candidates.size())}, nullptr);
        EXPECT_OK(judged);
        compare(task, *given, "device");
        if (judged) compare(task, *judged, "twin");
        return evaluator->fallbacks();
    }

    [[nodiscard]] const PopulationCounts& counts_of_last() const { return counts_; }
    /// Candidates with an error.
    [[nodiscard]] std::ptrdiff_t failed_of_last() const { return failed_; }

    static TracedExample example(const Graph& graph, const std::vector<Value>& inputs, const ParameterSet& set) {
        TracedExample made{.graph = graph, .values = std::vector<Value>(graph.variables.size())};
        made.values[graph.parameters.front().variable.value] = set.find("w")->values;
        std::map<std::string, Value> by_name;
        for (std::size_t i = 0; i < inputs.size(); ++i) by_name.emplace(graph.inputs[i].first, inputs[i]);
        EXPECT_OK(population::refresh(made, by_name));
        return made;
    }

   private:
    static void compare(const LoopTask& task, const PopulationOutputs& given, const std::string& by) {
        SCOPED_TRACE(by);
        for (std::size_t m = 0; m < task.candidates.size(); ++m) {
            std::string failure;
            for (std::size_t e = 0; e < task.inputs.size(); ++e) {
                const auto wanted = call(task.graph, {.inputs = task.inputs[e], .parameters = {task.candidates[m]}});
                if (!wanted && failure.empty()) failure = wanted.error().message;
                if (!wanted || given.errors[m]) continue;
                EXPECT_EQ(given.values[e * task.candidates.size() + m], wanted->front())
                    << "example " << e << ", candidate " << m;
            }
            ASSERT_EQ(given.errors[m].has_value(), !failure.empty()) << "candidate " << m << ": " << failure;
            if (!given.errors[m]) continue;
            // What is said of it ends in the same words.
            const std::string why = failure.substr(failure.rfind(": ") + 2);
            using ::testing::AllOf, ::testing::HasSubstr;
            EXPECT_THAT(given.errors[m]->message, AllOf(HasSubstr(why), HasSubstr("candidate " + std::to_string(m)),
                                                        HasSubstr("loops_test.cpp")));
        }
    }

    PopulationCounts counts_{};
    std::ptrdiff_t failed_ = 0;
};

}  // namespace yolk::hyper
