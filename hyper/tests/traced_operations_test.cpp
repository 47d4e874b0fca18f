// SPDX-License-Identifier: Apache-2.0
// The operations as a system's function writes them, and what is composed of several.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fixtures.hpp"
#include "population_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Function = std::function<Traced(const Traced&)>;

Tensor result_of(const Function& function, const Tensor& x) {
    System system("operations", [&](const Inputs& in) { return function(in["x"]); });
    const auto result = system.call({{"x", x}});
    EXPECT_OK(result);
    return result && result->tensor() != nullptr ? *result->tensor() : Tensor();
}
std::string message_of(const Function& function, const Tensor& x) {
    System system("operations", [&](const Inputs& in) { return function(in["x"]); });
    return refusal(system.call({{"x", x}}));
}
std::vector<std::string> equations_of(const Function& function, const Tensor& x) {
    System system("operations", [&](const Inputs& in) { return function(in["x"]); });
    const auto trace = system.trace({{{"x", x}}, {}});
    EXPECT_OK(trace);
    return trace ? operations_of(trace->graph) : std::vector<std::string>{};
}
Tensor counting(Shape shape) {
    std::vector<float> values(*shape.element_count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return *Tensor::create(std::move(shape), std::move(values));
}
Tensor tensor(Shape shape, std::vector<float> values) { return *Tensor::create(std::move(shape), std::move(values)); }

TEST(traced_operations, operators_repeat_either_operand) {
    const Tensor x = counting({2, 1, 3});
    const Tensor column = tensor({2, 1}, {10, 20});
    const Tensor sums = tensor({2, 2, 3}, {10, 11, 12, 20, 21, 22, 13, 14, 15, 23, 24, 25});
    EXPECT_EQ(result_of([&](const Traced& a) { return a + column; }, x), sums);
    EXPECT_EQ(result_of([&](const Traced& a) { return column + a; }, x), sums);
    EXPECT_EQ(result_of([&](const Traced& a) { return column - a; }, x),
              tensor({2, 2, 3}, {10, 9, 8, 20, 19, 18, 7, 6, 5, 17, 16, 15}));
    EXPECT_EQ(result_of([](const Traced& a) { return 6 / (a + 1); }, counting({3})), Tensor::vector({6, 3, 2}));
    EXPECT_EQ(result_of([](const Traced& a) { return (1 - a) * -2.0; }, counting({3})), Tensor::vector({-2, 0, 2}));
    EXPECT_EQ(result_of(
                  [](const Traced& a) {
                      return clamp(a, 1, Tensor::vector({5, 5, 1.5F}));
                  },
                  counting({3})),
              Tensor::vector({1, 1, 1.5F}));
    EXPECT_EQ(result_of([](const Traced& a) { return where(greater_than(a, 1), a, -1); }, counting({3})),
              Tensor::vector({-1, -1, 2}));
}

TEST(traced_operations, sums_go_over_any_dimensions) {
    const Tensor x = counting({2, 3, 4});
    EXPECT_EQ(result_of([](const Traced& a) { return sum(a, 0); }, x),
              tensor({3, 4}, {12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34}));
    EXPECT_EQ(result_of([](const Traced& a) { return sum(a, -2, true); }, x),
              tensor({2, 1, 4}, {12, 15, 18, 21, 48, 51, 54, 57}));
    EXPECT_EQ(result_of([](const Traced& a) { return max(a, {0, -1}); }, x), Tensor::vector({15, 19, 23}));
    EXPECT_EQ(result_of([](const Traced& a) { return min(a, {2, 1}, true); }, x), tensor({2, 1, 1}, {0, 12}));
    EXPECT_EQ(result_of([](const Traced& a) { return mean(a, {0, 1, 2}); }, x), Tensor::vector({11.5F}));
    EXPECT_EQ(result_of([](const Traced& a) { return argmax(a, 1); }, counting({2, 3})), Tensor::vector({2, 2}));
    EXPECT_EQ(result_of([](const Traced& a) { return cumulative_sum(a, 0); }, counting({3, 2})),
              tensor({3, 2}, {0, 1, 2, 4, 6, 9}));
    EXPECT_THAT(equations_of([](const Traced& a) { return sum(a, {0, 2}); }, x), ElementsAre("sum", "sum"));
    EXPECT_THAT(message_of([](const Traced& a) { return sum(a, {0, -3}); }, x), HasSubstr("name one of them twice"));
    EXPECT_THAT(message_of([](const Traced& a) { return sum(a, 3); }, x), HasSubstr("dimension 3 of a tensor"));
    EXPECT_THAT(message_of([](const Traced& a) { return max(a, {0, -4}); }, x), HasSubstr("dimension -4 of a tensor"));
}

TEST(traced_operations, the_default_is_the_same_graph) {
    System plain("same", [](const Inputs& in) { return sum(in["x"]); });
    System spelt("same", [](const Inputs& in) { return sum(in["x"], 1); });
    const Example example{{{"x", counting({2, 3})}}, {}};
    EXPECT_EQ(signature(plain.trace(example)->graph).value(), signature(spelt.trace(example)->graph).value());
}

TEST(traced_operations, moves) {
    const Tensor x = counting({2, 3});
    EXPECT_EQ(result_of([](const Traced& a) { return transpose(a); }, x), tensor({3, 2}, {0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(result_of([](const Traced& a) { return permute(a, {-1, 0}); }, x), tensor({3, 2}, {0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(result_of([](const Traced& a) { return slice(a, {{1, {}}, {-3, -1}}); }, x), tensor({1, 2}, {3, 4}));
    EXPECT_EQ(result_of([](const Traced& a) { return slice(a, 1, {.step = 2}); }, x), tensor({2, 2}, {0, 2, 3, 5}));
    EXPECT_EQ(result_of([](const Traced& a) { return index(a, -1); }, x), Tensor::vector({3, 4, 5}));
    EXPECT_EQ(result_of([](const Traced& a) { return index(index(a, 1), 2); }, x), Tensor::vector({5}));
    EXPECT_EQ(result_of([](const Traced& a) { return index(a, 1, -1); }, x), Tensor::vector({1, 4}));
    EXPECT_EQ(result_of(
                  [](const Traced& a) {
                      return pad(a, {0, 1}, {0, 0}, 9);
                  },
                  x),
              tensor({2, 4}, {9, 0, 1, 2, 9, 3, 4, 5}));
    EXPECT_EQ(result_of(
                  [](const Traced& a) {
                      return broadcast_to(a, {2, 2});
                  },
                  Tensor::vector({1, 2})),
              tensor({2, 2}, {1, 2, 1, 2}));
    EXPECT_EQ(result_of(
                  [](const Traced& a) {
                      return stack({a, a + 1}, -1);
                  },
                  Tensor::vector({1, 4})),
              tensor({2, 2}, {1, 2, 4, 5}));
    EXPECT_EQ(result_of(
                  [](const Traced& a) {
                      return stack({a, a + 1});
                  },
                  Tensor::vector({1, 4})),
              tensor({2, 2}, {1, 4, 2, 5}));
    EXPECT_EQ(result_of(
                  [](const Traced& a) {
                      return gather(a, Tensor::vector({2, 0}), -1);
                  },
                  x),
              tensor({2, 2}, {2, 0, 5, 3}));
    EXPECT_EQ(result_of(
                  [](const Traced& a) {
                      return scatter_add(a, Tensor::vector({1, 1}), Tensor::filled({2, 3}, 1));
                  },
                  x),
              tensor({2, 3}, {0, 1, 2, 5, 6, 7}));
}

TEST(traced_operations, moves_out_of_range_are_refused) {
    const Tensor x = counting({2, 3});
    const auto told = [&](const Function& function) { return message_of(function, x); };
    EXPECT_THAT(told([](const Traced& a) { return index(a, 2); }), HasSubstr("from 2 to 3 by 1 along dimension 0"));
    EXPECT_THAT(told([](const Traced& a) { return index(a, -4, 1); }), HasSubstr("from -4 to"));
    EXPECT_THAT(told([](const Traced& a) { return index(a, 0, 2); }), HasSubstr("one for each of its 2 dimensions"));
    EXPECT_THAT(told([](const Traced& a) { return slice(a, -3, {}); }), HasSubstr("one for each of its 2 dimensions"));
    EXPECT_THAT(told([](const Traced& a) { return slice(a, 0, {.start = -5}); }), HasSubstr("from -5"));
    EXPECT_THAT(told([](const Traced& a) { return transpose(sum(a)); }), HasSubstr("permute: order [1, 0]"));
    EXPECT_THAT(told([](const Traced& a) { return stack({a, transpose(a)}); }), HasSubstr("differ along dimension 0"));
    EXPECT_THAT(told([](const Traced& a) { return stack({a}, 4); }), HasSubstr("dimension 4"));
    EXPECT_THAT(told([](const Traced& a) { return softmax(a, 2); }), HasSubstr("softmax: dimension 2"));
    EXPECT_THAT(told([](const Traced& a) { return attention(sum(a), a, a); }), HasSubstr("matmul"));
}

TEST(traced_operations, errors_name_equation_hyperfunction_and_line) {
    std::uint32_t line = 0;
    const auto body = [&line](const Traced& w, const Traced& x) {
        const Traced y = relu(linear(w, x));
        line = __LINE__ + 1;
        return y * Tensor::vector({1, 2});
    };
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 3, .in = 3}, body);
    System system("lines", [&](const Inputs& in) { return layer(in["x"]); });
    const std::string told = refusal(system.call({{"x", Tensor::vector({1, 2, 3})}}));
    EXPECT_THAT(told, AllOf(HasSubstr("equation 2"), HasSubstr("multiply of hyperfunction 'layer'"),
                            HasSubstr(fmt::format("(traced_operations_test.cpp:{})", line)),
                            HasSubstr("tensor [3], tensor [2]")));
    const auto at = [&](const Function& function) { return message_of(function, counting({2, 3})); };
    const auto here = [](std::uint32_t number) {
        return HasSubstr(fmt::format("traced_operations_test.cpp:{})", number));
    };
    EXPECT_THAT(at([](const Traced& a) { return matmul(a, a); }), here(__LINE__));
    EXPECT_THAT(at([](const Traced& a) { return layer_norm(a, {.scale = Tensor::vector({1})}) + transpose(a); }),
                here(__LINE__ - 1));
    EXPECT_THAT(at([](const Traced& a) { return 1.0 + gather(a, Tensor::vector({7})); }), here(__LINE__));
    EXPECT_THAT(at([](const Traced& a) { return attention(a, transpose(a), a); }), here(__LINE__));
}

TEST(traced_operations, lines_are_no_part_of_the_structure) {
    const auto first = [](const Inputs& in) { return in["x"] + 1.0; };
    const auto second = [](const Inputs& in) { return in["x"] + 1.0; };
    const Example example{{{"x", counting({2})}}, {}};
    const auto a = System("same", first).trace(example), b = System("same", second).trace(example);
    ASSERT_TRUE(a->graph.equations[0].made_at && b->graph.equations[0].made_at);
    EXPECT_NE(a->graph.equations[0].made_at->line(), b->graph.equations[0].made_at->line());
    EXPECT_EQ(signature(a->graph).value(), signature(b->graph).value());
}

TEST(traced_operations, softmax_along_any_dimension) {
    const Tensor x = drawn_tensor({3, 4, 2}, 5);
    const Tensor moved = result_of([](const Traced& a) { return softmax(a, 0); }, x);
    const Tensor logarithm = result_of([](const Traced& a) { return log_softmax(a, 1); }, x);
    for (std::size_t i = 0; i < 24; ++i) {
        double sum = 0.0, log_sum = 0.0;
        for (std::size_t k = 0; k < 3; ++k) sum += std::exp(double{x.values()[k * 8 + i % 8]});
        for (std::size_t k = 0; k < 4; ++k) log_sum += std::exp(double{x.values()[i / 8 * 8 + k * 2 + i % 2]});
        EXPECT_NEAR(moved.values()[i], std::exp(double{x.values()[i]}) / sum, 1e-6);
        EXPECT_NEAR(logarithm.values()[i], double{x.values()[i]} - std::log(log_sum), 1e-6);
    }
    EXPECT_THAT(equations_of([](const Traced& a) { return softmax(a, -1); }, x), ElementsAre("softmax"));
}

TEST(traced_operations, norms_scale_and_shift) {
    const Tensor x = tensor({2, 2}, {1, 3, -2, 2});
    const Tensor plain = result_of([](const Traced& a) { return layer_norm(a); }, x);
    const Tensor both = result_of(
        [](const Traced& a) {
            return layer_norm(a, {.scale = Tensor::vector({2, 3}), .shift = Tensor::vector({10, 20})});
        },
        x);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(plain.values()[i], i % 2 == 0 ? -1.0 : 1.0, 1e-5) << "epsilon is 1e-5 beside a variance of 1 and 4";
        EXPECT_NEAR(both.values()[i], i % 2 == 0 ? 8.0 : 23.0, 3e-5);
    }
    const Tensor root = result_of([](const Traced& a) { return rms_norm(a, {.epsilon = 1.0}); }, x);
    EXPECT_NEAR(root.values()[1], 3.0 / std::sqrt(6.0), 1e-6);
}

/// softmax((q / sqrt(d)) k^T) v of matrices, in double.
std::vector<double> attended(const Tensor& q, const Tensor& k, const Tensor& v, bool causal) {
    const std::size_t n = q.shape()[0], d = q.shape()[1], m = k.shape()[0], e = v.shape()[1];
    std::vector<double> out;
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> weights(m, 0.0);
        double total = 0.0;
        for (std::size_t j = 0; j < m; ++j) {
            if (causal && j > i + (m - n)) continue;
            double score = 0.0;
            for (std::size_t c = 0; c < d; ++c) score += double{q.values()[i * d + c]} * k.values()[j * d + c];
            weights[j] = std::exp(score / std::sqrt(static_cast<double>(d)));
            total += weights[j];
        }
        for (std::size_t c = 0; c < e; ++c) {
            double sum = 0.0;
            for (std::size_t j = 0; j < m; ++j) sum += weights[j] / total * v.values()[j * e + c];
            out.push_back(sum);
        }
    }
    return out;
}

TEST(traced_operations, attention_is_its_formula) {
    const Tensor q = drawn_tensor({3, 4}, 1), k = drawn_tensor({5, 4}, 2), v = drawn_tensor({5, 2}, 3);
    for (const bool causal : {false, true}) {
        const Tensor given = result_of([&](const Traced& a) { return attention(a, k, v, causal); }, q);
        EXPECT_EQ(given.shape(), (Shape{3, 2}));
        const std::vector<double> expected = attended(q, k, v, causal);
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(given.values()[i], expected[i], 2e-6) << i;
    }
    const Tensor heads = result_of([&](const Traced& a) { return attention(broadcast_to(a, {2, 3, 4}), k, v); }, q);
    EXPECT_EQ(heads.shape(), (Shape{2, 3, 2})) << "leading dimensions are heads";
    EXPECT_EQ(causal_mask(3).read(), Value(tensor({3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1})));
    EXPECT_EQ(causal_mask(2, 3).read(), Value(tensor({2, 3}, {1, 1, 0, 1, 1, 1})));
}

TEST(traced_operations, gru_step_is_its_formula) {
    const auto draw = [](std::uint64_t rows, std::uint64_t columns, std::uint32_t seed) {
        return drawn_tensor({rows, columns}, seed);
    };
    const Tensor wf = draw(3, 2, 1), uf = draw(3, 3, 2), wh = draw(3, 2, 3), uh = draw(3, 3, 4);
    const Tensor bf = drawn_tensor({3}, 5), bh = drawn_tensor({3}, 6), x = drawn_tensor({2}, 7);
    const Tensor state = drawn_tensor({3}, 8);
    const Tensor given = result_of([&](const Traced& a) { return gru_step({wf, uf, bf, wh, uh, bh}, a, state); }, x);
    const auto product = [](const Tensor& w, const std::vector<double>& by, std::size_t row) {
        double sum = 0.0;
        for (std::size_t c = 0; c < by.size(); ++c) sum += double{w.values()[row * by.size() + c]} * by[c];
        return sum;
    };
    const std::vector<double> in(x.values().begin(), x.values().end());
    const std::vector<double> h(state.values().begin(), state.values().end());
    std::vector<double> gate(3), gated(3);
    for (std::size_t i = 0; i < 3; ++i) {
        gate[i] = 1.0 / (1.0 + std::exp(-(product(wf, in, i) + product(uf, h, i) + bf.values()[i])));
        gated[i] = gate[i] * h[i];
    }
    for (std::size_t i = 0; i < 3; ++i) {
        const double candidate = std::tanh(product(wh, in, i) + product(uh, gated, i) + bh.values()[i]);
        EXPECT_NEAR(given.values()[i], h[i] + gate[i] * (candidate - h[i]), 3e-6) << "tanh within 1.2e-6";
    }
}

}  // namespace
}  // namespace yolk::hyper
