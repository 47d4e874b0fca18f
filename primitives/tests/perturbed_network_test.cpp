// SPDX-License-Identifier: Apache-2.0
#include "yolk/perturbed_network.hpp"

#include <gmock/gmock.h>

#include <array>
#include <utility>

#include "yolk/internal/oracle/family.hpp"
#include "yolk/internal/oracle/named_problem.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk {
namespace {

using testing::expect_error;

class perturbed_network : public testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(perturbed_network);

PerturbedNetworkDesc small_network() { return {.members = 2, .rows = 3, .widths = {4, 5, 2}, .biases = 1}; }

TEST_P(perturbed_network, bad_descriptions_are_refused) {
    const auto expect_refused = [&](auto change, const char* part) {
        PerturbedNetworkDesc desc = small_network();
        change(desc);
        EXPECT_TRUE(expect_error(plan_perturbed_network(device(), desc), ErrorKind::BadInput, part));
    };
    expect_refused([](auto& d) { d.widths = {}; }, "has 0 widths; it must have 2 to 5");
    expect_refused([](auto& d) { d.widths = {4}; }, "has 1 widths");
    expect_refused([](auto& d) { d.widths = {2, 2, 2, 2, 2, 2}; }, "has 6 widths");
    expect_refused([](auto& d) { d.widths[1] = 0; }, "width of [perturbed_network]");
    expect_refused([](auto& d) { d.widths[1] = 65; }, "width of [perturbed_network]");
    expect_refused([](auto& d) { d.widths = {17, 31}; }, "products of [perturbed_network]");
    expect_refused([](auto& d) { d.widths = {15, 17}, d.rank = 9; }, "noise elements of [perturbed_network]");
    expect_refused([](auto& d) { d.biases = 4; }, "a bias of one that is not there");
    expect_refused([](auto& d) { d.weights[1] = ParameterId{kMaxParameterId + 1}; },
                   "parameter of [perturbed_network]");
    expect_refused([](auto& d) { d.bias_vectors[0] = ParameterId{kMaxParameterId + 1}; },
                   "parameter of [perturbed_network]");
    for (const std::uint32_t rank : {0U, 33U}) expect_refused([&](auto& d) { d.rank = rank; }, "rank");
    expect_refused([](auto& d) { d.config = PerturbedNetworkConfig{.workgroup_size = 3}; }, "workgroup_size");
    expect_refused([](auto& d) { d.config = PerturbedNetworkConfig{.rows_per_invocation = 4}; },
                   "rows_per_invocation must not exceed the rows");
    expect_refused([](auto& d) { d.members = d.rows = 0xFFFFFFFFU; }, "view of [perturbed_network]");
}

// A drawn shape found it on lavapipe 22.3: an output whose terms are all -0 is +0, for its chain begins there.
TEST_P(perturbed_network, outputs_of_negative_zeros_are_zero) {
    ASSERT_OK_AND_ASSIGN(
        oracle::NamedProblem named,
        oracle::parse_problem("perturbed_network members=33 rows=2 widths=8-1-64 rank=1 shared_input=1"));
    oracle::Problems problems;
    problems.push_back(std::move(named.problem));
    ASSERT_OK_AND_ASSIGN(const oracle::CheckReport report,
                         oracle::check_problems({.device = device(), .dispatcher = dispatcher(), .configurations = 2},
                                                *named.family, problems));
    EXPECT_THAT(report.failures, ::testing::IsEmpty());
}

TEST_P(perturbed_network, wrong_views_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Buffer buffer, device().create_buffer({.size_bytes = 2048, .label = "all"}));
    ASSERT_OK_AND_ASSIGN(const PerturbedNetworkPlan plan, plan_perturbed_network(device(), small_network()));
    // Weights 5 * 4 and 2 * 5, bias 5, input 2 * 3 * 4, output 2 * 3 * 2 words, each on its own 256 bytes.
    std::array weights{BufferView(buffer, 0, 80), BufferView(buffer, 256, 40)};
    std::array biases{BufferView(buffer, 512, 20)};
    const PerturbedNetworkViews good{weights, biases, BufferView(buffer, 768, 96), BufferView(buffer, 1024, 48)};
    EXPECT_OK(plan.bind(good));
    const auto expect_refused = [&](auto change, const char* part) {
        PerturbedNetworkViews views = good;
        change(views);
        EXPECT_TRUE(expect_error(plan.bind(views), ErrorKind::BadInput, part));
    };
    expect_refused([&](auto& v) { v.weights = v.weights.first(1); }, "was given 1 weights; it was planned for 2");
    expect_refused([&](auto& v) { v.biases = {}; }, "was given 0 biases; it was planned for 1");
    expect_refused([&](auto& v) { v.input = BufferView(buffer, 768, 92); }, "input view of [perturbed_network]");
    expect_refused([&](auto& v) { v.output = BufferView(buffer, 2048, 48); }, "output view of [perturbed_network]");
    expect_refused([&](auto& v) { v.output = v.input; }, "[perturbed_network]");
    weights[1] = BufferView(buffer, 256, 36);
    EXPECT_TRUE(expect_error(plan.bind(good), ErrorKind::BadInput, "weights[1] view of [perturbed_network]"));
}

TEST_P(perturbed_network, text_and_description_are_the_same) {
    const auto& fields = operation_of<PerturbedNetworkDesc>().fields;
    const char* text = "members=4 rows=2 widths=8-16-4 activations=tanh-relu biases=3 rank=2";
    ASSERT_OK_AND_ASSIGN(const PerturbedNetworkDesc desc, fields.parse(text));
    EXPECT_THAT(desc.widths, ::testing::ElementsAre(8, 16, 4));
    EXPECT_EQ(desc.activations[0], Activation::Tanh);
    EXPECT_EQ(desc.activations[1], Activation::Relu);
    EXPECT_EQ(fields.text(desc), text);
    for (const char* bad :
         {"members=4 widths=8", "members=4 widths=8-0", "members=4 widths=8-65", "members=4 widths=8-x",
          "members=4 widths=1-1-1-1-1-1", "members=4 widths=1-1 activations=tanh-tanh-tanh-tanh-tanh",
          "members=4 widths=1-1 activations=cosh", "members=4 widths=1-1 biases=16"})
        EXPECT_FALSE(fields.parse(bad)) << bad;
}

}  // namespace
}  // namespace yolk
