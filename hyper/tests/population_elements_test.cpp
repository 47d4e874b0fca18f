// SPDX-License-Identifier: Apache-2.0
// Elementwise equations, and those along rows beside them, as one kernel: drawn graphs and their derivatives give the
// bits of kernels one by one, and those of the host; what is read elsewhere is still written; what is too much for one
// kernel becomes several. $YOLK_TEST_GRAPHS draws more.
#include <gmock/gmock.h>

#include "drawn_graphs.hpp"
#include "yolk/internal/testing/fault_injector.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint32_t kElementExamples = 2;

Attributes to_shape(std::vector<std::int64_t> shape) { return {{"shape", std::move(shape)}}; }

/// Something along rows of `last` [2, 6], and elementwise equations with it.
Atom drawn_rows(Sketch& s, GraphDraws& draws, const Atom& last, const Atom& other) {
    static constexpr const char* kReductions[] = {"sum", "mean", "max", "min"};
    static constexpr const char* kBinary[] = {"add", "subtract", "multiply", "divide"};
    const auto binary = [&](const Atom& first, const Atom& second) {
        return s.one(kBinary[draws.below(std::size(kBinary))], {first, second});
    };
    const std::int64_t dimension = draws.below(2);
    const auto reduced = [&](const Atom& x, std::int64_t keep) {
        return s.one(kReductions[draws.below(std::size(kReductions))], {x}, {{"dimension", dimension}, {"keep", keep}});
    };
    switch (draws.below(7)) {
        case 0: return s.one("softmax", {last});
        case 1: return s.one("log_softmax", {last});
        case 2: return s.one("layer_norm", {last}, {{"epsilon", 1e-5}});
        case 3: return s.one("rms_norm", {last}, {{"epsilon", 1e-3}});
        case 4: {
            const Atom of_rows = s.one("reshape", {s.one("tanh", {reduced(last, 0)})},
                                       dimension == 0 ? to_shape({1, 6}) : to_shape({2, 1}));
            return binary(s.one("broadcast_to", {of_rows}, to_shape({2, 6})), last);
        }
        case 5: {
            const Atom cut = s.one("reshape", {last}, to_shape({4, 3}));
            return s.one("reshape", {binary(cut, reduced(cut, 1))}, to_shape({2, 6}));
        }
        default: return binary(last, binary(reduced(last, 1), reduced(s.one("multiply", {last, other}), 1)));
    }
}

/// A graph of elementwise equations, with repeated operands, moves and equations along rows between; the result is a
/// tensor that depends on parameters.
TracedExample drawn_graph(const ParameterSet& set, std::uint32_t seed, std::uint32_t example) {
    GraphDraws draws(seed);
    Sketch s(set);
    std::vector<Atom> known{s.parameter("v"),
                            s.one("reshape", {s.parameter("w")}, to_shape({2, 6})),
                            s.parameter("one"),
                            s.input("x", drawn_tensor({2, 6}, 500 + example)),
                            s.input("column", drawn_tensor({2, 1}, 600 + example)),
                            Atom(Value(drawn_tensor({6}, 31))),
                            Atom(Value(0.75))};
    static constexpr const char* kUnary[] = {"negate", "absolute", "tanh", "sigmoid", "relu", "exp", "sin", "rsqrt"};
    static constexpr const char* kBinary[] = {"add", "subtract", "multiply", "maximum", "less_than", "divide"};
    Atom last = s.one("add", {known[1], known[3]});
    for (std::uint32_t step = 0, count = 3 + draws.below(9); step < count; ++step) {
        known.push_back(last);
        const Atom other = known[draws.below(static_cast<std::uint32_t>(known.size()))];
        switch (draws.below(14)) {
            case 0:
            case 1:
            case 2: last = s.one(kUnary[draws.below(std::size(kUnary))], {last}); break;
            case 3: last = s.one("where", {s.one("greater_than", {last, Value(0.25)}), last, other}); break;
            case 4: last = s.one("where", {other, last, known[5]}); break;
            case 5: last = s.one("stop_gradient", {last}); break;
            case 6:
                last = s.one("reshape",
                             {s.one("multiply",
                                    {s.one("reshape", {last}, to_shape({4, 3})), Atom(Value(drawn_tensor({3}, 33)))})},
                             to_shape({2, 6}));
                break;
            case 7:
            case 8:
            case 9: last = drawn_rows(s, draws, last, other); break;
            default: last = s.one(kBinary[draws.below(std::size(kBinary))], {last, other}); break;
        }
    }
    const bool is_place = draws.below(8) == 0;
    return s.finish(is_place ? s.one("argmax", {last}, {{"dimension", std::int64_t{draws.below(2)}}}) : last);
}

class population_elements : public DrawnGraphs {};
YOLK_FOR_EACH_DEVICE(population_elements);

TEST_P(population_elements, drawn_graphs_and_their_derivatives_have_the_bits_of_both_other_roads) {
    const ParameterSet set = element_parameters();
    std::uint64_t saved = 0;
    const auto seeds = graph_seeds();
    for (const std::uint32_t seed : seeds) {
        std::vector<TracedExample> examples, derivatives;
        for (std::uint32_t e = 0; e < kElementExamples; ++e) {
            examples.push_back(drawn_graph(set, seed, e));
            for (const char* by : {"v", "w"}) {
                auto derived = derivative_of(examples.back(), set, by);
                ASSERT_OK(derived);
                const auto* id = std::get_if<VariableId>(&derived->graph.outputs[0]);
                if (id != nullptr) derivatives.push_back(*std::move(derived));
            }
        }
        const Dispatches drawn = expect_three_roads_alike(examples, set, "graph " + std::to_string(seed));
        saved += drawn.apart - drawn.joined;
        if (derivatives.empty()) continue;
        expect_three_roads_alike(derivatives, set, "derivatives of graph " + std::to_string(seed));
    }
    EXPECT_GT(saved, seeds.size());
}

TEST_P(population_elements, a_chain_is_one_dispatch_and_what_is_read_elsewhere_is_written) {
    const ParameterSet set = element_parameters();
    const auto chain = [&](bool sums) {
        std::vector<TracedExample> examples;
        for (std::uint32_t e = 0; e < kElementExamples; ++e) {
            Sketch s(set);
            const Atom sum = s.one("add", {s.parameter("v"), s.input("x", drawn_tensor({2, 6}, 40 + e))});
            const Atom turned = s.one("tanh", {s.one("multiply", {sum, Value(0.5)})});
            const Atom out = s.one("subtract", {turned, s.one("negate", {turned})});
            examples.push_back(
                s.finish(sums ? s.one("multiply", {s.one("sum", {turned}, {{"keep", std::int64_t{1}}}), out}) : out));
        }
        return examples;
    };
    EXPECT_EQ(expect_three_roads_alike(chain(false), set, "a chain").joined, 1U);
    // The sum and what is behind it read tanh, which is too dear to be computed for both.
    EXPECT_EQ(expect_three_roads_alike(chain(true), set, "a chain with a sum").joined, 2U);
}

// A kernel has 16 buffers, one of them its output: 25 values in a sum are 24 additions, of which the last 14 have 15.
TEST_P(population_elements, more_inputs_than_a_kernel_has_are_several_kernels) {
    const ParameterSet set = element_parameters();
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < kElementExamples; ++e) {
        Sketch s(set);
        Atom sum = s.parameter("v");
        for (std::uint32_t i = 0; i < 24; ++i)
            sum = s.one("add", {sum, s.input("x" + std::to_string(i), drawn_tensor({2, 6}, 50 + 30 * e + i))});
        examples.push_back(s.finish(sum));
    }
    const Dispatches dispatches = expect_three_roads_alike(examples, set, "a sum");
    EXPECT_EQ(dispatches.joined, 2U);
    EXPECT_EQ(dispatches.apart, 24U);
}

TEST_P(population_elements, longer_programs_than_drivers_compile_at_once_are_several_kernels) {
    const ParameterSet set = element_parameters();
    const auto chain = [&](std::uint32_t length, const char* first, const char* second) {
        std::vector<TracedExample> examples;
        Sketch s(set);
        Atom last = s.one("multiply", {s.parameter("v"), s.input("x", drawn_tensor({2, 6}, 70))});
        for (std::uint32_t i = 1; i < length; ++i) {
            const bool is_binary_step = i % 2 == 0 && second != nullptr;
            last = is_binary_step ? s.one(second, {last, s.parameter("v")}) : s.one(first, {last});
        }
        examples.push_back(s.finish(last));
        return examples;
    };
    // Of 64 steps at most.
    EXPECT_EQ(expect_three_roads_alike(chain(150, "negate", "add"), set, "150 steps").joined, 3U);
    // Of 16 such steps at most, the multiplication before the last ones.
    EXPECT_EQ(expect_three_roads_alike(chain(41, "tanh", nullptr), set, "40 tanh").joined, 3U);
}

TEST_P(population_elements, derivatives_of_a_search_are_joined_and_keep_their_bits) {
    std::vector<Example> examples;
    for (std::uint32_t e = 0; e < kElementExamples; ++e)
        examples.push_back({.inputs = {{"x", drawn_tensor({6}, 90 + e)}}, .expected = drawn_tensor({6}, 95 + e)});
    struct Searched {
        std::vector<std::uint32_t> bits;
        std::uint64_t dispatches = 0;
    };
    const auto searched = [&](bool joined) -> Result<Searched> {
        const auto weight = hyperfunction("v", VectorWeight{.size = 6, .values = drawn_tensor({6}, 21)},
                                          [](const Traced& v, const Traced& x) { return sin(x * v) * tanh(x + v); },
                                          {.optimize = true});
        System system("chain", [&](const Inputs& in) { return weight(in["x"]); });
        system.use(dispatcher());
        OptimizeOptions options{.generations = 3, .gradient = GradientOptions{.learning_rate = 0.1F}};
        options.population_options.joined_kernels = joined;
        YOLK_TRY(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
        return Searched{bits_of(system.parameters().find("v")->values), outcome.cost.dispatches};
    };
    ASSERT_OK_AND_ASSIGN(const Searched joined, searched(true));
    ASSERT_OK_AND_ASSIGN(const Searched apart, searched(false));
    EXPECT_EQ(joined.bits, apart.bits);
    EXPECT_NE(joined.bits, bits_of(drawn_tensor({6}, 21)));
    EXPECT_LT(joined.dispatches, apart.dispatches);
}

/// The answers of a new device, of which the nth call that may run out of memory fails while they are computed.
class RefusedElements {
   public:
    RefusedElements(std::uint32_t device, std::uint64_t nth) : device_(device), nth_(nth) {}

    Result<PopulationOutputs> outputs(const std::vector<TracedExample>& examples, const ParameterSet& set) {
        YOLK_TRY(const Device own, Device::create(testing::instance(), device_, {.pipeline_cache_folder = {}}));
        YOLK_TRY(Dispatcher dispatcher, Dispatcher::create(own));
        YOLK_TRY(PopulationEvaluator evaluator,
                 PopulationEvaluator::create({.devices = dispatcher}, examples, set, {}));
        faults_.fail_nth_call(nth_, testing::FaultKind::OutOfHostMemory);
        auto outputs = evaluator.evaluate(element_candidates());
        refused_ = faults_.injected_into();
        faults_.fail_nothing();
        return outputs;
    }
    [[nodiscard]] const std::string& refused() const { return refused_; }

   private:
    testing::FaultInjector faults_;
    std::uint32_t device_;
    std::uint64_t nth_;
    std::string refused_;
};

TEST_P(population_elements, a_driver_that_refuses_a_kernel_gets_the_operations_one_by_one) {
    const ParameterSet set = element_parameters();
    const auto expect_one_by_one = [&](bool sums) {
        std::vector<TracedExample> examples;
        for (std::uint32_t e = 0; e < kElementExamples; ++e) {
            Sketch s(set);
            const Atom sum = s.one("add", {s.parameter("v"), s.input("x", drawn_tensor({2, 6}, 80 + e))});
            const Atom other = sums ? s.one("sum", {sum}, {{"keep", std::int64_t{1}}}) : s.one("tanh", {sum});
            examples.push_back(s.finish(s.one("multiply", {other, sum})));
        }
        const auto apart = outputs(examples, set, false);
        ASSERT_OK(apart);
        for (std::uint64_t nth = 1; nth < 100; ++nth) {
            RefusedElements refused(testing::device_index(device_name()), nth);
            ::testing::internal::CaptureStderr();
            const auto answered = refused.outputs(examples, set);
            const std::string notices = ::testing::internal::GetCapturedStderr();
            if (refused.refused() != "vkCreateComputePipelines") {
                ASSERT_FALSE(refused.refused().empty()) << "no pipeline was made";
                continue;
            }
            ASSERT_OK(answered);
            EXPECT_THAT(notices, ::testing::HasSubstr(
                                     "Operations that one kernel would do together run one by one, which is slower"));
            EXPECT_EQ(answered->counts.dispatches, apart->counts.dispatches);
            for (std::size_t i = 0; i < apart->values.size(); ++i)
                EXPECT_EQ(bits_of(answered->values[i]), bits_of(apart->values[i])) << i;
            return;
        }
        FAIL() << "no pipeline was refused";
    };
    expect_one_by_one(false);
    expect_one_by_one(true);
}

}  // namespace
}  // namespace yolk::hyper
