// SPDX-License-Identifier: Apache-2.0
#include "yolk/system.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace yolk::hyper {
namespace {

TEST(system, chains_host_functions) {
    const auto twice = hyperfunction("twice", NoParameters{}, [](double x) { return 2.0 * x; });
    const auto next = hyperfunction("next", NoParameters{}, [](double x) { return x + 1.0; });
    System system("chain", [=](const Inputs& in) { return next(twice(in["x"])); });
    const std::vector<Example> examples{{{{"x", 1}}, 3}, {{{"x", 5}}, 11}, {{{"x", 10}}, 21}};
    const auto evaluation = system.evaluate(examples, exact_match());
    ASSERT_TRUE(evaluation) << evaluation.error().message;
    EXPECT_EQ(evaluation->reward, 1.0);
    EXPECT_EQ(system.function_runs(), 3U);
    const auto traces = system.trace_all(examples);
    ASSERT_TRUE(traces);
    EXPECT_EQ(stages((*traces)[0].graph).value(), (std::vector<std::uint32_t>{0, 1}));
    EXPECT_TRUE(validate((*traces)[0].graph));
    EXPECT_EQ(signature((*traces)[0].graph).value(), signature((*traces)[1].graph).value());
}

TEST(system, runs_tensor_bodies) {
    const auto layer = hyperfunction("layer", MatrixWeight{.out = 3, .in = 2},
                                     [](const Traced& weight, const Traced& x) { return relu(linear(weight, x)); });
    System system("net", [=](const Inputs& in) { return sigmoid(sum(layer(in["x"]) * 2.0)); });
    const auto output = system.call({{"x", Tensor::vector({1.0F, 2.0F})}});
    ASSERT_TRUE(output) << output.error().message;
    EXPECT_EQ(type_of(*output), (ValueType{ValueKind::Tensor, {1}}));
}

}  // namespace
}  // namespace yolk::hyper
