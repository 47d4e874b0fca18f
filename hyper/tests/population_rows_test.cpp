// SPDX-License-Identifier: Apache-2.0
// Sums, maxima, softmax and norms with the elementwise equations around them as one kernel: each pattern has the bits
// of kernels one by one, and those of the host; what is too much for one kernel becomes several.
#include "drawn_graphs.hpp"

namespace yolk::hyper {
namespace {

constexpr std::uint32_t kRowExamples = 2;

Attributes along(std::int64_t dimension, bool keep) {
    return {{"dimension", dimension}, {"keep", std::int64_t{keep ? 1 : 0}}};
}
Attributes shaped(std::vector<std::int64_t> shape) { return {{"shape", std::move(shape)}}; }
Attributes with_epsilon(double epsilon) { return {{"epsilon", epsilon}}; }
/// The same in all examples.
Atom literal(Shape shape, std::uint32_t seed = 31) { return Value(drawn_tensor(std::move(shape), seed)); }

/// What is made of x [2, 6] = w + an input, and how many kernels that takes, with what makes x.
struct RowPattern {
    const char* name = "";
    std::uint64_t kernels = 1;
    Atom (*make)(Sketch& s, const Atom& x) = nullptr;
};

TracedExample example_of(const RowPattern& pattern, const ParameterSet& set, std::uint32_t example) {
    Sketch s(set);
    const Atom w = s.one("reshape", {s.parameter("w")}, shaped({2, 6}));
    return s.finish(pattern.make(s, s.one("add", {w, s.input("x", drawn_tensor({2, 6}, 500 + example))})));
}

std::vector<TracedExample> examples_of(const RowPattern& pattern, const ParameterSet& set) {
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < kRowExamples; ++e) examples.push_back(example_of(pattern, set, e));
    return examples;
}

std::vector<Candidate> candidates_of(std::uint32_t count) {
    std::vector<Candidate> candidates;
    for (std::uint32_t c = 0; c < count; ++c) {
        candidates.push_back({{{"v", drawn_tensor({6}, 700 + c)},
                               {"w", drawn_tensor({12}, 800 + c)},
                               {"one", drawn_tensor({1}, 900 + c)}}});
    }
    return candidates;
}

Atom by_hand(Sketch& s, const Atom& x) {
    const Atom centred = s.one("subtract", {x, s.one("mean", {x}, along(1, true))});
    const Atom variance = s.one("mean", {s.one("multiply", {centred, centred})}, along(1, true));
    return s.one("divide", {centred, s.one("sqrt", {s.one("add", {variance, Value(1e-5)})})});
}

constexpr RowPattern kJoined[] = {
    {"a factor, a choice, softmax", 1,
     [](Sketch& s, const Atom& x) {
         const Atom mask = s.one("less_than", {x, literal({6})});
         return s.one("softmax", {s.one("where", {mask, s.one("multiply", {x, Value(0.5)}), Value(-9.0)})});
     }},
    {"a weighted sum", 1,
     [](Sketch& s, const Atom& x) {
         return s.one("sum", {s.one("multiply", {x, literal({6})})}, along(1, false));
     }},
    {"a cross entropy", 2,  // its mean is along another dimension
     [](Sketch& s, const Atom& x) {
         const Atom weighted = s.one("multiply", {s.one("log_softmax", {x}), literal({2, 6})});
         return s.one("negate", {s.one("mean", {s.one("sum", {weighted}, along(1, false))}, along(0, false))});
     }},
    {"a norm by hand", 1, by_hand},
    {"a norm, scaled and shifted", 1,
     [](Sketch& s, const Atom& x) {
         const Atom y = s.one("layer_norm", {x}, with_epsilon(1e-5));
         return s.one("add", {s.one("multiply", {y, s.parameter("v")}), literal({6})});
     }},
    {"a norm of a norm", 1,
     [](Sketch& s, const Atom& x) {
         return s.one("rms_norm", {s.one("layer_norm", {x}, with_epsilon(1e-5))}, with_epsilon(1e-3));
     }},
    {"along the middle", 1,
     [](Sketch& s, const Atom& x) {
         const Atom y = s.one("multiply", {s.one("reshape", {x}, shaped({2, 3, 2})), literal({3, 1})});
         return s.one("subtract", {y, s.one("max", {y}, along(1, true))});
     }},
    {"along the first", 1,
     [](Sketch& s, const Atom& x) {
         return s.one("add", {x, s.one("mean", {x}, along(0, false))});
     }},
    {"a sum, reshaped and repeated", 1,
     [](Sketch& s, const Atom& x) {
         const Atom sum = s.one("reshape", {s.one("sum", {x}, along(1, false))}, shaped({2, 1}));
         return s.one("multiply", {s.one("broadcast_to", {sum}, shaped({2, 6})), literal({6})});
     }},
    {"values of rows among themselves", 1,
     [](Sketch& s, const Atom& x) {
         const Atom most = s.one("max", {x}, along(1, true)), least = s.one("min", {x}, along(1, true));
         return s.one("divide", {s.one("subtract", {x, least}), s.one("subtract", {most, least})});
     }},
    {"a value for each row", 1,
     [](Sketch& s, const Atom& x) {
         const Atom sum = s.one("sum", {s.one("gelu", {x})}, along(1, false));
         return s.one("tanh", {s.one("add", {sum, s.one("reshape", {literal({2})}, shaped({2}))})});
     }},
    {"the place of the largest", 1,
     [](Sketch& s, const Atom& x) {
         return s.one("argmax", {s.one("multiply", {x, s.parameter("v")})}, along(1, false));
     }},
    {"the place of the largest, used", 3,  // one kernel writes a whole number, another makes it a float
     [](Sketch& s, const Atom& x) {
         const Atom place = s.one("argmax", {s.one("negate", {x})}, along(1, true));
         return s.one("add", {place, Value(0.25)});
     }},
    {"rows that a shape cuts", 1,
     [](Sketch& s, const Atom& x) {
         const Atom y = s.one("reshape", {s.one("multiply", {x, literal({2, 6})})}, shaped({4, 3}));
         return s.one("sum", {y}, along(0, false));
     }},
    {"all in one row", 1,
     [](Sketch& s, const Atom& x) {
         const Atom y = s.one("reshape", {s.one("multiply", {x, literal({2, 6})})}, shaped({12}));
         return s.one("subtract", {y, s.one("sum", {y}, along(0, true))});
     }},
};

constexpr RowPattern kApart[] = {
    {"an operand that moves along a part of each row", 2,
     [](Sketch& s, const Atom& x) {
         const Atom y = s.one("reshape", {s.one("multiply", {x, literal({6})})}, shaped({4, 3}));
         return s.one("sum", {y}, along(0, false));
     }},
    {"along two dimensions", 2,
     [](Sketch& s, const Atom& x) {
         const Atom sum = s.one("sum", {s.one("negate", {x})}, along(0, true));
         return s.one("subtract", {sum, s.one("max", {sum}, along(1, true))});
     }},
    {"a value for each row along another dimension", 3,  // what has both as operands is a kernel of its own
     [](Sketch& s, const Atom& x) {
         const Atom part = s.one("reshape", {s.one("reshape", {x}, shaped({12}))}, shaped({2, 2, 3}));
         const Atom square = s.one("broadcast_to", {s.one("sum", {part}, along(0, true))}, shaped({2, 2, 3}));
         return s.one("add", {square, s.one("sum", {part}, along(1, true))});
     }},
    {"five reductions", 3,  // what the first one reads, it, and the rest with what it is subtracted from
     [](Sketch& s, const Atom& x) {
         Atom y = x;
         for (const char* name : {"max", "min", "sum", "mean", "max"})
             y = s.one("subtract", {y, s.one(name, {y}, along(1, true))});
         return y;
     }},
    {"five numbers", 2,
     [](Sketch& s, const Atom& x) {
         Atom y = x;
         for (const double epsilon : {1e-5, 1e-4, 1e-3, 1e-2}) y = s.one("rms_norm", {y}, with_epsilon(epsilon));
         return y;
     }},
    {"five ways to lie", 2,
     [](Sketch& s, const Atom& x) {
         Atom y = s.one("reshape", {x}, shaped({2, 3, 2}));
         for (const Shape& shape : {Shape{2, 3, 1}, Shape{2, 1, 1}, Shape{3, 1}, Shape{2}})
             y = s.one("multiply", {y, literal(shape)});
         return s.one("sum", {y}, along(2, false));
     }},
    {"an exponential for two passes", 2,
     [](Sketch& s, const Atom& x) {
         const Atom y = s.one("exp", {x});
         return s.one("divide", {y, s.one("sum", {y}, along(1, true))});
     }},
    {"softmax of tanh", 2, [](Sketch& s, const Atom& x) { return s.one("softmax", {s.one("tanh", {x})}); }},
    {"two softmaxes", 2,
     [](Sketch& s, const Atom& x) { return s.one("softmax", {s.one("negate", {s.one("softmax", {x})})}); }},
    {"rows of one element", 2,
     [](Sketch& s, const Atom& x) {
         const Atom y = s.one("negate", {s.one("reshape", {x}, shaped({12, 1}))});
         return s.one("sum", {y}, along(1, false));
     }},
    {"alone", 3,
     [](Sketch& s, const Atom& x) {
         const Atom across = s.one("permute", {x}, {{"order", std::vector<std::int64_t>{1, 0}}});
         return s.one("softmax", {across});
     }},
};

class population_rows : public DrawnGraphs {
   protected:
    void expect_kernels(std::span<const RowPattern> patterns) const {
        const ParameterSet set = element_parameters();
        for (const RowPattern& pattern : patterns) {
            for (const std::uint32_t members : {1U, 3U, 67U}) {
                const Dispatches dispatches =
                    expect_three_roads_alike(examples_of(pattern, set), set, pattern.name, candidates_of(members));
                EXPECT_EQ(dispatches.joined, pattern.kernels) << pattern.name;
            }
        }
    }
};
YOLK_FOR_EACH_DEVICE(population_rows);

TEST_P(population_rows, what_works_along_the_same_rows_is_one_kernel) { expect_kernels(kJoined); }

TEST_P(population_rows, what_is_too_much_for_one_kernel_is_several) { expect_kernels(kApart); }

TEST_P(population_rows, derivatives_are_joined_and_keep_their_bits) {
    const ParameterSet set = element_parameters();
    // With what makes x, and the function itself, where the derivative needs it or not.
    constexpr RowPattern kFunctions[] = {
        {"softmax", 2, [](Sketch& s, const Atom& x) { return s.one("softmax", {x}); }},
        {"log_softmax", 1, [](Sketch& s, const Atom& x) { return s.one("log_softmax", {x}); }},
        {"layer_norm", 3, [](Sketch& s, const Atom& x) { return s.one("layer_norm", {x}, with_epsilon(1e-5)); }},
        {"rms_norm", 1, [](Sketch& s, const Atom& x) { return s.one("rms_norm", {x}, with_epsilon(1e-5)); }},
        {"a norm by hand", 3, by_hand},
        {"max", 5, [](Sketch& s, const Atom& x) { return s.one("max", {x}, along(1, false)); }},
        {"mean", 3,
         [](Sketch& s, const Atom& x) {
             return s.one("mean", {s.one("multiply", {x, x})}, along(1, false));
         }},
    };
    for (const RowPattern& function : kFunctions) {
        std::vector<TracedExample> derivatives;
        for (const TracedExample& example : examples_of(function, set)) {
            ASSERT_OK_AND_ASSIGN(TracedExample derived, derivative_of(example, set, "w"));
            derivatives.push_back(std::move(derived));
        }
        const Dispatches dispatches = expect_three_roads_alike(derivatives, set, function.name);
        EXPECT_EQ(dispatches.joined, function.kernels) << function.name;
    }
}

TEST_P(population_rows, groups_of_examples_have_kernels_of_their_own) {
    const ParameterSet set = element_parameters();
    std::vector<TracedExample> examples;
    std::uint64_t kernels = 0;
    for (const std::size_t p : {std::size_t{0}, std::size_t{3}, std::size_t{10}}) {
        kernels += kJoined[p].kernels;
        for (const TracedExample& example : examples_of(kJoined[p], set)) examples.push_back(example);
    }
    EXPECT_EQ(expect_three_roads_alike(examples, set, "three structures").joined, kernels);
}

TEST_P(population_rows, what_is_read_elsewhere_is_written) {
    const ParameterSet set = element_parameters();
    const RowPattern pattern{
        "two readers", 3, [](Sketch& s, const Atom& x) {
            const Atom y = s.one("softmax", {s.one("multiply", {x, Value(0.5)})});
            const Atom across = s.one("permute", {y}, {{"order", std::vector<std::int64_t>{1, 0}}});
            const Atom back = s.one("reshape", {across}, shaped({2, 6}));
            return s.one("sum", {s.one("multiply", {back, y})}, along(1, false));
        }};
    EXPECT_EQ(expect_three_roads_alike(examples_of(pattern, set), set, pattern.name).joined, pattern.kernels)
        << "softmax, what it is across, the sum";
}

}  // namespace
}  // namespace yolk::hyper
