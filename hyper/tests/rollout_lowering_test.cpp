// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/rollout_lowering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "yolk/internal/hyper/executor.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Traced dense(const Hyperfunction<MatrixWeight>& weight, const Hyperfunction<VectorWeight>& bias, const Traced& x) {
    return bias(weight(x));
}
Hyperfunction<MatrixWeight> weight(const std::string& name, std::uint32_t out, std::uint32_t in) {
    return hyperfunction(name, MatrixWeight{.out = out, .in = in},
                         [](const Traced& w, const Traced& x) { return linear(w, x); });
}
Hyperfunction<VectorWeight> bias(const std::string& name, std::uint32_t size) {
    return hyperfunction(name, VectorWeight{.size = size}, [](const Traced& b, const Traced& x) { return x + b; });
}

Result<RolloutNetwork> lowered(const System::Function& function) {
    System system("policy", function);
    auto traced = system.trace({{{"observation", Tensor::filled({4}, 0.5F)}}, {}});
    if (!traced) return std::move(traced).error();
    return lower_to_rollout(traced->graph);
}

TEST(rollout_lowering, gives_back_the_network_of_its_graph) {
    for (const std::vector<std::uint32_t>& widths :
         {std::vector<std::uint32_t>{4, 2}, {4, 64, 2}, {1, 1, 1}, {6, 32, 16, 8, 3}}) {
        const PolicyNetwork network{widths};
        const Graph graph = policy_graph(widths);
        ASSERT_TRUE(validate(graph)) << validate(graph).error().message;
        const auto lowered = lower_to_rollout(graph);
        ASSERT_TRUE(lowered) << lowered.error().message;
        EXPECT_EQ(lowered->network.widths, widths);
        std::vector<std::string> names;
        for (const ParameterDesc& parameter : network.parameters()) names.push_back(parameter.name);
        EXPECT_EQ(lowered->groups, names);
    }
}

TEST(rollout_lowering, takes_a_traced_policy) {
    const auto w0 = weight("w0", 8, 4);
    const auto b0 = bias("b0", 8);
    const auto w1 = weight("w1", 2, 8);
    const auto b1 = bias("b1", 2);
    const auto network =
        lowered([=](const Inputs& in) { return dense(w1, b1, tanh(dense(w0, b0, in["observation"]))); });
    ASSERT_TRUE(network) << network.error().message;
    EXPECT_THAT(network->network.widths, ElementsAre(4, 8, 2));
    EXPECT_THAT(network->groups, ElementsAre("w0", "b0", "w1", "b1"));
}

TEST(rollout_lowering, refuses_what_the_kernel_cannot_run) {
    const auto w0 = weight("w0", 8, 4);
    const auto b0 = bias("b0", 8);
    const auto refused = [](const System::Function& function) {
        const auto network = lowered(function);
        EXPECT_FALSE(network);
        if (network) return std::string();
        EXPECT_EQ(network.error().kind, ErrorKind::Unsupported);
        return network.error().message;
    };
    EXPECT_THAT(refused([=](const Inputs& in) { return relu(dense(w0, b0, in["observation"])); }),
                HasSubstr("equation 2 is 'relu' where 'tanh'"));
    EXPECT_THAT(refused([=](const Inputs& in) { return w0(in["observation"]); }),
                HasSubstr("the graph ends where 'add'"));
    EXPECT_THAT(refused([=](const Inputs& in) { return tanh(dense(w0, b0, in["observation"])); }),
                HasSubstr("the graph ends where 'linear'"));
    EXPECT_THAT(refused([=](const Inputs& in) { return w0(in["observation"]) + 1.0; }),
                HasSubstr("equation 1 is 'add'"));
    EXPECT_THAT(refused([=](const Inputs& in) { return in["observation"]; }), HasSubstr("the graph ends"));
}

}  // namespace
}  // namespace yolk::hyper
