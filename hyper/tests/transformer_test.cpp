// SPDX-License-Identifier: Apache-2.0
// Rewards of a small language model, as examples/10_transformer.cpp has it: the same bits on each device, by the exact
// twins, and, of the mean, by one call.
#include <fmt/format.h>

#include <bit>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "exact_twin.hpp"
#include "scored_example.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

class transformer : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(transformer);

constexpr std::uint32_t kModelWidth = 64, kModelHeads = 4, kModelLayers = 2, kWindow = 64, kCharacters = 256;

Hyperfunction<MatrixWeight> model_matrix(const std::string& name, std::uint32_t out, std::uint32_t in) {
    return hyperfunction(name, MatrixWeight{.out = out, .in = in},
                         [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
}
Hyperfunction<MatrixWeight> model_table(const std::string& name, std::uint32_t rows) {
    return hyperfunction(name, MatrixWeight{.out = rows, .in = kModelWidth},
                         [](const Traced& w, const Traced& ids) { return embedding(w, ids); }, {.optimize = true});
}
Traced model_heads(const Traced& x) {
    return permute(reshape(x, {kWindow, kModelHeads, kModelWidth / kModelHeads}), {1, 0, 2});
}

struct ModelBlock {
    Hyperfunction<MatrixWeight> mix, project, up, down;
    explicit ModelBlock(const std::string& name)
        : mix(model_matrix(name + " mix", 3 * kModelWidth, kModelWidth)),
          project(model_matrix(name + " project", kModelWidth, kModelWidth)),
          up(model_matrix(name + " up", 4 * kModelWidth, kModelWidth)),
          down(model_matrix(name + " down", kModelWidth, 4 * kModelWidth)) {}
    Traced operator()(const Traced& x) const {
        const auto parts = split(mix(rms_norm(x)), {kModelWidth, kModelWidth, kModelWidth}, -1);
        const Traced seen = attention(model_heads(parts[0]), model_heads(parts[1]), model_heads(parts[2]), true);
        const Traced y = x + project(reshape(permute(seen, {1, 0, 2}), {kWindow, kModelWidth}));
        return y + down(gelu(up(rms_norm(y))));
    }
};

System language_model() {
    std::vector<ModelBlock> blocks;
    for (std::uint32_t i = 0; i < kModelLayers; ++i) blocks.emplace_back(fmt::format("block {}", i));
    std::vector<float> numbers(kWindow);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    return System("language model",
                  [blocks, characters = model_table("characters", kCharacters), places = model_table("places", kWindow),
                   logits = model_matrix("logits", kCharacters, kModelWidth),
                   numbers = Tensor::vector(std::move(numbers))](const Inputs& in) {
                      Traced x = characters(in["text"]) + places(numbers);
                      for (const ModelBlock& block : blocks) x = block(x);
                      return logits(rms_norm(x));
                  });
}

/// Two windows of a text, each with the characters that follow.
std::vector<Example> two_windows() {
    constexpr std::string_view kText =
        "Now is the winter of our discontent made glorious summer by this sun of York; and all the clouds that lour'd "
        "upon our house in the deep bosom of the ocean buried.";
    const auto window = [&](std::size_t first) {
        std::vector<float> ids;
        for (const char c : kText.substr(first, kWindow)) ids.push_back(static_cast<float>(c));
        return Tensor::vector(std::move(ids));
    };
    static_assert(kText.size() > 2 * kWindow);
    return {{.inputs = {{"text", window(0)}}, .expected = window(1)},
            {.inputs = {{"text", window(kWindow)}}, .expected = window(kWindow + 1)}};
}

TEST_P(transformer, rewards_have_the_twins_bits) {
    constexpr std::uint32_t kMembers = 5;  // the mean and two pairs
    System system = language_model();
    const std::vector<Example> examples = two_windows();
    const Metric metric = sequence_cross_entropy();
    ASSERT_OK_AND_ASSIGN(std::vector<TracedExample> scored, system.trace_all(examples));
    for (std::size_t e = 0; e < examples.size(); ++e) {
        ASSERT_OK_AND_ASSIGN(scored[e], scored_example(scored[e], metric, examples[e].expected));
    }
    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(system.parameters()));
    const Perturbations around{.table = space.table,
                               .mean = space.mean,
                               .when = {.seed = 42, .generation = 2, .time = 2, .sigma = 0.05F},
                               .first_member = -1,
                               .members = kMembers};
    ASSERT_OK_AND_ASSIGN(const auto set, population::ExampleSet::create(scored, system.parameters()));
    ASSERT_OK_AND_ASSIGN(const population::Question question, set.ask(around));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs twin,
                         population::PopulationTwin(nullptr, set).evaluate(question, {.count = kMembers}, nullptr));
    ASSERT_OK_AND_ASSIGN(auto evaluator,
                         PopulationEvaluator::create({.devices = dispatcher()}, scored, system.parameters(), {}));
    EXPECT_EQ(evaluator.fallbacks(), std::vector<std::string>{}) << "all of it runs on the device";
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs given, evaluator.evaluate(around));
    EXPECT_EQ(given.values, twin.values);
    for (std::size_t e = 0; e < examples.size(); ++e) {
        std::set<double> rewards;
        for (std::uint32_t m = 0; m < kMembers; ++m) rewards.insert(*given.values[e * kMembers + m].as_number());
        EXPECT_EQ(rewards.size(), kMembers) << "each member has a reward of its own";
        EXPECT_LT(*rewards.rbegin(), 0.0) << "a log probability";
        ASSERT_OK_AND_ASSIGN(const Value prediction, system.call(examples[e].inputs));
        ASSERT_OK_AND_ASSIGN(const double called, metric.per_example(prediction, examples[e].expected));
        EXPECT_EQ(*given.values[e * kMembers].as_number(), called) << "member -1 is the call";
    }
}

struct Steps {
    std::map<std::string, std::vector<std::uint32_t>> bits;  ///< by group of parameters
    std::uint64_t dispatches = 0;
};
/// Steps of Adam over the windows, and what the search does before and after them.
Result<Steps> steps_of_adam(Dispatcher& dispatcher, std::uint32_t count, bool joined) {
    System system = language_model();
    system.use(dispatcher);
    OptimizeOptions options{.generations = count, .gradient = GradientOptions{.learning_rate = 3e-3F}};
    options.population_options.joined_kernels = joined;
    YOLK_TRY(const OptimizeOutcome outcome, system.optimize(two_windows(), sequence_cross_entropy(), options));
    Steps taken{.bits = {}, .dispatches = outcome.cost.dispatches};
    for (const ParameterGroup& group : system.parameters().groups()) {
        for (const float x : group.values.values())
            taken.bits[group.spec.name].push_back(std::bit_cast<std::uint32_t>(x));
    }
    return taken;
}

TEST_P(transformer, a_gradient_of_joined_kernels_has_the_bits_of_kernels_apart) {
    ASSERT_OK_AND_ASSIGN(const Steps one, steps_of_adam(dispatcher(), 1, true));
    ASSERT_OK_AND_ASSIGN(const Steps two, steps_of_adam(dispatcher(), 2, true));
    ASSERT_OK_AND_ASSIGN(const Steps apart, steps_of_adam(dispatcher(), 2, false));
    EXPECT_TRUE(two.bits == apart.bits);
    EXPECT_EQ(two.dispatches - one.dispatches, 74U);
    EXPECT_GT(apart.dispatches, two.dispatches);
}

}  // namespace
}  // namespace yolk::hyper
