// SPDX-License-Identifier: Apache-2.0
// Drawn graphs, and how populations of their candidates are computed: with equations that go together, with a kernel
// for each, and on the host.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "population_fixtures.hpp"
#include "yolk/graph.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/internal/testing/mutation.hpp"

namespace yolk::hyper {

/// Numbers below a bound, the same for the same seed.
class GraphDraws {
   public:
    explicit GraphDraws(std::uint32_t seed) : seed_(seed) {}
    std::uint32_t below(std::uint32_t bound) { return philox4x32({next_++, 3, 0, 0}, {seed_, 19})[0] % bound; }

   private:
    std::uint32_t seed_;
    std::uint32_t next_ = 0;
};

inline ParameterSet element_parameters() {
    ParameterSet set;
    EXPECT_OK(set.add(vector_spec("v", 6), drawn_tensor({6}, 21)));
    EXPECT_OK(set.add(vector_spec("w", 12), drawn_tensor({12}, 22)));
    EXPECT_OK(set.add(vector_spec("one", 1), drawn_tensor({1}, 23)));
    return set;
}

inline std::vector<Candidate> element_candidates() {
    std::vector<Candidate> candidates;
    for (std::uint32_t c = 0; c < 3; ++c) {
        candidates.push_back({{{"v", drawn_tensor({6}, 700 + c)},
                               {"w", drawn_tensor({12}, 800 + c)},
                               {"one", drawn_tensor({1}, 900 + c)}}});
    }
    return candidates;
}

/// The graph of the derivative of its output by a parameter, with the values of these inputs.
inline Result<TracedExample> derivative_of(const TracedExample& example, const ParameterSet& set,
                                           const std::string& by) {
    TracedExample derived;
    YOLK_TRY(derived.graph, pullback(example.graph, {.inputs = std::vector<std::string>{}, .parameters = {{by}}}));
    derived.graph.outputs = {derived.graph.outputs.back()};
    derived.values.resize(derived.graph.variables.size());
    for (const GraphParameter& parameter : derived.graph.parameters)
        derived.values[parameter.variable.value] = set.find(parameter.group)->values;
    std::map<std::string, Value> inputs;
    for (const auto& [name, id] : derived.graph.inputs) {
        const auto same = std::ranges::find(example.graph.inputs, name, [](const auto& input) { return input.first; });
        inputs[name] = same != example.graph.inputs.end()
                           ? example.values[same->second.value]
                           : Value(drawn_tensor(derived.graph.variables[id.value].type.shape, 41));
    }
    YOLK_TRY_VOID(population::refresh(derived, inputs));
    return derived;
}

inline std::vector<std::uint32_t> bits_of(const Value& value) {
    std::vector<std::uint32_t> bits;
    for (const float x : value.tensor()->values()) bits.push_back(std::bit_cast<std::uint32_t>(x));
    return bits;
}

/// Graphs of the parameters v [6], w [12] and one [1].
class DrawnGraphs : public ::yolk::testing::DeviceTest {
   protected:
    /// Seeds of the graphs that a test draws: $YOLK_TEST_GRAPHS from number $YOLK_TEST_FIRST_GRAPH on. In the suite 40
    /// on the first driver, and 10 others on each other one, which may take ten times as long to compile a kernel.
    [[nodiscard]] std::ranges::iota_view<std::uint32_t, std::uint32_t> graph_seeds() const {
        const bool is_first = device_name() == testing::first_device_name();
        const auto first =
            static_cast<std::uint32_t>(testing::count_from("YOLK_TEST_FIRST_GRAPH", is_first ? 1 : 1001)) - 1;
        return {first, first + static_cast<std::uint32_t>(testing::count_from("YOLK_TEST_GRAPHS", is_first ? 40 : 10))};
    }
    [[nodiscard]] Result<PopulationOutputs> outputs(
        const std::vector<TracedExample>& examples, const ParameterSet& set, bool joined,
        const std::vector<Candidate>& candidates = element_candidates()) const {
        YOLK_TRY(PopulationEvaluator evaluator,
                 PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {.joined_kernels = joined}));
        return evaluator.evaluate(candidates);
    }
    struct Dispatches {
        std::uint64_t joined = 0, apart = 0;
    };
    Dispatches expect_three_roads_alike(const std::vector<TracedExample>& examples, const ParameterSet& set,
                                        const std::string& what,
                                        const std::vector<Candidate>& candidates = element_candidates()) const {
        const auto joined = outputs(examples, set, true, candidates), apart = outputs(examples, set, false, candidates);
        EXPECT_OK(joined);
        EXPECT_OK(apart);
        if (!joined || !apart) return {};
        for (std::size_t e = 0; e < examples.size(); ++e) {
            for (std::size_t c = 0; c < candidates.size(); ++c) {
                const std::vector<std::uint32_t> got = bits_of(joined->values[e * candidates.size() + c]);
                const std::map<std::string, Tensor> values(candidates[c].values.begin(), candidates[c].values.end());
                EXPECT_EQ(got, bits_of(answer(examples[e], values))) << what << ", beside the host";
                EXPECT_EQ(got, bits_of(apart->values[e * candidates.size() + c])) << what << ", beside kernels apart";
            }
        }
        EXPECT_LE(joined->counts.dispatches, apart->counts.dispatches) << what;
        return {joined->counts.dispatches, apart->counts.dispatches};
    }
};

}  // namespace yolk::hyper
