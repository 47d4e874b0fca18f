// SPDX-License-Identifier: Apache-2.0
// Populations of numbers beside texts: a text is the same for all candidates, and the one that the system has now.
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "pool_fixtures.hpp"
#include "population_fixtures.hpp"
#include "searched.hpp"
#include "text_systems.hpp"
#include "yolk/ablate.hpp"
#include "yolk/internal/testing/thread_exchange.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using text_populations = yolk::testing::DeviceTest;
YOLK_FOR_EACH_DEVICE(text_populations);

std::vector<Candidate> letters_candidates() {
    std::vector<Candidate> candidates;
    for (std::uint32_t c = 0; c < 5; ++c)
        candidates.push_back({{{"layer", drawn_tensor({2, 2}, 40 + c)}, {"gain", drawn_tensor({1}, 60 + c)}}});
    return candidates;
}

void expect_rewards_of_single_evaluations(System& system, std::span<const double> rewards) {
    const ParameterSet before = system.parameters();
    const std::vector<Candidate> candidates = letters_candidates();
    ASSERT_EQ(rewards.size(), candidates.size());
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        for (const auto& [name, values] : candidates[c].values) ASSERT_OK(system.parameters().set(name, values));
        ASSERT_OK_AND_ASSIGN(const Evaluation alone, system.evaluate(letters_examples(), numeric_distance()));
        EXPECT_EQ(rewards[c], alone.reward) << c;
    }
    system.parameters() = before;
}

TEST_P(text_populations, take_the_text_of_the_moment_through_kept_plans) {
    System system = letters_system();
    system.use(dispatcher());
    std::vector<double> last;
    for (const char* const text : {"abc", "abcdefgh", "", "abc"}) {
        ASSERT_OK(system.evaluate(letters_examples(), numeric_distance()));  // registers
        ASSERT_OK(system.parameters().set_text("prompt", text));
        ASSERT_OK_AND_ASSIGN(const PopulationEvaluation made,
                             system.evaluate_population(letters_candidates(), letters_examples(), numeric_distance()));
        expect_rewards_of_single_evaluations(system, made.rewards);
        EXPECT_NE(made.rewards, last) << "the text matters";
        last = made.rewards;
    }
}

// The text changes between an evaluator's evaluations, without a new trace.
TEST_P(text_populations, follow_a_set_that_changes) {
    System system = letters_system();
    system.use(dispatcher());
    const std::vector<Example> examples = letters_examples();
    ASSERT_OK_AND_ASSIGN(const std::vector<TracedExample> traced, system.trace_all(examples));
    ParameterSet set = system.parameters();
    ASSERT_OK_AND_ASSIGN(
        PopulationEvaluator evaluator,
        PopulationEvaluator::create({.devices = dispatcher(), .pool = &system.pool()}, traced, set, {}));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs before, evaluator.evaluate(letters_candidates()));
    ASSERT_OK(set.set_text("prompt", "longer than it was"));
    ASSERT_OK(system.parameters().set_text("prompt", "longer than it was"));
    ASSERT_OK_AND_ASSIGN(PopulationOutputs after, evaluator.evaluate(letters_candidates()));
    EXPECT_NE(before.values, after.values);
    std::vector<Value> expected;
    for (const Example& example : examples) expected.push_back(example.expected);
    ASSERT_OK_AND_ASSIGN(const PopulationEvaluation scored,
                         score_population(std::move(after), expected, numeric_distance()));
    expect_rewards_of_single_evaluations(system, scored.rewards);

    ASSERT_OK_AND_ASSIGN(const SearchSpace space, search_space(set));
    EXPECT_EQ(space.table.parameters().size(), 2U) << "texts have no coordinates";
    const Perturbations drawn{
        .table = space.table, .mean = space.mean, .when = {.seed = 3, .sigma = .5F}, .members = 4};
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs perturbed, evaluator.evaluate(drawn));
    ASSERT_OK_AND_ASSIGN(const std::vector<TracedExample> again, system.trace_all(examples));
    ASSERT_OK_AND_ASSIGN(
        PopulationEvaluator fresh,
        PopulationEvaluator::create({.devices = dispatcher(), .pool = &system.pool()}, again, set, {}));
    ASSERT_OK_AND_ASSIGN(const PopulationOutputs wanted, fresh.evaluate(drawn));
    EXPECT_EQ(perturbed.values, wanted.values);
}

TEST_P(text_populations, a_candidate_has_no_texts) {
    System system = letters_system();
    system.use(dispatcher());
    const std::vector<Candidate> candidates{{{{"prompt", Tensor::vector({1.0F})}}}};
    EXPECT_THAT(refusal(system.evaluate_population(candidates, letters_examples(), numeric_distance())),
                AllOf(HasSubstr("candidate 0"), HasSubstr("'prompt', which is a text")));
}

TEST_P(text_populations, a_search_moves_the_numbers_alone) {
    System system = letters_system();
    system.use(dispatcher());
    const OptimizeOptions options{.evolution = {.population = 32, .sigma = .05F, .learning_rate = .1F},
                                  .generations = 20};
    const std::vector<Example> examples = letters_examples();
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
    EXPECT_GT(outcome.best_reward, outcome.start_reward);
    EXPECT_EQ(outcome.cost.numbers, 5U);
    EXPECT_EQ(system.parameters().find("prompt")->text, "abc");
    EXPECT_TRUE(system.parameters().find("prompt")->spec.optimize) << "a prompt search may still change it";
    ASSERT_OK_AND_ASSIGN(const Evaluation now, system.evaluate(examples, numeric_distance()));
    EXPECT_EQ(now.reward, outcome.best_reward);
}

// The text scales what a trained layer gives: a host function that has no derivative, and needs none.
TEST_P(text_populations, derivatives_take_texts_as_constants) {
    const auto layer =
        hyperfunction("layer", MatrixWeight{.out = 1, .in = 2, .values = *Tensor::create({1, 2}, {1, 1})},
                      [](const Traced& w, const Traced& x) { return linear(w, x); }, {.optimize = true});
    const auto letters =
        hyperfunction("prompt", TextParameter{"abc"},
                      [](const TextParameter& p) { return static_cast<double>(p.text.size()); }, {.optimize = true});
    System system("scaled", [=](const Inputs& in) { return layer(in["x"]) * letters(); });
    system.use(dispatcher());
    std::vector<Example> examples;
    for (const float x : {1.0F, 2.0F, -1.0F})
        examples.push_back({{{"x", Tensor::vector({x, 1.0F})}}, Tensor::vector({6.0F * x})});
    const OptimizeOptions options{.generations = 30,
                                  .gradient = GradientOptions{.rule = OptimizerRule::Sgd, .learning_rate = .02F}};
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, system.optimize(examples, numeric_distance(), options));
    EXPECT_GT(outcome.best_reward, 0.2 * outcome.start_reward);  // of losses
    EXPECT_EQ(system.parameters().find("prompt")->text, "abc");
}

TEST_P(text_populations, where_only_texts_are_optimized_there_is_nothing_to_search) {
    const auto prompt = prompt_of("A");
    System system("asks", [=](const Inputs& in) { return prompt(in["q"]); });
    system.use(dispatcher());
    const std::vector<Example> examples{{{{"q", "x"}}, "A: x"}};
    EXPECT_THAT(refusal(system.optimize(examples, exact_match())),
                AllOf(HasSubstr("only texts are optimized (prompt)"), HasSubstr("prompt search")));
    EXPECT_EQ(system.parameters().find("prompt")->text, "A");
}

TEST_P(text_populations, are_ablated_by_their_empty_and_their_first_text) {
    System system = letters_system();
    system.use(dispatcher());
    const std::vector<Example> examples = letters_examples();
    ASSERT_OK(system.evaluate(examples, numeric_distance()));
    ASSERT_OK(system.parameters().set("layer", *Tensor::create({2, 2}, {1, 0, 0, 1})));
    ASSERT_OK(system.parameters().set_text("prompt", "xyzxyz"));
    const auto change_of = [&](Ablation how) {
        const auto rows = ablate(system, examples, numeric_distance(), {.how = how, .groups = {"prompt"}});
        EXPECT_OK(rows);
        return rows && rows->size() == 1 ? rows->front() : AblationRow{};
    };
    // Each of two numbers is off by |6 - 3| now, by 3 without the text, by 0 with the first one.
    EXPECT_EQ(change_of(Ablation::Zero).reward, -18.0);
    EXPECT_EQ(change_of(Ablation::Reset).reward, 0.0);
    EXPECT_EQ(change_of(Ablation::Reset).base, -18.0);
    EXPECT_EQ(system.parameters().find("prompt")->text, "xyzxyz");
    for (const Ablation how : {Ablation::Perturb, Ablation::Freeze}) {
        EXPECT_THAT(refusal(ablate(system, examples, numeric_distance(), {.how = how, .groups = {"prompt"}})),
                    AllOf(HasSubstr("'prompt' is a text"), HasSubstr(std::string(to_string(how)))));
    }
    ASSERT_OK_AND_ASSIGN(const auto all, ablate(system, examples, numeric_distance(), {}));
    EXPECT_EQ(all.size(), 3U);
    ASSERT_OK_AND_ASSIGN(const auto perturbed,
                         ablate(system, examples, numeric_distance(), {.how = Ablation::Perturb, .draws = 4}));
    EXPECT_EQ(perturbed.size(), 2U) << "without a name, what has numbers";
}

class text_pools : public ::testing::Test {
   protected:
    void SetUp() override {
        static_cast<void>(one_device());
        static_cast<void>(another_device());
    }
    static Task task(const std::string& text = "abc") {
        return {letters_system(text), letters_examples(), numeric_distance()};
    }
};

TEST_F(text_pools, of_devices_end_where_one_does) {
    ASSERT_OK_AND_ASSIGN(const Searched one, search(task(), few_generations(3)));
    ASSERT_OK_AND_ASSIGN(const Searched other, search(task("a"), few_generations(3)));
    EXPECT_NE(one.values, other.values) << "the text matters";
    std::string notices;
    ASSERT_OK_AND_ASSIGN(evolve::DevicePool pool, pool_of({one_device(), another_device()}, notices, {.audit = 1.0}));
    ASSERT_OK_AND_ASSIGN(const Searched both, search(task(), few_generations(3), &pool));
    EXPECT_EQ(both.values, one.values);
    EXPECT_EQ(notices, "");
}

TEST_F(text_pools, of_ranks_end_where_one_does_and_need_one_text) {
    const auto on_ranks = [](const std::string& second) {
        std::vector<Result<Searched>> results(2, failed_work("not run"));
        Result<std::vector<RankDevice>> devices = devices_of_ranks(2);
        EXPECT_OK(devices);
        yolk::testing::on_ranks<evolve::Exchange>(2, [&](evolve::Exchange& exchange) {
            Task mine = task(exchange.rank() == 0 ? "abc" : second);
            mine.system.use(evolve::Devices((*devices)[exchange.rank()].dispatcher).with(exchange));
            OptimizeOptions options = few_generations(3);
            results[exchange.rank()] = optimized(mine, options);
        });
        return results;
    };
    ASSERT_OK_AND_ASSIGN(const Searched alone, search(task(), few_generations(3)));
    for (const Result<Searched>& result : on_ranks("abc")) {
        ASSERT_OK(result);
        EXPECT_EQ(result->values, alone.values);
    }
    for (const Result<Searched>& result : on_ranks("abcd"))
        EXPECT_THAT(refusal(result), HasSubstr("hash of the texts"));
}

TEST_F(text_pools, a_checkpoint_is_of_its_text) {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("yolk-texts-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    OptimizeOptions options = few_generations(2);
    options.checkpoint = folder / "search";
    ASSERT_OK(search(task(), options));
    options.resume = true;
    EXPECT_OK(search(task(), options));
    EXPECT_THAT(refusal(search(task("abcd"), options)), HasSubstr("hash of the texts"));
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace yolk::hyper
