// SPDX-License-Identifier: Apache-2.0
// Logits and generated tokens on the device beside those of PyPI's transformers in double precision
// (models/make_decoders.py).
#include "yolk/decoder.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models.hpp"
#include "yolk/internal/hyper/population.hpp"

namespace yolk::transformer {
namespace {

class decoder : public ::yolk::testing::DeviceTest {};
YOLK_FOR_EACH_DEVICE(decoder);

constexpr std::size_t kEvery = 7;  // of the vocabulary, in decoders.json

/// A model with the case's changes of config.json.
class DecoderCase {
   public:
    explicit DecoderCase(const Json& json) : json_(json), copy_(json.at("model").get<std::string>()) {
        copy_.change_json("config.json", [&](Json& config) { config.update(json_.at("changes")); });
        for (const Json& id : json_.at("tokens")) tokens.push_back(id.get<std::uint32_t>());
        for (const Json& id : json_.at("greedy")) greedy.push_back(id.get<std::uint32_t>());
    }
    [[nodiscard]] const std::filesystem::path& folder() const { return copy_.folder(); }
    /// Of logits [tokens, vocabulary], relative to the largest.
    [[nodiscard]] double largest_difference(std::span<const float> found, std::size_t vocabulary) const {
        double largest = 0.0, scale = 0.0;
        for (std::size_t row = 0; row < tokens.size(); ++row) {
            const Json& expected = json_.at("logits")[row];
            for (std::size_t i = 0; i < expected.size(); ++i) {
                const double value = expected[i].get<double>();
                largest = std::max(largest, std::abs(found[row * vocabulary + i * kEvery] - value));
                scale = std::max(scale, std::abs(value));
            }
        }
        return largest / scale;
    }
    std::vector<std::uint32_t> tokens, greedy;

   private:
    Json json_;
    CopiedModel copy_;
};

Json decoder_cases() { return stored_json(models_folder() / "decoders.json"); }

/// The system's output for the unperturbed member on the device.
std::vector<float> whole_logits(const Decoder& opened, Dispatcher& dispatcher, std::span<const std::uint32_t> tokens,
                                Determinism determinism) {
    auto system = opened.system();
    EXPECT_OK(system);
    auto example = opened.example(tokens);
    EXPECT_OK(example);
    const std::vector<hyper::Example> examples{*example};
    auto traced = system->trace_all(examples);
    EXPECT_OK(traced);
    auto space = hyper::search_space(system->parameters());
    EXPECT_OK(space);
    auto evaluator = hyper::PopulationEvaluator::create({.devices = dispatcher}, *traced, system->parameters(),
                                                        {.determinism = determinism, .plain_outputs = true});
    EXPECT_OK(evaluator);
    EXPECT_EQ(evaluator->fallbacks(), std::vector<std::string>{}) << "all of it runs on the device";
    auto outputs = evaluator->evaluate({.table = space->table, .mean = space->mean, .first_member = -1, .members = 1});
    EXPECT_OK(outputs);
    return outputs ? outputs->plain.elements : std::vector<float>();
}

// fp32 against double: each of the two layers has sums of at most 40 products, norms and angles that are fp32 on both
// sides, whose rounding errors are some 2^-24 times the root of their length.
constexpr double kLogitTolerance = 1e-5;

TEST_P(decoder, logits_are_those_of_transformers) {
    const Json cases = decoder_cases();
    for (const auto& [name, json] : cases.items()) {
        SCOPED_TRACE(name);
        const DecoderCase one(json);
        for (const Determinism determinism : {Determinism::Exact, Determinism::Fast}) {
            ASSERT_OK_AND_ASSIGN(Decoder opened,
                                 Decoder::open(one.folder(), dispatcher(), {.determinism = determinism}));
            ASSERT_OK_AND_ASSIGN(const std::vector<float> found, opened.logits(one.tokens));
            ASSERT_EQ(found.size(), one.tokens.size() * opened.config().vocabulary);
            EXPECT_LT(one.largest_difference(found, opened.config().vocabulary), kLogitTolerance);
        }
    }
}

// Greedy, by keys and values that were remembered, beside transformers' without any.
TEST_P(decoder, greedy_tokens_are_those_of_transformers) {
    for (const char* const name : {"llama", "qwen2"}) {
        SCOPED_TRACE(name);
        const DecoderCase one(decoder_cases().at(name));
        ASSERT_OK_AND_ASSIGN(Decoder opened, Decoder::open(one.folder(), dispatcher()));
        const std::string prompt = opened.text(one.tokens);
        ASSERT_OK_AND_ASSIGN(const std::vector<std::uint32_t> tokens, opened.tokens(prompt));
        ASSERT_EQ(tokens, one.tokens);
        const std::vector<std::string> prompts{prompt};
        ASSERT_OK_AND_ASSIGN(const std::vector<Generated> found,
                             opened.generate(prompts, {.tokens = static_cast<std::uint32_t>(one.greedy.size())}));
        EXPECT_EQ(found.front().tokens, one.greedy);
        EXPECT_EQ(found.front().text, opened.text(one.greedy));
    }
}

// The system's call is evaluated by the kernels' twins, so that in exact mode every device has the host's bits.
TEST_P(decoder, the_system_is_the_same_network) {
    const DecoderCase one(decoder_cases().at("llama"));
    ASSERT_OK_AND_ASSIGN(const Decoder opened, Decoder::open(one.folder(), dispatcher()));
    ASSERT_OK_AND_ASSIGN(hyper::System system, opened.system());
    ASSERT_OK_AND_ASSIGN(const hyper::Example example, opened.example(one.tokens));
    ASSERT_OK_AND_ASSIGN(const hyper::Value called, system.call(example.inputs));
    EXPECT_THAT(whole_logits(opened, dispatcher(), one.tokens, Determinism::Exact),
                ::testing::ElementsAreArray(called.tensor()->values()));
    EXPECT_LT(one.largest_difference(called.tensor()->values(), opened.config().vocabulary), kLogitTolerance);
}

TEST_P(decoder, tokens_that_are_none_are_refused) {
    ASSERT_OK_AND_ASSIGN(const Decoder opened, Decoder::open(models_folder() / "llama", dispatcher()));
    const std::vector<std::uint32_t> unknown{1, 312}, many(97, 1);
    EXPECT_TRUE(::yolk::testing::expect_error(opened.example({}), ErrorKind::BadInput, "No tokens"));
    EXPECT_TRUE(::yolk::testing::expect_error(opened.example(unknown), ErrorKind::BadInput, "Token 1 is 312"));
    EXPECT_TRUE(::yolk::testing::expect_error(opened.example(many), ErrorKind::BadInput, "from 97 to 96"));
}

// Longer than what is read together, so that a prompt takes three steps.
const std::string kLongPrompt = "for (int i = 0; i < n; ++i) { a[i] += b[i]; } evolution strategies, naïve";

// What is remembered changes nothing: each token as the whole text without memory gives it.
TEST_P(decoder, remembered_and_computed_again_are_the_same_tokens) {
    ASSERT_OK_AND_ASSIGN(Decoder opened, Decoder::open(models_folder() / "llama", dispatcher()));
    const std::vector<std::string> prompts{kLongPrompt};
    ASSERT_OK_AND_ASSIGN(const std::vector<Generated> found, opened.generate(prompts, {.tokens = 12}));
    ASSERT_OK_AND_ASSIGN(std::vector<std::uint32_t> tokens, opened.tokens(kLongPrompt));
    ASSERT_GT(tokens.size(), 32U);
    const std::size_t read = tokens.size();
    tokens.insert(tokens.end(), found[0].tokens.begin(), found[0].tokens.end());
    const std::vector<float> logits = whole_logits(opened, dispatcher(), tokens, Determinism::Fast);
    for (std::size_t i = 0; i < found[0].tokens.size(); ++i) {
        const auto row =
            std::span(logits).subspan((read + i - 1) * opened.config().vocabulary, opened.config().vocabulary);
        EXPECT_EQ(std::ranges::max_element(row) - row.begin(), std::ptrdiff_t{found[0].tokens[i]}) << i;
    }
}

TEST_P(decoder, prompts_beside_it_do_not_change_a_text) {
    ASSERT_OK_AND_ASSIGN(Decoder opened,
                         Decoder::open(models_folder() / "llama", dispatcher(), {.determinism = Determinism::Exact}));
    const std::vector<std::string> prompts{"the", "The cat sat on the mat, 1234", kLongPrompt};
    const GenerateOptions drawn{.tokens = 8, .temperature = 1.5, .top_k = 40, .top_p = 0.9, .seed = 5};
    for (const GenerateOptions& options : {GenerateOptions{.tokens = 8}, drawn}) {
        ASSERT_OK_AND_ASSIGN(const std::vector<Generated> together, opened.generate(prompts, options));
        ASSERT_OK_AND_ASSIGN(const std::vector<Generated> alone, opened.generate(std::span(prompts).first(1), options));
        ASSERT_EQ(together.size(), 3U);
        EXPECT_EQ(together[0].tokens, alone[0].tokens);
        // Memory for more or fewer of them may be where that of others was.
        for (const std::size_t count : {1U, 2U, 1U, 3U, 1U}) {
            ASSERT_OK_AND_ASSIGN(const std::vector<Generated> some,
                                 opened.generate(std::span(prompts).first(count), options));
            for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(some[i].tokens, together[i].tokens) << count << " " << i;
        }
        ASSERT_OK_AND_ASSIGN(const std::vector<Generated> again, opened.generate(prompts, options));
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(again[i].tokens, together[i].tokens);
    }
}

TEST_P(decoder, a_text_ends_where_the_model_says_so) {
    const DecoderCase one(decoder_cases().at("llama"));
    const CopiedModel copy("llama");
    copy.change_json("config.json", [&](Json& json) { json["eos_token_id"] = one.greedy[3]; });
    ASSERT_OK_AND_ASSIGN(Decoder opened, Decoder::open(copy.folder(), dispatcher()));
    const std::vector<std::string> prompts{opened.text(one.tokens), "the"};
    ASSERT_OK_AND_ASSIGN(const std::vector<Generated> found, opened.generate(prompts, {.tokens = 8}));
    EXPECT_TRUE(found[0].ended);
    const auto first = std::ranges::find(one.greedy, one.greedy[3]);
    EXPECT_EQ(found[0].tokens, std::vector(one.greedy.begin(), first));
}

// Members of the step graph beside the same members of the network over the whole text.
TEST_P(decoder, members_are_those_of_the_system) {
    constexpr std::uint32_t kMembers = 4;
    const DecoderPopulation population{.members = kMembers, .sigma = 0.2F, .seed = 9, .generation = 3};
    ASSERT_OK_AND_ASSIGN(Decoder opened, Decoder::open(models_folder() / "llama", dispatcher()));
    ASSERT_OK_AND_ASSIGN(const std::vector<Generated> found, opened.generate("the cat", population, {.tokens = 5}));
    ASSERT_EQ(found.size(), kMembers);
    ASSERT_OK_AND_ASSIGN(hyper::System system, opened.system());
    for (const hyper::ParameterGroup& group :
         std::vector(system.parameters().groups().begin(), system.parameters().groups().end())) {
        const std::string& name = group.spec.name;
        ASSERT_OK(system.parameters().set_optimized(
            name, name.ends_with("q_proj.weight") || name.ends_with("v_proj.weight")));
    }
    ASSERT_OK_AND_ASSIGN(const hyper::SearchSpace space, hyper::search_space(system.parameters()));
    std::set<std::vector<std::uint32_t>> different;
    for (std::uint32_t m = 0; m < kMembers; ++m) {
        different.insert(found[m].tokens);
        ASSERT_OK_AND_ASSIGN(std::vector<std::uint32_t> tokens, opened.tokens("the cat"));
        const std::size_t read = tokens.size();
        tokens.insert(tokens.end(), found[m].tokens.begin(), found[m].tokens.end());
        ASSERT_OK_AND_ASSIGN(const hyper::Example example, opened.example(tokens));
        ASSERT_OK_AND_ASSIGN(const auto traced, system.trace_all(std::span(&example, 1)));
        ASSERT_OK_AND_ASSIGN(auto evaluator, hyper::PopulationEvaluator::create(
                                                 {.devices = dispatcher()}, traced, system.parameters(),
                                                 {.determinism = Determinism::Fast, .plain_outputs = true}));
        ASSERT_OK_AND_ASSIGN(const hyper::PopulationOutputs outputs,
                             evaluator.evaluate({.table = space.table,
                                                 .mean = space.mean,
                                                 .when = {.seed = 9, .generation = 3, .time = 3, .sigma = 0.2F},
                                                 .members = kMembers}));
        const std::size_t vocabulary = opened.config().vocabulary;
        for (std::size_t i = 0; i < found[m].tokens.size(); ++i) {
            const auto row = outputs.plain.of(m).subspan((read + i - 1) * vocabulary, vocabulary);
            EXPECT_EQ(std::ranges::max_element(row) - row.begin(), std::ptrdiff_t{found[m].tokens[i]}) << m << " " << i;
        }
    }
    EXPECT_GT(different.size(), 1U);
}

TEST_P(decoder, mistakes_are_named) {
    using ::yolk::testing::expect_error;
    ASSERT_OK_AND_ASSIGN(Decoder opened, Decoder::open(models_folder() / "llama", dispatcher()));
    const std::vector<std::string> good{"the"}, broken{"the", "\xFF"}, none;
    std::string many = "a";
    for (int i = 0; i < 100; ++i) many += " 1";
    const std::vector<std::string> too_long{"the", many};
    const auto bad = ErrorKind::BadInput;
    EXPECT_TRUE(expect_error(opened.generate(broken, {}), bad, "reading prompt 1"));
    EXPECT_TRUE(expect_error(opened.generate(too_long, {}), bad, "the model takes 96 in all"));
    EXPECT_TRUE(expect_error(opened.generate(good, {.tokens = 95}), bad, "has 2 tokens, and 95 are to follow"));
    EXPECT_TRUE(expect_error(opened.generate(good, {.tokens = 0}), bad, "0 tokens"));
    EXPECT_TRUE(expect_error(opened.generate(good, {.temperature = -1}), bad, "The temperature is -1"));
    EXPECT_TRUE(expect_error(opened.generate(good, {.temperature = NAN}), bad, "The temperature is nan"));
    EXPECT_TRUE(expect_error(opened.generate(good, {.top_p = 0}), bad, "top-p is 0"));
    EXPECT_TRUE(expect_error(opened.generate("the", {.members = 3}, {}), bad, "3 members"));
    EXPECT_TRUE(expect_error(opened.generate("the", {.sigma = NAN}, {}), bad, "Sigma is nan"));
    EXPECT_TRUE(expect_error(opened.generate("the", {.rank = 33}, {}), bad, "Rank 33"));
    EXPECT_TRUE(expect_error(opened.generate("the", {.perturbed = "q_proj.weight,x"}, {}), bad, "ends with 'x'"));
    EXPECT_TRUE(expect_error(opened.generate("the", {.perturbed = ""}, {}), bad, "ends with ''"));
    ASSERT_OK_AND_ASSIGN(const std::vector<Generated> found, opened.generate(none, {}));
    EXPECT_TRUE(found.empty());
    ASSERT_OK_AND_ASSIGN(const std::vector<Generated> fine, opened.generate(good, {.tokens = 1}));
    EXPECT_EQ(fine[0].tokens.size(), 1U) << "it can be used again";
}

TEST(decoder_bits, exact_mode_has_the_same_on_every_device) {
    const DecoderCase one(decoder_cases().at("llama"));
    std::vector<std::vector<float>> logits;
    for (const std::string& name : ::yolk::testing::devices()) {
        ASSERT_OK_AND_ASSIGN(Decoder opened,
                             Decoder::open(one.folder(), ::yolk::testing::shared_device(name).dispatcher,
                                           {.determinism = Determinism::Exact}));
        ASSERT_OK_AND_ASSIGN(auto found, opened.logits(one.tokens));
        logits.push_back(std::move(found));
    }
    for (const std::vector<float>& each : logits) EXPECT_EQ(each, logits.front());
}

}  // namespace
}  // namespace yolk::transformer
