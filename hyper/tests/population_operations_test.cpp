// SPDX-License-Identifier: Apache-2.0
// Every operation that lowers, with what varies on either side, against one call at a time.
#include <functional>

#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

constexpr NoiseContext kOperationNoise{.seed = 9, .generation = 1, .time = 1, .sigma = 0.25F};
constexpr std::uint32_t kExamples = 3;
constexpr std::uint32_t kCandidates = 3;

class population_operations : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(population_operations);

/// v and u are vectors, m and t matrices; all four are searched.
ParameterSet vectors_and_matrices() {
    ParameterSet set;
    EXPECT_OK(set.add(vector_spec("v", 6), drawn_tensor({6}, 11)));
    EXPECT_OK(set.add(vector_spec("u", 3), drawn_tensor({3}, 12)));
    EXPECT_OK(set.add(matrix_spec("m", 3, 6), drawn_tensor({3, 6}, 13)));
    EXPECT_OK(set.add(matrix_spec("t", 5, 3), drawn_tensor({5, 3}, 14)));
    return set;
}

struct Case {
    const char* name;
    std::function<Atom(Sketch&, std::uint32_t)> body;
    bool vectors_only = false;  ///< perturbed members have exact host values, too
};

Atom x_of(Sketch& s, std::uint32_t e, Shape shape = {2, 6}) {
    return s.input("x", drawn_tensor(std::move(shape), 60 + e));
}
Atom ids_of(Sketch& s, std::uint32_t e) {
    return s.input("ids", Tensor::vector({static_cast<float>(e), 4.0F, static_cast<float>(e + 1)}));
}

std::vector<Case> elementwise_cases() {
    return {
        {"data first, a row",
         [](Sketch& s, std::uint32_t e) {
             return s.one("add", {x_of(s, e), s.parameter("v")});
         },
         true},
        {"row first, the same shape",
         [](Sketch& s, std::uint32_t e) {
             return s.one("subtract", {s.parameter("v"), x_of(s, e, {6})});
         },
         true},
        {"a row alone and a number",
         [](Sketch& s, std::uint32_t) {
             return s.one("multiply", {s.parameter("v"), Value(.5)});
         },
         true},
        {"two rows",
         [](Sketch& s, std::uint32_t) {
             return s.one("maximum", {s.parameter("v"), s.one("negate", {s.parameter("v")})});
         },
         true},
        {"varying with data of its shape",
         [](Sketch& s, std::uint32_t e) {
             const Atom x = x_of(s, e);
             return s.one("subtract", {s.one("tanh", {s.one("add", {x, s.parameter("v")})}), x});
         },
         true},
        {"varying with a row that examples have of their own",
         [](Sketch& s, std::uint32_t e) {
             const Atom row =
                 s.one("sigmoid", {s.one("multiply", {s.input("r", drawn_tensor({6}, 70 + e)), s.parameter("v")})});
             return s.one("multiply", {s.one("add", {x_of(s, e), s.parameter("v")}), row});
         },
         true},
        {"varying with itself and a literal row",
         [](Sketch& s, std::uint32_t e) {
             const Atom y = s.one("add", {x_of(s, e), s.parameter("v")});
             return s.one("add", {s.one("multiply", {y, y}), drawn_tensor({6}, 5)});
         },
         true},
    };
}

std::vector<Case> row_cases() {
    const auto y = [](Sketch& s, std::uint32_t e) { return s.one("add", {x_of(s, e), s.parameter("v")}); };
    return {
        {"softmax", [y](Sketch& s, std::uint32_t e) { return s.one("softmax", {y(s, e)}); }, true},
        {"log_softmax of parameters", [](Sketch& s, std::uint32_t) { return s.one("log_softmax", {s.parameter("v")}); },
         true},
        {"sum", [y](Sketch& s, std::uint32_t e) { return s.one("sum", {y(s, e)}); }, true},
        {"mean of the mean", [y](Sketch& s, std::uint32_t e) { return s.one("mean", {s.one("mean", {y(s, e)})}); },
         true},
        {"argmax", [y](Sketch& s, std::uint32_t e) { return s.one("argmax", {y(s, e)}); }, true},
        {"concat along 0",
         [y](Sketch& s, std::uint32_t e) {
             return s.one("concat", {y(s, e), s.input("z", drawn_tensor({1, 6}, 80 + e))},
                          {{"dimension", std::int64_t{0}}});
         },
         true},
        {"concat parameters along the last",
         [y](Sketch& s, std::uint32_t e) {
             const Atom rows = s.one("reshape", {s.parameter("v")}, {{"shape", std::vector<std::int64_t>{2, 3}}});
             return s.one("concat", {rows, y(s, e), rows}, {{"dimension", std::int64_t{1}}});
         },
         true},
        {"split and join",
         [y](Sketch& s, std::uint32_t e) {
             const auto parts = s.all("split", {y(s, e)},
                                      {{"dimension", std::int64_t{1}}, {"sizes", std::vector<std::int64_t>{1, 3, 2}}});
             return s.one("concat", {parts[2], parts[1]}, {{"dimension", std::int64_t{1}}});
         },
         true},
    };
}

std::vector<Case> matrix_cases() {
    const auto y = [](Sketch& s, std::uint32_t e) { return s.one("add", {x_of(s, e), s.parameter("v")}); };
    return {
        {"a data matrix",
         [y](Sketch& s, std::uint32_t e) {
             return s.one("linear", {drawn_tensor({4, 6}, 3), y(s, e)});
         },
         true},
        {"a data matrix, transposed",
         [y](Sketch& s, std::uint32_t e) {
             return s.one("linear_transposed", {drawn_tensor({6, 4}, 3), y(s, e)});
         },
         true},
        {"linear of data",
         [](Sketch& s, std::uint32_t e) {
             return s.one("linear", {s.parameter("m"), x_of(s, e)});
         }},
        {"linear of parameters",
         [](Sketch& s, std::uint32_t) {
             return s.one("linear", {s.parameter("m"), s.parameter("v")});
         }},
        {"there and back",
         [](Sketch& s, std::uint32_t e) {
             const Atom z = s.one("relu", {s.one("linear", {s.parameter("m"), x_of(s, e)})});
             return s.one("linear_transposed", {s.parameter("m"), s.one("add", {z, s.parameter("u")})});
         }},
        {"a matrix on the right",
         [](Sketch& s, std::uint32_t e) {
             return s.one("matmul", {s.one("linear", {s.parameter("m"), x_of(s, e)}), s.parameter("m")});
         }},
        {"data times a matrix on the right",
         [](Sketch& s, std::uint32_t e) {
             return s.one("matmul", {x_of(s, e, {2, 4, 5}), s.parameter("t")});
         }},
        {"rows of a table",
         [](Sketch& s, std::uint32_t e) {
             return s.one("embedding", {s.parameter("t"), ids_of(s, e)});
         }},
        {"rows that the device found",
         [](Sketch& s, std::uint32_t e) {
             const Atom z = s.one("argmax", {s.one("linear", {s.parameter("m"), x_of(s, e)})});
             return s.one("embedding", {s.parameter("t"), z});
         }},
        {"rows of a data table",
         [y](Sketch& s, std::uint32_t e) {
             return s.one("embedding", {drawn_tensor({7, 2}, 9), s.one("argmax", {y(s, e)})});
         },
         true},
    };
}

void check(Dispatcher& dispatcher, const Case& c) {
    SCOPED_TRACE(c.name);
    const ParameterSet set = vectors_and_matrices();
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < kExamples; ++e) {
        Sketch sketch(set);
        const Atom output = c.body(sketch, e);
        examples.push_back(sketch.finish(output));
    }
    ASSERT_OK_AND_ASSIGN(auto evaluator, PopulationEvaluator::create({.devices = dispatcher}, examples, set, {}));
    EXPECT_EQ(evaluator.fallbacks(), std::vector<std::string>{});

    std::vector<Candidate> candidates(kCandidates);
    for (std::uint32_t i = 0; i < kCandidates; ++i) {
        for (const ParameterGroup& group : set.groups())
            candidates[i].values.emplace_back(group.spec.name, drawn_tensor(group.spec.shape, 200 + i));
    }
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs given, evaluator.evaluate(candidates));
    EXPECT_EQ(given.counts.host_equations, 0U);
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs drawn_ones, evaluator.evaluate({.table = space.table,
                                                                                 .mean = space.mean,
                                                                                 .when = kOperationNoise,
                                                                                 .rank = 2,
                                                                                 .first_member = -1,
                                                                                 .members = kCandidates}));
    for (std::uint32_t e = 0; e < kExamples; ++e) {
        EXPECT_EQ(drawn_ones.values[e * kCandidates], answer(examples[e], {})) << "mean, example " << e;
        for (std::uint32_t i = 0; i < kCandidates; ++i) {
            const std::map<std::string, Tensor> values(candidates[i].values.begin(), candidates[i].values.end());
            EXPECT_EQ(given.values[e * kCandidates + i], answer(examples[e], values))
                << "candidate " << i << ", example " << e;
            if (!c.vectors_only) continue;
            const PerturbedVectorDesc desc{.members = 1, .element_count = 6, .parameter = ParameterId(0)};
            const auto v = reference::twin_result<float>(desc, {set.find("v")->values.values()}, kOperationNoise,
                                                         static_cast<std::int32_t>(i) - 1);
            EXPECT_EQ(drawn_ones.values[e * kCandidates + i], answer(examples[e], {{"v", Tensor::vector(v)}}))
                << "member " << static_cast<int>(i) - 1 << ", example " << e;
        }
    }
}

TEST_P(population_operations, elementwise) {
    for (const Case& c : elementwise_cases()) check(dispatcher(), c);
}
TEST_P(population_operations, rows) {
    for (const Case& c : row_cases()) check(dispatcher(), c);
}
TEST_P(population_operations, matrices) {
    for (const Case& c : matrix_cases()) check(dispatcher(), c);
}

}  // namespace
}  // namespace yolk::hyper
