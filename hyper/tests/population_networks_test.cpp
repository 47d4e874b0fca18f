// SPDX-License-Identifier: Apache-2.0
// Small perturbed layers that follow each other are one kernel, with the bits of kernels apart and of the exact twin;
// what is read elsewhere, has noise of another rank, or is too large ends a kernel.
#include <functional>

#include "drawn_graphs.hpp"
#include "yolk/internal/testing/fault_injector.hpp"

namespace yolk::hyper {
namespace {

constexpr NoiseContext kNetworkNoise{.seed = 9, .generation = 3, .time = 3, .sigma = 0.3F};
constexpr auto kNoMemory = testing::FaultKind::OutOfHostMemory;
constexpr std::uint32_t kNetworkCandidates = 5, kNetworkExamples = 2;

/// 6 -> 7 -> 5 -> 3, and biases.
ParameterSet network_parameters(std::uint32_t second_rank = 1) {
    ParameterSet set;
    EXPECT_OK(set.add(matrix_spec("w1", 7, 6), drawn_tensor({7, 6}, 1)));
    EXPECT_OK(set.add(vector_spec("b1", 7), drawn_tensor({7}, 2)));
    ParameterSpec second = matrix_spec("w2", 5, 7);
    second.noise_rank = second_rank;
    EXPECT_OK(set.add(second, drawn_tensor({5, 7}, 3)));
    EXPECT_OK(set.add(matrix_spec("w3", 3, 5), drawn_tensor({3, 5}, 4)));
    EXPECT_OK(set.add(vector_spec("b3", 3), drawn_tensor({3}, 5)));
    EXPECT_OK(set.add(matrix_spec("w4", 7, 3), drawn_tensor({7, 3}, 8)));
    EXPECT_OK(set.add(matrix_spec("large", 64, 3), drawn_tensor({64, 3}, 6)));
    EXPECT_OK(set.add(matrix_spec("larger", 20, 64), drawn_tensor({20, 64}, 7)));
    return set;
}

class population_networks : public ::yolk::testing::DeviceTest {
   protected:
    struct Both {
        std::uint64_t joined = 0, apart = 0;
    };
    /// Of a graph that `draw` makes for each example: dispatches of both roads, which give the bits of the twin.
    template <class Draw>
    Both expect_alike(const ParameterSet& set, Draw&& draw, std::int32_t first_member = -1) const {
        std::vector<TracedExample> examples;
        for (std::uint32_t e = 0; e < kNetworkExamples; ++e) {
            Sketch sketch(set);
            const Atom x = sketch.input("x", drawn_tensor({4, 6}, 60 + e));
            examples.push_back(sketch.finish(draw(sketch, x)));
        }
        const auto joined = outputs(examples, set, {.joined_kernels = true}, first_member);
        const auto apart = outputs(examples, set, {.joined_kernels = false}, first_member);
        const auto twin = outputs(examples, set, {}, first_member, true);
        EXPECT_OK(joined);
        EXPECT_OK(apart);
        EXPECT_OK(twin);
        if (!joined || !apart || !twin) return {};
        for (std::size_t i = 0; i < joined->values.size(); ++i) {
            EXPECT_EQ(bits_of(joined->values[i]), bits_of(apart->values[i])) << i;
            EXPECT_EQ(bits_of(joined->values[i]), bits_of(twin->values[i])) << i;
        }
        return {joined->counts.dispatches, apart->counts.dispatches};
    }
    [[nodiscard]] Result<PopulationOutputs> outputs(const std::vector<TracedExample>& examples, const ParameterSet& set,
                                                    const PopulationOptions& options, std::int32_t first_member,
                                                    bool by_twin = false, Dispatcher* own = nullptr,
                                                    const std::function<void()>& before = {}) const {
        YOLK_TRY(const SearchSpace space, search_space(set));
        const Perturbations perturbations{.table = space.table,
                                          .mean = space.mean,
                                          .when = kNetworkNoise,
                                          .first_member = first_member,
                                          .members = kNetworkCandidates};
        YOLK_TRY(
            PopulationEvaluator evaluator,
            PopulationEvaluator::create({.devices = own == nullptr ? dispatcher() : *own}, examples, set, options));
        if (before) before();
        if (!by_twin) return evaluator.evaluate(perturbations);
        YOLK_TRY_VOID(evaluator.begin(perturbations));
        return evaluator.evaluate_part(PopulationEvaluator::kTwin, {.first = 0, .count = kNetworkCandidates});
    }
};
YOLK_FOR_EACH_DEVICE(population_networks);

Atom layer(Sketch& s, const char* weights, const Atom& x) { return s.one("linear", {s.parameter(weights), x}); }

Atom three_layers(Sketch& s, const Atom& x) {
    const Atom first = s.one("tanh", {s.one("add", {layer(s, "w1", x), s.parameter("b1")})});
    const Atom second = s.one("relu", {layer(s, "w2", first)});
    return s.one("add", {s.parameter("b3"), layer(s, "w3", second)});
}

TEST_P(population_networks, layers_with_biases_and_activations_are_one_dispatch) {
    const ParameterSet set = network_parameters();
    for (const std::int32_t first_member : {-1, 3}) EXPECT_EQ(expect_alike(set, three_layers, first_member).joined, 1U);
}

TEST_P(population_networks, inputs_that_candidates_have_of_their_own_are_read) {
    const ParameterSet set = network_parameters();
    const auto chain = [](Sketch& s, const Atom& x) {
        return layer(s, "w2", layer(s, "w4", s.one("softmax", {three_layers(s, x)})));
    };
    const Both both = expect_alike(set, chain);
    EXPECT_EQ(both.joined, 3U);
    EXPECT_GT(both.apart, both.joined);
}

TEST_P(population_networks, a_layer_that_is_read_twice_ends_a_kernel) {
    const ParameterSet set = network_parameters();
    const auto read_twice = [](Sketch& s, const Atom& x) {
        const Atom hidden = s.one("tanh", {layer(s, "w1", x)});
        const Atom out = layer(s, "w2", hidden);
        return s.one("concat", {out, hidden}, {{"dimension", std::int64_t{1}}});
    };
    const Both both = expect_alike(set, read_twice);
    EXPECT_EQ(both.joined, both.apart);
}

TEST_P(population_networks, noise_of_another_rank_and_what_is_too_large_end_a_kernel) {
    const auto two = [](Sketch& s, const Atom& x) { return layer(s, "w2", s.one("tanh", {layer(s, "w1", x)})); };
    EXPECT_EQ(expect_alike(network_parameters(1), two).joined, 1U);
    const Both ranks = expect_alike(network_parameters(2), two);
    EXPECT_EQ(ranks.joined, ranks.apart);
    // 3 -> 64 goes with the three before it; 64 -> 20 has more products than one kernel takes.
    const auto large = [](Sketch& s, const Atom& x) {
        return layer(s, "larger", layer(s, "large", three_layers(s, x)));
    };
    const Both both = expect_alike(network_parameters(), large);
    EXPECT_LT(both.joined, both.apart);
    const Both alone = expect_alike(network_parameters(), [](Sketch& s, const Atom& x) {
        return layer(s, "larger",
                     s.one("pad", {x},
                           {{"before", std::vector<std::int64_t>{0, 0}},
                            {"after", std::vector<std::int64_t>{0, 58}},
                            {"value", 0.5}}));
    });
    EXPECT_EQ(alone.joined, alone.apart);
}

TEST_P(population_networks, a_driver_that_refuses_the_kernel_gets_the_layers_one_by_one) {
    const ParameterSet set = network_parameters();
    Sketch sketch(set);
    const Atom x = sketch.input("x", drawn_tensor({4, 6}, 60));
    const std::vector<TracedExample> examples{
        sketch.finish(sketch.one("add", {layer(sketch, "w1", x), sketch.parameter("b1")}))};
    const auto apart = outputs(examples, set, {.joined_kernels = false}, 0);
    ASSERT_OK(apart);
    for (std::uint64_t nth = 1; nth < 100; ++nth) {
        testing::FaultInjector faults;
        ASSERT_OK_AND_ASSIGN(const Device own, Device::create(testing::instance(), testing::device_index(device_name()),
                                                              {.pipeline_cache_folder = {}}));
        ASSERT_OK_AND_ASSIGN(Dispatcher dispatcher, Dispatcher::create(own));
        ::testing::internal::CaptureStderr();
        const auto answered =
            outputs(examples, set, {}, 0, false, &dispatcher, [&] { faults.fail_nth_call(nth, kNoMemory); });
        const std::string refused = faults.injected_into();
        faults.fail_nothing();
        const std::string notices = ::testing::internal::GetCapturedStderr();
        if (refused != "vkCreateComputePipelines") {
            ASSERT_FALSE(refused.empty()) << "no pipeline was made";
            continue;
        }
        ASSERT_OK(answered);
        EXPECT_NE(notices.find("Operations that one kernel would do together run one by one"), std::string::npos);
        EXPECT_EQ(answered->counts.dispatches, apart->counts.dispatches);
        for (std::size_t i = 0; i < apart->values.size(); ++i)
            EXPECT_EQ(bits_of(answered->values[i]), bits_of(apart->values[i])) << i;
        return;
    }
    FAIL() << "no pipeline was refused";
}

}  // namespace
}  // namespace yolk::hyper
