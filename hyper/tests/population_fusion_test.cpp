// SPDX-License-Identifier: Apache-2.0
// A perturbed layer and the activation of what it gives are one kernel, where nothing else reads the values between;
// the bits are those of the two.
#include "population_fixtures.hpp"
#include "yolk/elementwise.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/perturbed_linear.hpp"
#include "yolk/twin.hpp"

namespace yolk::hyper {
namespace {

constexpr NoiseContext kFusionNoise{.seed = 5, .generation = 2, .time = 2, .sigma = 0.3F};
constexpr std::uint32_t kFusionCandidates = 6, kFusionExamples = 3, kFusionRows = 2;

enum class Between { ReadByTheActivation, ReadByAnother, IsTheOutput, ReadTwice };

/// Of a layer 4 -> 5, or 5 -> 4 transposed, and an activation: their examples.
std::vector<TracedExample> layer_examples(const ParameterSet& set, const std::string& activation, bool transposed,
                                          Between between) {
    std::vector<TracedExample> examples;
    for (std::uint32_t e = 0; e < kFusionExamples; ++e) {
        Sketch sketch(set);
        const Atom x = sketch.input("x", drawn_tensor({kFusionRows, transposed ? 5U : 4U}, 60 + e));
        const Atom layer = sketch.one(transposed ? "linear_transposed" : "linear", {sketch.parameter("w1"), x});
        Atom out = layer;
        if (between == Between::ReadTwice) {
            out = sketch.one("multiply", {layer, layer});
        } else {
            out = sketch.one(activation, {layer});
        }
        if (between == Between::ReadByAnother) out = sketch.one("add", {out, layer});
        if (between == Between::IsTheOutput) out = layer;
        examples.push_back(sketch.finish(out));
    }
    return examples;
}

class population_fusion : public ::yolk::testing::DeviceTest {
   protected:
    [[nodiscard]] Result<PopulationOutputs> outputs(const std::vector<TracedExample>& examples, const ParameterSet& set,
                                                    std::uint32_t rank) const {
        YOLK_TRY(const SearchSpace space, search_space(set));
        YOLK_TRY(PopulationEvaluator evaluator,
                 PopulationEvaluator::create({.devices = dispatcher()}, examples, set, {.joined_kernels = false}));
        return evaluator.evaluate(Perturbations{.table = space.table,
                                                .mean = space.mean,
                                                .when = kFusionNoise,
                                                .rank = rank,
                                                .first_member = -1,
                                                .members = kFusionCandidates});
    }
    /// The layer by its twin, then `after` by that of elementwise.
    static std::vector<float> twin(const ParameterSet& set, const TracedExample& example, std::int32_t member,
                                   std::uint32_t rank, bool transposed, ElementwiseOperation after) {
        const auto x = example.values[example.graph.inputs[0].second.value].tensor()->values();
        const PerturbedLinearDesc linear{.members = 1,
                                         .rows = kFusionRows,
                                         .in = 4,
                                         .out = 5,
                                         .rank = rank,
                                         .parameter = ParameterId(0),
                                         .transposed = transposed};
        const auto sums =
            reference::twin_result<float>(linear, {set.find("w1")->values.values(), x}, kFusionNoise, member);
        return reference::twin_result<float>(one_step(after, {kFusionRows, transposed ? 4U : 5U}), {sums});
    }
};
YOLK_FOR_EACH_DEVICE(population_fusion);

TEST_P(population_fusion, bits_are_those_of_the_two_kernels) {
    const ParameterSet set = two_layers();
    for (const auto operation : {ElementwiseOperation::Relu, ElementwiseOperation::Gelu, ElementwiseOperation::Silu,
                                 ElementwiseOperation::Tanh, ElementwiseOperation::Sigmoid}) {
        for (const bool transposed : {false, true}) {
            const std::string name(word_of(operation));
            const std::vector<TracedExample> examples =
                layer_examples(set, name, transposed, Between::ReadByTheActivation);
            const std::uint32_t rank = transposed ? 4 : 1;
            ASSERT_OK_AND_ASSIGN(const PopulationOutputs out, outputs(examples, set, rank));
            for (std::uint32_t e = 0; e < kFusionExamples; ++e) {
                for (std::uint32_t c = 0; c < kFusionCandidates; ++c) {
                    const auto got = out.values[e * kFusionCandidates + c].tensor()->values();
                    EXPECT_EQ(std::vector<float>(got.begin(), got.end()),
                              twin(set, examples[e], static_cast<std::int32_t>(c) - 1, rank, transposed, operation))
                        << name << (transposed ? " transposed" : "") << ", example " << e << ", candidate " << c;
                }
            }
        }
    }
}

// Fused, the activation takes no dispatch; what another equation or the caller reads is still written.
TEST_P(population_fusion, values_that_something_else_reads_are_kept) {
    const ParameterSet set = two_layers();
    const auto run = [&](Between between) { return outputs(layer_examples(set, "tanh", false, between), set, 1); };
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs alone, run(Between::IsTheOutput));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs fused, run(Between::ReadByTheActivation));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs twice, run(Between::ReadTwice));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs apart, run(Between::ReadByAnother));
    EXPECT_EQ(twice.counts.dispatches, fused.counts.dispatches + 1);
    EXPECT_EQ(apart.counts.dispatches, fused.counts.dispatches + 2);
    const auto of = [](const PopulationOutputs& out, std::size_t at) { return out.values[at].tensor()->values(); };
    for (std::size_t at = 0; at < alone.values.size(); ++at) {
        for (std::size_t i = 0; i < of(alone, at).size(); ++i) {
            EXPECT_EQ(of(apart, at)[i], of(fused, at)[i] + of(alone, at)[i]);
            EXPECT_EQ(of(twice, at)[i], of(alone, at)[i] * of(alone, at)[i]);
        }
    }
}

}  // namespace
}  // namespace yolk::hyper
