// SPDX-License-Identifier: Apache-2.0
// Searches of texts in which everything fails, or that have nothing to spend: an error with its cause, never a reward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "fixtures.hpp"
#include "prompt_toys.hpp"
#include "text_fixtures.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/json.hpp"
#include "yolk/optimize.hpp"

namespace yolk::hyper::prompts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::yolk::testing::expect_error;

struct AskedHeat {
    double temperature = 1.6;
    static FieldsOf<AskedHeat> fields() { return {field_of("temperature", &AskedHeat::temperature).between(0.0, 2.0)}; }
};

class gepa_failures : public ::testing::Test {
   protected:
    /// Of a text alone, or of a number as well.
    static System asking(const ModelServer& server, bool with_number = false) {
        const auto prompt =
            hyperfunction("prompt", TextParameter{"Answer."}, [](const Traced& p) { return p; }, {.optimize = true});
        const auto heat =
            hyperfunction("heat", AskedHeat{}, [](const Traced& p) { return to_number(p); }, {.optimize = with_number});
        System system("asks", [=](const Inputs& in) {
            return model_call({{"system", prompt()}, {"user", in["question"]}}, {.temperature = heat()});
        });
        system.use(::yolk::testing::first_device().dispatcher);
        system.use(server.models());
        return system;
    }
    [[nodiscard]] OptimizeOptions options() const {
        OptimizeOptions options{.evolution = {.population = 4, .sigma = 0.3F, .learning_rate = 0.3F}, .generations = 1};
        options.text.emplace();
        options.text->reflector = Models().otherwise(reflecting_.model());
        options.text->budget.metric_calls = 60;
        options.text->numbers = false;
        return options;
    }
    static Metric half() {
        return Metric([](const Value&, const Value&) { return 0.5; });
    }
    std::atomic<int> written_ = 0;
    ModelServer reflecting_{
        [this](const Json&) { return says("```\nBetter " + std::to_string(++written_) + "\n```"); }};
    ModelServer works_{[](const Json& request) { return says(said(request)); }};
    std::vector<Example> examples_{
        {{{"question", "1"}}, "?"}, {{{"question", "2"}}, "?"}, {{{"question", "3"}}, "?"}, {{{"question", "4"}}, "?"}};
    PromptFolder folder_;
};

TEST_F(gepa_failures, a_model_that_refuses_everything_ends_the_search_with_its_words) {
    const ModelServer refuses([](const Json&) { return chat_server::refuse(401, "the key is not known"); });
    for (const double failed : {0.0, 1.0, 5.0}) {  // also where a failure counts as perfect
        System asks = asking(refuses);
        OptimizeOptions fails = options();
        fails.text->failed_score = failed;
        fails.checkpoint = folder_ / "rounds";
        fails.log = folder_ / "log";
        const Result<OptimizeOutcome> made = asks.optimize(examples_, half(), fails);
        EXPECT_THAT(refusal(made),
                    AllOf(HasSubstr("Not one of the"), HasSubstr("status 401"), HasSubstr("the key is not known")));
        EXPECT_LE(refuses.asked().size(), 4U + 3 + 3) << "the start, a minibatch for the parent and one for the child";
        EXPECT_LE(reflecting_.asked().size(), 1U);
        EXPECT_EQ(asks.parameters().find("prompt")->text, "Answer.");
        EXPECT_FALSE(std::filesystem::exists(folder_ / "rounds.0")) << "there is nothing to go on from";
        EXPECT_THAT(contents_of(fails.log), Not(HasSubstr("stopped_by")));
    }
}

TEST_F(gepa_failures, a_metric_that_is_an_error_for_every_example_ends_it_too) {
    const auto with = [&](const std::function<Result<double>()>& reward) {
        System asks = asking(works_);
        return refusal(
            asks.optimize(examples_, Metric([reward](const Value&, const Value&) { return reward(); }), options()));
    };
    EXPECT_THAT(with([]() -> Result<double> { return bad_input("no such column"); }), HasSubstr("no such column"));
    EXPECT_THAT(with([]() -> Result<double> { throw std::runtime_error("no file"); }), HasSubstr("no file"));
    EXPECT_THAT(with([]() -> Result<double> { return std::nan(""); }), HasSubstr("nan"));
    EXPECT_THAT(with([]() -> Result<double> { return HUGE_VAL; }), HasSubstr("inf"));

    System asks = asking(works_);
    Metric mute = half();
    mute.feedback = [](const Value&, const Value&, double) -> Result<std::string> { return bad_input("speechless"); };
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, asks.optimize(examples_, mute, options()));
    EXPECT_EQ(outcome.best_reward, 0.5) << "validation asks for no feedback";
    // The other ways of scoring say it at once.
    const Metric fails([](const Value&, const Value&) -> Result<double> { return bad_input("no such column"); });
    EXPECT_THAT(refusal(asks.evaluate(examples_, fails)), HasSubstr("no such column"));
}

TEST_F(gepa_failures, texts_that_first_make_it_work_are_found) {
    // Only a better instruction gives answers that can be read at all.
    System asks = asking(works_);
    const ModelServer strict([](const Json& request) {
        const std::string prompt = request["messages"].front()["content"].get<std::string>();
        return prompt.starts_with("Better") ? says("fine") : chat_server::refuse(400, "unreadable");
    });
    asks.use(strict.models());
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome outcome, asks.optimize(examples_, half(), options()));
    EXPECT_EQ(outcome.start_reward, 0.0);
    EXPECT_EQ(outcome.best_reward, 0.5);
    EXPECT_THAT(asks.parameters().find("prompt")->text, HasSubstr("Better"));
}

TEST_F(gepa_failures, a_service_that_goes_away_does_not_use_up_the_budget) {
    std::atomic<int> asked = 0;
    const ModelServer goes([&](const Json& request) {
        return ++asked <= 4 + 6 ? says(said(request)) : chat_server::refuse(403, "the account is closed");
    });
    System asks = asking(goes);
    OptimizeOptions fails = options();
    fails.text->budget.metric_calls = 1000;
    fails.checkpoint = folder_ / "rounds";
    const Result<OptimizeOutcome> made = asks.optimize(examples_, half(), fails);
    EXPECT_THAT(refusal(made), AllOf(HasSubstr("last 3 iterations"), HasSubstr("the account is closed")));
    EXPECT_LE(asked, 4 + 6 + 3 * 6);
    EXPECT_TRUE(std::filesystem::exists(folder_ / "rounds.0")) << "what was found before is kept";
}

TEST_F(gepa_failures, replies_that_never_have_a_text_end_the_search) {
    for (const auto& [reply, words] : {std::pair("``````", "has no new text in it"), std::pair("Far too long.", "7")}) {
        std::atomic<int> asked = 0;
        const ModelServer mute([&, text = reply](const Json&) {
            ++asked;
            return says(text);
        });
        const auto prompt = hyperfunction("prompt", TextParameter{.text = "Answer.", .most_bytes = 7},
                                          [](const Traced& p) { return p; }, {.optimize = true});
        System asks("asks", [=](const Inputs& in) {
            return model_call({{"system", prompt()}, {"user", in["question"]}});
        });
        asks.use(works_.models());
        OptimizeOptions fails = options();
        fails.text->reflector = Models().otherwise(mute.model());
        EXPECT_THAT(refusal(asks.optimize(examples_, half(), fails)),
                    AllOf(HasSubstr("3 reflections in a row gave no new text"), HasSubstr(words)));
        EXPECT_EQ(asked, 3);
    }
}

TEST_F(gepa_failures, a_budget_without_one_new_text_is_refused_with_the_least_that_is_needed) {
    const auto refused = [&](const TextBudget& budget, std::uint32_t rounds = 1) {
        System asks = asking(works_);
        OptimizeOptions small = options();
        small.text->budget = budget;
        small.text->rounds = rounds;
        const Result<OptimizeOutcome> made = asks.optimize(examples_, half(), small);
        if (made) return fmt::format("{} iterations", made->text_rounds[0].iterations);
        EXPECT_EQ(made.error().kind, ErrorKind::BadInput);
        return made.error().message;
    };
    // The start, a minibatch of three for parent and child, four validation examples.
    EXPECT_THAT(refused({.metric_calls = 13}), AllOf(HasSubstr("budget of 13"), HasSubstr("Give it 14 at least")));
    EXPECT_THAT(refused({.model_calls = 14}), AllOf(HasSubstr("budget of 14"), HasSubstr("Give it 15 at least")));
    EXPECT_THAT(refused({.metric_calls = 27}, 2), AllOf(HasSubstr("2 rounds"), HasSubstr("Give it 14 at least")));
    EXPECT_THAT(refused({.metric_calls = 1}), HasSubstr("Give it 14 at least"));
    EXPECT_EQ(works_.asked().size(), 0U) << "before anything is asked";
    EXPECT_THAT(refused({.tokens = 1}), HasSubstr("nothing is left"));
    EXPECT_EQ(refused({.metric_calls = 14}), "1 iterations");
    EXPECT_EQ(refused({.model_calls = 15}), "1 iterations");
}

TEST_F(gepa_failures, a_budget_of_one_new_text_is_warned_about) {
    const auto warning_of = [&](const TextBudget& budget) {
        System asks = asking(works_);
        OptimizeOptions small = options();
        small.text->budget = budget;
        ::testing::internal::CaptureStderr();
        const Result<OptimizeOutcome> made = asks.optimize(examples_, half(), small);
        std::string said = ::testing::internal::GetCapturedStderr();
        EXPECT_TRUE(made) << refusal(made);
        if (made && said.empty()) {
            EXPECT_GE(made->text_rounds[0].iterations, 2U);
        }
        return said;
    };
    EXPECT_THAT(warning_of({.metric_calls = 19}), AllOf(HasSubstr("one new text"), HasSubstr("takes 20 at least")));
    EXPECT_THAT(warning_of({.metric_calls = 20}), IsEmpty());
    EXPECT_THAT(warning_of({.model_calls = 21}), AllOf(HasSubstr("one new text"), HasSubstr("takes 22 at least")));
    EXPECT_THAT(warning_of({.model_calls = 22}), IsEmpty());
}

TEST_F(gepa_failures, a_round_that_is_left_out_is_noted) {
    System asks = asking(works_);
    OptimizeOptions two = options();
    two.text->rounds = 2;
    two.text->budget = {.metric_calls = 28};
    two.text->gepa.minibatch = 1;
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome covered, asks.optimize(examples_, half(), two));
    EXPECT_THAT(covered.notes, IsEmpty());
    System again = asking(works_);
    two.text->budget = {.tokens = 200};  // the first round takes more than all of it
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome cut, again.optimize(examples_, half(), two));
    ASSERT_THAT(cut.notes, SizeIs(1));
    EXPECT_THAT(cut.notes[0], HasSubstr("Round 2 searched no prompts"));
}

/// Offers what it is told to.
class Offers final : public TextSearch {
   public:
    explicit Offers(std::vector<double> means, bool scores = true) : means_(std::move(means)), scores_(scores) {}
    [[nodiscard]] std::string name() const override { return "offers"; }
    [[nodiscard]] Result<TextForecast> forecast(const TextObjective&) const override { return TextForecast{}; }
    [[nodiscard]] Result<void> run(TextObjective& objective) override {
        const std::vector<std::uint32_t> ids{0};
        if (scores_) YOLK_TRY_VOID(objective.evaluate(TextSplit::Validation, ids, objective.start(), false));
        for (const double mean : means_) objective.offer({{"prompt", std::to_string(mean)}}, mean);
        return {};
    }

   private:
    std::vector<double> means_;
    bool scores_;
};

TEST_F(gepa_failures, what_is_not_finite_is_never_the_best) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto with = [&](std::vector<double> means) {
        System asks = asking(works_);
        Offers search(std::move(means));
        OptimizeOptions own = options();
        own.text->search = &search;
        const Result<OptimizeOutcome> made = asks.optimize(examples_, half(), own);
        return made ? asks.parameters().find("prompt")->text : refusal(made);
    };
    EXPECT_EQ(with({std::nan(""), 0.25, std::nan("")}), std::to_string(0.25));
    EXPECT_EQ(with({0.25, kInfinity}), std::to_string(0.25));
    EXPECT_EQ(with({-kInfinity, -7.0}), std::to_string(-7.0));
    EXPECT_THAT(with({std::nan("")}), HasSubstr("offered no texts with a finite mean"));
    EXPECT_THAT(with({}), HasSubstr("offered no texts"));
    OptimizeOptions wrong = options();
    System asks = asking(works_);
    for (const double score : {std::nan(""), kInfinity, -kInfinity}) {
        wrong.text->failed_score = score;
        EXPECT_THAT(refusal(asks.optimize(examples_, half(), wrong)), HasSubstr("must be finite"));
    }
    wrong = options();
    wrong.text->gepa.perfect_score = -kInfinity;
    EXPECT_THAT(refusal(asks.optimize(examples_, half(), wrong)), HasSubstr("perfect_score is -inf"));
    // Each score is finite, and their sum is not.
    const Metric huge([](const Value&, const Value&) { return 1e308; });
    EXPECT_THAT(refusal(asks.optimize(examples_, huge, options())), HasSubstr("not finite"));
    EXPECT_THAT(refusal(asks.evaluate(examples_, huge)), HasSubstr("finite"));
}

TEST_F(gepa_failures, a_search_that_scores_nothing_reports_no_reward) {
    const std::unique_ptr<TextSearch> nothing = no_text_search();
    OptimizeOptions own = options();
    own.text->search = nothing.get();
    System asks = asking(works_);
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome none, asks.optimize(examples_, half(), own));
    EXPECT_TRUE(std::isnan(none.start_reward));
    EXPECT_TRUE(std::isnan(none.best_reward));
    ASSERT_THAT(none.notes, SizeIs(1));
    EXPECT_THAT(none.notes[0], HasSubstr("Nothing was scored"));
    EXPECT_EQ(to_json(none)["best_reward"].dump(), "null");

    // The search of numbers that follows has a start, and goes on from its checkpoint.
    own.text->numbers = true;
    own.checkpoint = folder_ / "rounds";
    System numbers = asking(works_, true);
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome some, numbers.optimize(examples_, half(), own));
    EXPECT_EQ(some.start_reward, 0.5);
    EXPECT_EQ(some.best_reward, 0.5);
    EXPECT_THAT(some.notes, IsEmpty());
    own.resume = true;
    System further = asking(works_, true);
    ASSERT_OK_AND_ASSIGN(const OptimizeOutcome resumed, further.optimize(examples_, half(), own));
    EXPECT_EQ(resumed.start_reward, 0.5);
}

}  // namespace
}  // namespace yolk::hyper::prompts
