// SPDX-License-Identifier: Apache-2.0
// Populations on the device against one call at a time.
#include <algorithm>

#include "population_fixtures.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/internal/runtime/shape_requests.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/perturbed_vector.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

constexpr NoiseContext kDeviceNoise{.seed = 7, .generation = 3, .time = 3, .sigma = 0.1F};

class population_device : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<PopulationEvaluator> evaluator(const std::vector<TracedExample>& examples,
                                                        const ParameterSet& set,
                                                        const PopulationOptions& options = {}) const {
        return PopulationEvaluator::create({.devices = dispatcher()}, examples, set, options);
    }
};
YOLK_FOR_EACH_DEVICE(population_device);

Perturbations perturbations_of(const SearchSpace& space, std::int32_t first, std::uint32_t members,
                               std::uint32_t rank = 1) {
    return {.table = space.table,
            .mean = space.mean,
            .when = kDeviceNoise,
            .rank = rank,
            .first_member = first,
            .members = members};
}

/// What the layers' kernels give for one member, by their twins.
std::vector<float> twin_of(const ParameterSet& set, std::span<const float> x, std::int32_t member, std::uint32_t rank) {
    const auto w = [&](const char* name) { return set.find(name)->values.values(); };
    const auto rows = static_cast<std::uint32_t>(x.size() / 4);
    const PerturbedLinearDesc first{
        .members = 1, .rows = rows, .in = 4, .out = 5, .rank = rank, .parameter = ParameterId(0)};
    auto hidden = reference::twin_result<float>(first, {w("w1"), x}, kDeviceNoise, member);
    const PerturbedVectorDesc vector{.members = 1, .element_count = 5, .parameter = ParameterId(1)};
    const auto bias = reference::twin_result<float>(vector, {w("b1")}, kDeviceNoise, member);
    const ElementwiseDesc then{.extents = {rows, 5},
                               .inputs = {3, 2},
                               .steps = {{ElementwiseOperation::Add, {0, 1}}, {ElementwiseOperation::Tanh, {2}}}};
    reference::twin_of(then, {hidden, bias, hidden});
    const PerturbedLinearDesc last{
        .members = 1, .rows = rows, .in = 5, .out = 3, .rank = rank, .parameter = ParameterId(2)};
    return reference::twin_result<float>(last, {w("w2"), hidden}, kDeviceNoise, member);
}

TEST_P(population_device, layers_ask_the_tuning_table) {
    const ParameterSet set = two_layers();
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    const std::vector<TracedExample> examples = two_layer_examples(set, 3);
    for (const bool joined : {true, false}) {
        ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set, {.joined_kernels = joined}));
        ASSERT_OK(evaluate.evaluate(perturbations_of(space, 0, 6)));
    }
    const std::vector<ShapeRequest> asked = shape_requests(device());
    const ShapeRequest network{.family = "perturbed_network",
                               .shape = {.variant = "biases=1 shared_input=1", .extents = {6, 3, 4, 5, 3, 1}}};
    EXPECT_NE(std::ranges::find(asked, network), asked.end());
    // The examples as rows: what all members share, then what each has of its own.
    for (const auto& [variant, extents] : {std::pair("shared_input=1", std::vector<std::uint64_t>{6, 3, 4, 5, 1}),
                                           std::pair("", std::vector<std::uint64_t>{6, 3, 5, 3, 1})}) {
        const ShapeRequest wanted{.family = "perturbed_linear", .shape = {.variant = variant, .extents = extents}};
        EXPECT_NE(std::ranges::find(asked, wanted), asked.end()) << variant;
    }
}

TEST_P(population_device, members_are_their_twins) {
    const ParameterSet set = two_layers();
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    for (const std::uint64_t rows : {0U, 3U}) {
        const std::vector<TracedExample> examples = two_layer_examples(set, 3, rows);
        ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set));
        EXPECT_TRUE(evaluate.fallbacks().empty());
        for (const std::uint32_t rank : {1U, 4U}) {
            ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluate.evaluate(perturbations_of(space, -1, 6, rank)));
            ASSERT_EQ(out.values.size(), 18U);
            for (std::uint32_t e = 0; e < 3; ++e) {
                for (std::uint32_t c = 0; c < 6; ++c) {
                    const auto x = examples[e].values[examples[e].graph.inputs[0].second.value].tensor()->values();
                    const std::vector<float> wanted = twin_of(set, x, static_cast<std::int32_t>(c) - 1, rank);
                    const Tensor* got = out.values[e * 6 + c].tensor();
                    ASSERT_NE(got, nullptr);
                    EXPECT_EQ(std::vector<float>(got->values().begin(), got->values().end()), wanted)
                        << "example " << e << ", member " << static_cast<int>(c) - 1;
                }
                EXPECT_EQ(out.values[e * 6], answer(examples[e], {}));  // the mean is the call
            }
        }
    }
}

TEST_P(population_device, candidates_are_calls) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples = two_layer_examples(set, 3, 2);
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set));
    std::vector<Candidate> candidates;
    for (std::uint32_t c = 0; c < 5; ++c) {
        Candidate candidate;
        if (c != 1) candidate.values.emplace_back("w1", drawn_tensor({5, 4}, 40 + c));
        if (c != 2) candidate.values.emplace_back("b1", drawn_tensor({5}, 50 + c));
        candidates.push_back(std::move(candidate));
    }
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, evaluate.evaluate(candidates));
    for (std::uint32_t e = 0; e < 3; ++e) {
        for (std::uint32_t c = 0; c < 5; ++c) {
            const std::map<std::string, Tensor> values(candidates[c].values.begin(), candidates[c].values.end());
            EXPECT_EQ(out.values[e * 5 + c], answer(examples[e], values)) << e << " " << c;
        }
    }
    EXPECT_EQ(out.counts.host_equations, 0U);
}

TEST_P(population_device, no_candidates_no_values) {
    const ParameterSet set = two_layers();
    const std::vector<TracedExample> examples = two_layer_examples(set, 2);
    ASSERT_OK_AND_ASSIGN(PopulationEvaluator evaluate, evaluator(examples, set));
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs none, evaluate.evaluate(perturbations_of(space, 0, 0)));
    EXPECT_TRUE(none.values.empty());
    EXPECT_EQ(none.counts.dispatches, 0U);
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs empty, evaluate.evaluate(std::span<const Candidate>{}));
    EXPECT_TRUE(empty.values.empty());
}

}  // namespace
}  // namespace yolk::hyper
