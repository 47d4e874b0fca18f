// SPDX-License-Identifier: Apache-2.0
// Prompts and numbers of one system, made better by turns, with model and reflection on loopback.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "prompt_toys.hpp"
#include "text_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/optimize.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper::prompts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::yolk::testing::expect_error;

/// Follows two rules of its prompt, and is off by how far the temperature is from .4: "CAPITALS BRIEF off 0.3".
chat_server::Reply follows_rules(const Json& request) {
    const std::string prompt = request["messages"].front()["content"].get<std::string>();
    std::string answer;
    if (has_line(prompt, "use capitals")) answer += "CAPITALS ";
    if (has_line(prompt, "be brief")) answer += "BRIEF ";
    return says(fmt::format("{}off {}", answer, std::abs(request["temperature"].get<double>() - 0.4)));
}

struct Heat {
    double temperature = 1.6;
    static FieldsOf<Heat> fields() { return {field_of("temperature", &Heat::temperature).between(0.0, 2.0)}; }
};

System rules_system(bool optimize_text = true, bool optimize_heat = true) {
    const auto prompt = hyperfunction("prompt", TextParameter{"Answer."}, [](const Traced& p) { return p; },
                                      {.optimize = optimize_text});
    const auto heat =
        hyperfunction("heat", Heat{}, [](const Traced& p) { return to_number(p); }, {.optimize = optimize_heat});
    return {"asks", [=](const Inputs& in) {
                return model_call({{"system", prompt()}, {"user", in["question"]}}, {.temperature = heat()});
            }};
}

Metric rules_metric() {
    const auto has = [](const Value& prediction, const char* word) {
        return prediction.text()->find(word) != std::string::npos;
    };
    Metric metric(
        [has](const Value& prediction, const Value& expected) {
            const std::string& text = *prediction.text();
            const double off = std::strtod(text.c_str() + text.find("off ") + 4, nullptr);
            return (has(prediction, expected.text()->c_str()) ? 0.5 : 0.0) + 0.5 * std::max(0.0, 1.0 - off);
        },
        "rules");
    metric.feedback = [has](const Value& prediction, const Value& expected, double) -> Result<std::string> {
        if (has(prediction, expected.text()->c_str())) return std::string("Fine.");
        return std::string("The answer must ") + (*expected.text() == "BRIEF" ? "be brief" : "use capitals");
    };
    return metric;
}
std::vector<Example> rules_examples() {
    std::vector<Example> examples;
    for (const char* const expected : {"CAPITALS", "BRIEF", "CAPITALS", "BRIEF"})
        examples.push_back({{{"question", "number " + std::to_string(examples.size())}}, expected});
    return examples;
}

class gepa_system : public ::testing::Test {
   protected:
    gepa_system() { models_.otherwise(model_.model({.prices = {.prompt = 1000, .completion = 2000}})); }
    [[nodiscard]] System system(bool optimize_text = true, bool optimize_heat = true) {
        System made = rules_system(optimize_text, optimize_heat);
        made.use(::yolk::testing::first_device().dispatcher);
        made.use(models_);
        return made;
    }
    [[nodiscard]] OptimizeOptions options() const {
        OptimizeOptions options{.evolution = {.population = 16, .sigma = 0.3F, .learning_rate = 0.3F},
                                .generations = 5};
        options.text.emplace();
        options.text->reflector = Models().otherwise(reflecting_.model());
        options.text->budget.metric_calls = 60;
        return options;
    }
    ModelServer model_{&follows_rules};
    ModelServer reflecting_{&adds_a_demand};
    Models models_;
    std::vector<Example> examples_ = rules_examples();
    PromptFolder folder_;
};

std::string prompt_of_system(const System& system) { return system.parameters().find("prompt")->text; }
float heat_of(const System& system) { return system.parameters().find("heat")->values.values()[0]; }

TEST_F(gepa_system, prompts_and_numbers_improve_in_one_call) {
    System asks = system();
    OptimizeOptions both = options();
    both.log = folder_ / "log";
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, asks.optimize(examples_, rules_metric(), both));
    EXPECT_TRUE(has_line(prompt_of_system(asks), "use capitals"));
    EXPECT_TRUE(has_line(prompt_of_system(asks), "be brief"));
    EXPECT_LT(std::abs(heat_of(asks) - 0.4F), 0.8F);
    EXPECT_NEAR(outcome.start_reward, 0.0, 1e-9);  // off by 1.2, without a rule
    EXPECT_GT(outcome.best_reward, 0.6);
    ASSERT_OK_AND_ASSIGN(const Evaluation now, asks.evaluate(examples_, rules_metric()));
    EXPECT_NEAR(now.reward, outcome.best_reward, 1e-6);

    // What it cost is what the servers were asked.
    ASSERT_THAT(outcome.text_rounds, SizeIs(1));
    EXPECT_LE(outcome.text_rounds[0].cost.metric_calls, 60U);
    EXPECT_GT(outcome.cost.tokens, 0U);
    EXPECT_GT(outcome.cost.cost, 0.0);
    const std::size_t asked = model_.asked().size() + reflecting_.asked().size();
    EXPECT_EQ(outcome.cost.model_calls + examples_.size(), asked);  // and once more for `now`
    ASSERT_THAT(outcome.history, SizeIs(5));
    EXPECT_GT(outcome.history.back().model_calls, 0U);

    // One log of both.
    const std::string log = contents_of(both.log);
    EXPECT_THAT(log,
                AllOf(HasSubstr("\"prompts\":\"gepa\""), HasSubstr("\"iteration\":1"), HasSubstr("\"generation\":4")));
    ASSERT_OK_AND_ASSIGN(const std::vector<TextRunReport> runs, read_text_log(log, "the log"));
    EXPECT_THAT(text_report_page(runs, "asks"), HasSubstr("use capitals"));
    EXPECT_THAT(log, ::testing::Not(HasSubstr(kModelKey)));
}

TEST_F(gepa_system, prompts_alone_and_numbers_alone) {
    System prompts_only = system();
    OptimizeOptions of_prompts = options();
    of_prompts.text->numbers = false;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome texts, prompts_only.optimize(examples_, rules_metric(), of_prompts));
    EXPECT_EQ(heat_of(prompts_only), 1.6F);
    EXPECT_TRUE(has_line(prompt_of_system(prompts_only), "use capitals"));
    EXPECT_EQ(texts.generations, 0U);
    EXPECT_NEAR(texts.best_reward, 0.5, 1e-9);

    System without_heat = system(true, false);  // no numbers are optimized
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome same, without_heat.optimize(examples_, rules_metric(), options()));
    EXPECT_EQ(same.best_reward, texts.best_reward);

    System numbers_only = system();
    OptimizeOptions of_numbers = options();
    of_numbers.text.reset();
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome numbers, numbers_only.optimize(examples_, rules_metric(), of_numbers));
    EXPECT_EQ(prompt_of_system(numbers_only), "Answer.");
    EXPECT_LT(heat_of(numbers_only), 1.6F);
    EXPECT_GT(numbers.cost.model_calls, 0U);
    EXPECT_THAT(numbers.text_rounds, SizeIs(0));

    System none = system();
    OptimizeOptions of_none = options();
    const std::unique_ptr<TextSearch> nothing = no_text_search();
    of_none.text->search = nothing.get();
    of_none.text->numbers = false;
    ASSERT_OK(none.optimize(examples_, rules_metric(), of_none));
    EXPECT_EQ(prompt_of_system(none), "Answer.");
}

TEST_F(gepa_system, a_dry_run_asks_no_model) {
    System asks = system();
    OptimizeOptions both = options();
    both.dry_run = true;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome expected, asks.optimize(examples_, rules_metric(), both));
    EXPECT_EQ(model_.asked().size() + reflecting_.asked().size(), 0U);
    ASSERT_TRUE(expected.text_forecast.has_value());
    EXPECT_EQ(expected.text_forecast->metric_calls, 60U);
    EXPECT_EQ(expected.stopped_by, "dry run");
    both.dry_run = false;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome made, asks.optimize(examples_, rules_metric(), both));
    EXPECT_LE(made.cost.model_calls, expected.cost.model_calls);
    EXPECT_GT(2 * made.cost.model_calls, expected.cost.model_calls);  // not just anything above it
}

/// Of a log: steps of numbers have times, and what an interrupted one cost counts twice.
std::string lines_about_prompts(const std::string& log) {
    std::string lines;
    for (const std::string& line : lines_of(log)) {
        if (line.find("\"iteration\"") != std::string::npos || line.find("\"search\"") != std::string::npos)
            lines += line + "\n";
    }
    return lines;
}

TEST_F(gepa_system, rounds_go_on_after_any_search) {
    OptimizeOptions two = options();
    two.text->rounds = 2;
    two.text->budget.metric_calls = 80;
    two.text->gepa.stop_when_perfect = false;
    two.generations = 2;
    two.checkpoint_every = 1;
    OptimizeOptions at_once = two;
    at_once.log = folder_ / "whole";
    System whole = system();
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome expected, whole.optimize(examples_, rules_metric(), at_once));
    ASSERT_THAT(expected.text_rounds, SizeIs(2));
    EXPECT_EQ(expected.generations, 4U);

    // Stopped in the middle of a prompt search, and then in the middle of a search of numbers.
    OptimizeOptions some = two;
    some.checkpoint = folder_ / "rounds";
    some.log = folder_ / "log";
    some.text->on_step = [](const TextStep& step) { return step.iteration < 2; };
    System stopped = system();
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome first, stopped.optimize(examples_, rules_metric(), some));
    EXPECT_EQ(first.stopped_by, "caller");
    some.resume = true;
    some.text->on_step = {};
    some.on_generation = [](const GenerationReport&) { return false; };
    System further = system();
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome second, further.optimize(examples_, rules_metric(), some));
    some.on_generation = {};
    System end = system();
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome last, end.optimize(examples_, rules_metric(), some));
    EXPECT_EQ(prompt_of_system(end), prompt_of_system(whole));
    EXPECT_EQ(heat_of(end), heat_of(whole));
    EXPECT_EQ(last.best_reward, expected.best_reward);
    EXPECT_EQ(last.start_reward, expected.start_reward);
    EXPECT_EQ(last.text_rounds.size(), 2U);
    EXPECT_EQ(last.text_rounds[0].cost.metric_calls, expected.text_rounds[0].cost.metric_calls);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "rounds.0"));
    EXPECT_TRUE(lines_about_prompts(contents_of(some.log)) == lines_about_prompts(contents_of(at_once.log)));
    EXPECT_EQ(lines_of(lines_about_prompts(contents_of(some.log))).size(), 2 + 6 + 13U);

    some.generations = 3;
    System other = system();
    EXPECT_TRUE(
        expect_error(other.optimize(examples_, rules_metric(), some), ErrorKind::BadInput, "steps is 2; now it is 3"));
    EXPECT_EQ(prompt_of_system(other), "Answer.");
}

TEST_F(gepa_system, the_order_in_which_answers_arrive_does_not_matter) {
    std::vector<std::string> logs;
    for (const bool delayed : {false, true}) {
        // The earlier an example, the later its answer.
        const ModelServer server([delayed](const Json& request) {
            chat_server::Reply reply = follows_rules(request);
            if (delayed) reply.delay = std::chrono::milliseconds(2 * ('4' - said(request).back()));
            return reply;
        });
        System asks = system();
        asks.use(server.models());
        OptimizeOptions prompts = options();
        prompts.text->numbers = false;
        prompts.log = folder_ / "log";
        ASSERT_OK(asks.optimize(examples_, rules_metric(), prompts));
        logs.push_back(contents_of(prompts.log));
    }
    EXPECT_EQ(logs[0], logs[1]);
    EXPECT_THAT(logs[0], HasSubstr("\"accepted\":true,\"parents\""));
}

TEST_F(gepa_system, a_round_that_the_budget_does_not_cover_is_left_out) {
    System asks = system();
    OptimizeOptions two = options();
    two.text->rounds = 2;
    two.text->numbers = false;
    two.text->budget = {.tokens = 300};  // the first round takes more than its half
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, asks.optimize(examples_, rules_metric(), two));
    ASSERT_THAT(outcome.text_rounds, SizeIs(2));
    EXPECT_GT(outcome.text_rounds[0].cost.tokens(), 150U);
    EXPECT_EQ(outcome.text_rounds[1].stopped_by, "budget");
    EXPECT_EQ(outcome.text_rounds[1].cost.tokens(), 0U);
    EXPECT_EQ(outcome.best_reward, outcome.text_rounds[0].best_mean);
}

TEST_F(gepa_system, bad_input_is_refused_in_words) {
    System asks = system();
    OptimizeOptions wrong = options();
    wrong.text->rounds = 0;
    EXPECT_THAT(refusal(asks.optimize(examples_, rules_metric(), wrong)), HasSubstr("rounds"));
    wrong = options();
    wrong.text->budget.metric_calls = 3;
    EXPECT_THAT(refusal(asks.optimize(examples_, rules_metric(), wrong)), HasSubstr("14 at least"));
    wrong = options();
    wrong.evolution.freeze = {"promt"};
    EXPECT_THAT(refusal(asks.optimize(examples_, rules_metric(), wrong)), HasSubstr("promt"));
    wrong.evolution.freeze = {"prompt"};
    EXPECT_THAT(refusal(asks.optimize(examples_, rules_metric(), wrong)), HasSubstr("no text"));
    System without_text = system(false);
    EXPECT_THAT(refusal(without_text.optimize(examples_, rules_metric(), options())), HasSubstr("no text"));
    EXPECT_EQ(model_.asked().size(), 0U);
}

TEST_F(gepa_system, a_server_that_fails_ends_it_and_leaves_the_system) {
    const ModelServer broken([](const Json&) { return chat_server::refuse(400, "no reflection today"); });
    System asks = system();
    OptimizeOptions fails = options();
    fails.text->reflector = Models().otherwise(broken.model());
    const Result<OptimizeOutcome> made = asks.optimize(examples_, rules_metric(), fails);
    EXPECT_THAT(refusal(made), AllOf(HasSubstr("3 reflections in a row"), HasSubstr("no reflection today")));
    EXPECT_EQ(prompt_of_system(asks), "Answer.");

    // An example whose model call fails scores the worst; the others go on.
    const ModelServer some([](const Json& request) {
        return said(request) == "number 1" ? chat_server::refuse(400, "not that one") : follows_rules(request);
    });
    System partly = system();
    partly.use(some.models());
    OptimizeOptions goes_on = options();
    goes_on.text->numbers = false;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, partly.optimize(examples_, rules_metric(), goes_on));
    EXPECT_TRUE(has_line(prompt_of_system(partly), "use capitals"));
    EXPECT_NEAR(outcome.best_reward, 0.375, 1e-9);
}

TEST_F(gepa_system, reflection_without_models_of_its_own_goes_by_its_tag) {
    System asks = system();
    models_.on_tag("reflection", reflecting_.model());
    OptimizeOptions routed = options();
    routed.text->reflector.reset();
    routed.text->numbers = false;
    ASSERT_OK(asks.optimize(examples_, rules_metric(), routed));
    EXPECT_TRUE(has_line(prompt_of_system(asks), "be brief"));
    EXPECT_GT(reflecting_.asked().size(), 0U);
}

}  // namespace
}  // namespace yolk::hyper::prompts
