// SPDX-License-Identifier: Apache-2.0
// GEPA from iteration to iteration: what is accepted, what it costs, where it ends, and what its log and page say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures.hpp"
#include "prompt_toys.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/prompts.hpp"

namespace yolk::hyper::prompts {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::yolk::testing::expect_error;

/// Scores by the length of the prompt: "aa" is twice as good as "a".
ToyScore by_length(double of_letter) {
    return [of_letter](TextSplit, std::uint32_t id, const Texts& texts) {
        const auto letters = static_cast<double>(texts.at("prompt").size());
        TextScore score{.score = of_letter * letters};
        score.records = {
            {.component = "prompt", .inputs = "in " + std::to_string(id), .output = "out", .feedback = "longer"}};
        return score;
    };
}
Reflector one_letter_more() {
    return [](const chat::Request& request) {
        return Result<chat::Answer>(
            chat::Answer{.content = "```\n" + text_in_prompt(request.messages.back().content) + "a\n```",
                         .usage = {.prompt_tokens = 10, .completion_tokens = 5}});
    };
}
ToyObjective letters(Reflector reflector, double of_letter = 0.1) {
    return {{{"prompt", "a"}}, 4, 6, by_length(of_letter), std::move(reflector)};
}

TEST(gepa_run, a_child_has_to_be_better_on_the_minibatch) {
    ToyObjective objective = letters(one_letter_more(), 0.0);  // all prompts score 0
    ASSERT_OK(gepa({.iterations = 3})->run(objective));
    ASSERT_THAT(objective.steps, SizeIs(4));
    EXPECT_TRUE(objective.steps[0].accepted);
    for (std::size_t i = 1; i < 4; ++i) {
        EXPECT_FALSE(objective.steps[i].accepted);  // as good as its parent
        EXPECT_THAT(objective.steps[i].why, HasSubstr("not better"));
        EXPECT_EQ(objective.steps[i].sum, objective.steps[i].parent_sums.front());
    }
    EXPECT_EQ(objective.cost().metric_calls, 6U + 3 * 6);  // no child was scored on the validation split
    EXPECT_EQ(objective.best->first.at("prompt"), "a");
    EXPECT_EQ(objective.stopped_by, "iterations");
}

TEST(gepa_run, what_is_accepted_is_scored_on_the_validation_split) {
    ToyObjective objective = letters(one_letter_more());
    ASSERT_OK(gepa({.iterations = 2})->run(objective));
    ASSERT_THAT(objective.steps, SizeIs(3));
    const TextStep& step = objective.steps[2];
    EXPECT_EQ(step.kind, TextStepKind::Mutation);
    EXPECT_THAT(step.parents, ElementsAre(1));
    EXPECT_THAT(step.components, ElementsAre("prompt"));
    EXPECT_THAT(step.ids, SizeIs(3));
    EXPECT_EQ(step.candidate, 2U);
    EXPECT_THAT(step.scores, SizeIs(6));
    EXPECT_EQ(step.texts.at("prompt"), "aaa");
    EXPECT_EQ(step.front_size, 1U);
    EXPECT_EQ(step.best, 2U);
    EXPECT_EQ(step.cost.metric_calls, 6U + 2 * (3 + 3 + 6));
    EXPECT_EQ(step.cost.model_calls, 2U);
    EXPECT_EQ(step.cost.tokens(), 30U);
    EXPECT_EQ(objective.best->first.at("prompt"), "aaa");
}

TEST(gepa_run, a_perfect_parent_is_not_reflected_on) {
    // Perfect on the train examples, not on the validation examples.
    const ToyScore score = [](TextSplit split, std::uint32_t, const Texts&) {
        return TextScore{.score = split == TextSplit::Train ? 1.0 : 0.5, .records = {{.feedback = "fine"}}};
    };
    ToyObjective objective({{"prompt", "a"}}, 4, 6, score, one_letter_more());
    ASSERT_OK(gepa({.iterations = 2})->run(objective));
    EXPECT_EQ(objective.cost().model_calls, 0U);
    EXPECT_THAT(objective.steps.back().why, HasSubstr("perfect"));

    ToyObjective asked({{"prompt", "a"}}, 4, 6, score, one_letter_more());
    ASSERT_OK(gepa({.iterations = 2, .skip_perfect = false})->run(asked));
    EXPECT_EQ(asked.cost().model_calls, 2U);
    // With nothing to learn and only model calls limited, it does not go on for ever.
    ToyObjective idle({{"prompt", "a"}}, 4, 6, score, one_letter_more());
    idle.run.budget.model_calls = 10;
    ASSERT_OK(gepa()->run(idle));
    EXPECT_EQ(idle.stopped_by, "idle");
}

TEST(gepa_run, replies_without_a_new_text_cost_no_evaluation) {
    for (const auto& [reply, why] : {std::pair{"```\na\n```", "old one"}, std::pair{"``````", "no new text"}}) {
        ToyObjective objective = letters(always_says(reply));
        ASSERT_OK(gepa({.iterations = 1})->run(objective));
        EXPECT_THAT(objective.steps.back().why, HasSubstr(why));
        EXPECT_EQ(objective.cost().metric_calls, 6U + 3);
    }
}

TEST(gepa_run, components_take_turns_or_all_change) {
    const ToyScore score = [](TextSplit, std::uint32_t, const Texts& texts) {
        TextScore scored{.score = 0.01 * static_cast<double>(texts.at("p").size() + texts.at("q").size())};
        for (const char* const name : {"p", "q"}) scored.records.push_back({.component = name, .feedback = "longer"});
        return scored;
    };
    ToyObjective turns({{"p", "a"}, {"q", "a"}}, 4, 4, score, one_letter_more());
    ASSERT_OK(gepa({.iterations = 4, .parent = ParentChoice::Best})->run(turns));
    std::vector<std::string> changed;
    for (std::size_t i = 1; i < turns.steps.size(); ++i) changed.push_back(turns.steps[i].components.front());
    EXPECT_THAT(changed, ElementsAre("p", "q", "p", "q"));  // a child goes on where its parent is
    EXPECT_EQ(turns.best->first, (Texts{{"p", "aaa"}, {"q", "aaa"}}));

    ToyObjective all({{"p", "a"}, {"q", "a"}}, 4, 4, score, one_letter_more());
    ASSERT_OK(gepa({.iterations = 1, .component = ComponentChoice::All})->run(all));
    EXPECT_EQ(all.best->first, (Texts{{"p", "aa"}, {"q", "aa"}}));
    EXPECT_EQ(all.cost().model_calls, 2U);

    // A component that no example of the minibatch used.
    const ToyScore of_p = [&](TextSplit split, std::uint32_t id, const Texts& texts) {
        TextScore scored = score(split, id, texts);
        scored.records.pop_back();
        return scored;
    };
    ToyObjective one({{"p", "a"}, {"q", "a"}}, 4, 4, of_p, one_letter_more());
    ASSERT_OK(gepa({.iterations = 2, .parent = ParentChoice::Best})->run(one));
    EXPECT_THAT(one.steps.back().why, HasSubstr("record of 'q'"));
}

/// Two components that are better one at a time: "a1" at even validation examples, "b1" at odd ones. Together they
/// score `both` on each of these, and nothing on the train examples, so that no mutation leads there.
ToyObjective apart(double both) {
    const ToyScore score = [both](TextSplit split, std::uint32_t id, const Texts& texts) {
        const bool a = texts.at("a") == "a1";
        const bool b = texts.at("b") == "b1";
        TextScore scored;
        if (split == TextSplit::Train) {
            scored.score = a && b ? 0.0 : a || b ? 0.5 : 0.375;
        } else {
            scored.score = a && b ? both : !a && !b ? 0.375 : a == (id % 2 == 0) ? 0.875 : 0.25;
        }
        scored.records = {{.feedback = "more"}};
        return scored;
    };
    return {{{"a", "a0"}, {"b", "b0"}}, 4, 8, score, [](const chat::Request& request) {
                std::string text = text_in_prompt(request.messages.back().content);
                text.back() = '1';
                return Result<chat::Answer>(chat::Answer{.content = "```\n" + text + "\n```"});
            }};
}

TEST(gepa_run, a_merge_has_to_be_as_good_as_the_better_parent) {
    // Of the five examples the better parent is good at three: 3 x .875 + 2 x .25 = 5 x .625.
    for (const double both : {0.625, 0.5}) {
        ToyObjective objective = apart(both);
        ASSERT_OK(gepa({.iterations = 16})->run(objective));
        std::vector<TextStep> merges;
        std::ranges::copy_if(objective.steps, std::back_inserter(merges),
                             [](const TextStep& step) { return step.kind == TextStepKind::Merge; });
        ASSERT_THAT(merges, SizeIs(1)) << both;  // what was refused is not tried again
        EXPECT_EQ(std::max(merges[0].parent_sums[0], merges[0].parent_sums[1]), 3.125);
        EXPECT_EQ(merges[0].sum, 5 * both);
        EXPECT_EQ(merges[0].accepted, both == 0.625);
        EXPECT_EQ(merges[0].ancestor, 0U);
        EXPECT_THAT(merges[0].ids, SizeIs(5));
        EXPECT_EQ(objective.best->second, both == 0.625 ? 0.625 : 0.5625);
    }
    ToyObjective none = apart(0.625);
    ASSERT_OK(gepa({.most_merges = 0, .iterations = 16})->run(none));
    EXPECT_TRUE(std::ranges::none_of(none.steps, [](const TextStep& s) { return s.kind == TextStepKind::Merge; }));
}

TEST(gepa_run, an_example_that_failed_tells_the_model_why) {
    std::string asked;
    const ToyScore score = [](TextSplit split, std::uint32_t, const Texts&) {
        return split == TextSplit::Train ? TextScore{.error = "the tool wants a number"} : TextScore{.score = 0.5};
    };
    ToyObjective objective({{"prompt", "a"}}, 4, 4, score, [&](const chat::Request& request) {
        asked = request.messages.back().content;
        return Result<chat::Answer>(chat::Answer{.content = "```\nb\n```"});
    });
    ASSERT_OK(gepa({.iterations = 1})->run(objective));
    EXPECT_THAT(asked, HasSubstr("This example failed: the tool wants a number"));
}

TEST(gepa_run, every_budget_ends_it_with_the_best_kept) {
    struct Case {
        TextBudget budget;
        std::function<bool(const TextCost&)> kept;
    };
    const std::vector<Case> cases{
        {{.metric_calls = 60}, [](const TextCost& c) { return c.metric_calls <= 60 && c.metric_calls > 40; }},
        {{.model_calls = 5}, [](const TextCost& c) { return c.model_calls == 5; }},
        // Known afterwards: the iteration that reaches it is the last.
        {{.tokens = 40}, [](const TextCost& c) { return c.tokens() == 45; }},
        {{.cost = 35e-6}, [](const TextCost& c) { return c.prompt_tokens == 40; }},
    };
    for (const Case& each : cases) {
        ToyObjective objective = letters(one_letter_more(), 0.001);
        objective.run.budget = each.budget;
        ASSERT_OK(gepa()->run(objective));
        EXPECT_EQ(objective.stopped_by, "budget");
        EXPECT_TRUE(each.kept(objective.cost())) << to_line(to_json(objective.cost()));
        EXPECT_EQ(objective.best->first.at("prompt").size(), objective.steps.back().iteration + 1);
    }
    ToyObjective perfect = letters(one_letter_more(), 0.25);
    perfect.run.budget.metric_calls = 1000;
    ASSERT_OK(gepa()->run(perfect));
    EXPECT_EQ(perfect.stopped_by, "perfect");
    EXPECT_EQ(perfect.best->first.at("prompt"), "aaaa");
}

TEST(gepa_run, model_calls_of_the_system_count) {
    ToyObjective objective = letters(one_letter_more(), 0.001);
    objective.calls_per_example = 2;
    objective.run.budget.model_calls = 100;
    ASSERT_OK(gepa()->run(objective));
    EXPECT_LE(objective.cost().model_calls, 100U);
    EXPECT_GT(objective.cost().model_calls, 70U);
    EXPECT_EQ(objective.stopped_by, "budget");
}

TEST(gepa_run, bad_input_is_refused_before_anything_is_evaluated) {
    const auto refused = [](GepaOptions options, const std::function<void(ToyObjective&)>& change) {
        ToyObjective objective = letters(one_letter_more());
        objective.run.budget.metric_calls = 100;
        change(objective);
        const std::string message = refusal(gepa(std::move(options))->run(objective));
        EXPECT_EQ(objective.evaluations, 0U) << message;
        return message;
    };
    const auto nothing = [](ToyObjective&) {};
    EXPECT_THAT(refused({}, [](ToyObjective& o) { o.run.budget.metric_calls = 5; }),
                AllOf(HasSubstr("budget of 5 metric calls"), HasSubstr("takes 6"), HasSubstr("18 at least")));
    EXPECT_THAT(refused({},
                        [](ToyObjective& o) {
                            o.run.budget.model_calls = 11;
                            o.calls_per_example = 2;
                        }),
                AllOf(HasSubstr("budget of 11 model calls"), HasSubstr("up to 12"), HasSubstr("37 at least")));
    EXPECT_THAT(refused({}, [](ToyObjective& o) { o.run.budget = {}; }), HasSubstr("Nothing ends"));
    EXPECT_THAT(refused({}, [](ToyObjective& o) { o.run.budget.cost = -1; }), HasSubstr("negative"));
    EXPECT_THAT(refused({}, [](ToyObjective& o) { o.run.resume = true; }), HasSubstr("no checkpoint"));
    EXPECT_THAT(refused({.minibatch = 0}, nothing), HasSubstr("minibatch"));
    EXPECT_THAT(refused({.epsilon = 1.5}, nothing), HasSubstr("epsilon is 1.5"));
    EXPECT_THAT(refused({.top_k = 0}, nothing), HasSubstr("top_k"));
    EXPECT_THAT(refused({.reflection_prompt = "Make it better: {text}"}, nothing), HasSubstr("no {records}"));
    EXPECT_THAT(refused({.failed_reflections = 0}, nothing), HasSubstr("failed_reflections"));
    ToyObjective no_text({}, 4, 4, by_length(1), one_letter_more());
    EXPECT_THAT(refusal(gepa({.iterations = 1})->run(no_text)), HasSubstr("no text"));
    ToyObjective no_examples({{"prompt", "a"}}, 0, 4, by_length(1), one_letter_more());
    EXPECT_THAT(refusal(gepa({.iterations = 1})->run(no_examples)), HasSubstr("0 train"));
    ToyObjective bytes({{"prompt", "\xff"}}, 4, 4, by_length(1), one_letter_more());
    EXPECT_THAT(refusal(gepa({.iterations = 1})->run(bytes)), HasSubstr("UTF-8"));
}

TEST(gepa_run, scores_that_are_not_finite_are_an_error) {
    const ToyScore score = [](TextSplit, std::uint32_t id, const Texts&) {
        return TextScore{.score = id == 2 ? std::nan("") : 0.0};
    };
    ToyObjective objective({{"prompt", "a"}}, 4, 4, score, one_letter_more());
    EXPECT_THAT(refusal(gepa({.iterations = 1})->run(objective)), HasSubstr("validation example 2"));
}

TEST(gepa_run, a_model_that_does_not_answer_ends_it_after_a_few_attempts) {
    const Reflector fails = [](const chat::Request&) {
        return Result<chat::Answer>(io_error("The server cannot be reached.", 0));
    };
    ToyObjective objective = letters(fails);
    objective.run.budget.metric_calls = 1000;
    const Result<void> ran = gepa()->run(objective);
    EXPECT_TRUE(expect_error(ran, ErrorKind::Failed, "3 reflections in a row"));
    EXPECT_THAT(refusal(ran), HasSubstr("cannot be reached"));
    EXPECT_EQ(objective.steps.back().iteration, 3U);

    // One failure between answers is an iteration that came to nothing.
    int calls = 0;
    ToyObjective goes_on = letters([&](const chat::Request& request) {
        return ++calls % 2 == 0 ? Result<chat::Answer>(io_error("Lost.", 0)) : one_letter_more()(request);
    });
    ASSERT_OK(gepa({.iterations = 6})->run(goes_on));
    EXPECT_EQ(goes_on.best->first.at("prompt"), "aaaa");
    EXPECT_THAT(goes_on.steps[2].why, HasSubstr("Lost."));
}

TEST(gepa_run, a_forecast_bounds_what_the_run_takes) {
    ToyObjective objective = letters(one_letter_more(), 0.001);
    objective.calls_per_example = 2;
    const auto check = [&](const GepaOptions& options, TextBudget budget) {
        ToyObjective run = objective;
        run.run.budget = budget;
        const Result<TextForecast> forecast = gepa(options)->forecast(run);
        EXPECT_TRUE(forecast) << refusal(forecast);
        EXPECT_EQ(run.evaluations + run.cost().model_calls, 0U);
        EXPECT_TRUE(gepa(options)->run(run));
        EXPECT_EQ(forecast->start_metric_calls, 6U);
        EXPECT_LE(run.cost().metric_calls, forecast->metric_calls.value());
        EXPECT_LE(run.cost().model_calls, forecast->model_calls.value());
        EXPECT_LE(run.steps.back().iteration, forecast->reflection_calls.value());
        return *forecast;
    };
    const TextForecast by_metric = check({}, {.metric_calls = 60});
    EXPECT_EQ(by_metric.metric_calls, 60U);
    EXPECT_EQ(by_metric.reflection_calls, 18U);  // (60 - 6) / 3
    EXPECT_EQ(by_metric.model_calls, 60U * 2 + 18);
    EXPECT_EQ(check({}, {.model_calls = 99}).model_calls, 99U);
    const TextForecast by_iterations = check({.iterations = 4}, {});
    EXPECT_EQ(by_iterations.metric_calls, 6U + 4 * 12);
    EXPECT_EQ(by_iterations.reflection_calls, 4U);
    // Tokens do not say how many calls they are.
    objective.run.budget = {.tokens = 1000};
    ASSERT_OK_AND_ASSIGN(const TextForecast open, gepa()->forecast(objective));
    EXPECT_FALSE(open.metric_calls.has_value());
    objective.run.budget = {.metric_calls = 5};
    EXPECT_TRUE(expect_error(gepa()->forecast(objective), ErrorKind::BadInput, "Give it 18 at least"));
}

TEST(gepa_run, the_default_search_does_nothing) {
    ToyObjective objective = letters(one_letter_more());
    ASSERT_OK(no_text_search()->run(objective));
    EXPECT_EQ(objective.evaluations, 0U);
    ASSERT_OK_AND_ASSIGN(const TextForecast forecast, no_text_search()->forecast(objective));
    EXPECT_EQ(forecast.model_calls, 0U);
}

std::size_t times_in(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

TEST(gepa_run, the_log_becomes_a_page) {
    const PromptFolder folder;
    ToyObjective objective({{"reader", "Read <b>it</b>.\nAll."}, {"writer", "Write."}}, kHalves, kHalves, &halves_score,
                           [](const chat::Request& request) {
                               const Json json{{"messages", {{{"content", request.messages.back().content}}}}};
                               return Result<chat::Answer>(chat::Answer{.content = adds_a_demand(json).content});
                           });
    objective.run.budget.metric_calls = 250;
    objective.run.log = folder / "log.jsonl";
    ASSERT_OK(gepa({.seed = 1})->run(objective));
    ASSERT_EQ(objective.stopped_by, "perfect");
    ASSERT_OK_AND_ASSIGN(const std::vector<TextRunReport> runs, read_text_log(contents_of(objective.run.log), "a log"));
    ASSERT_THAT(runs, SizeIs(1));
    EXPECT_EQ(runs[0].stopped_by, "perfect");
    ASSERT_THAT(runs[0].steps, SizeIs(objective.steps.size()));
    for (std::size_t i = 0; i < objective.steps.size(); ++i)
        EXPECT_EQ(to_line(to_json(runs[0].steps[i])), to_line(to_json(objective.steps[i])));
    EXPECT_EQ(runs[0].candidates.back().kind, TextStepKind::Merge);

    const std::string page = text_report_page(runs, "a <system>");
    EXPECT_THAT(page, HasSubstr("Prompts of a &lt;system&gt;"));
    EXPECT_THAT(page, HasSubstr("Read &lt;b&gt;it&lt;/b&gt;.\nAll."));
    EXPECT_THAT(page, Not(HasSubstr("<b>it</b>")));
    EXPECT_THAT(page, HasSubstr(kReaderRule));
    EXPECT_THAT(page, HasSubstr("class=\"line merge\""));
    for (const char* const tag : {"table", "tr", "td", "th", "details", "summary", "pre", "a", "svg", "body", "html"}) {
        const std::string name(tag);
        EXPECT_EQ(times_in(page, "<" + name + ">") + times_in(page, "<" + name + " "),
                  times_in(page, "</" + name + ">"))
            << tag;
    }
    EXPECT_EQ(times_in(page, "<details"), runs[0].candidates.size());
    EXPECT_EQ(times_in(page, "class=\"line"), 4U);  // two children, and the two parents of their merge
    EXPECT_THAT(page, AllOf(Not(HasSubstr("http")), Not(HasSubstr("<script"))));  // it loads nothing
}

TEST(gepa_run, damaged_logs_are_refused_with_the_line) {
    const auto message = [](const std::string& log) { return refusal(read_text_log(log, "'log'")); };
    EXPECT_THAT(message(""), HasSubstr("no prompt search"));
    EXPECT_THAT(message("{\"step\": 1}\n"), HasSubstr("no prompt search"));
    const std::string begin = "{\"search\":\"gepa\",\"seed\":1,\"perfect_score\":1.0}\n";
    EXPECT_THAT(message(begin), HasSubstr("no prompt search"));
    EXPECT_THAT(message(begin + "{\"iteration\":0,\n"), HasSubstr("line 2"));
    EXPECT_THAT(message("{\"iteration\":0,\"kind\":\"start\"}\n"), HasSubstr("line 1"));
    TextStep step{.accepted = true, .candidate = 0, .mean = 1.0, .scores = {1.0}, .texts = {{"p", "a"}}};
    const std::string start = to_line(to_json(step)) + "\n";
    EXPECT_TRUE(read_text_log(begin + start + "{\"iteration\":", "'log'"));  // a line that is being written
    step.parents = {7};
    EXPECT_THAT(message(begin + start + to_line(to_json(step)) + "\n"),
                AllOf(HasSubstr("line 3"), HasSubstr("parents")));
}

}  // namespace
}  // namespace yolk::hyper::prompts
