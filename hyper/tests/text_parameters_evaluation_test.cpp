// SPDX-License-Identifier: Apache-2.0
// A system under other texts: scores, failures and records by example.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "fixtures.hpp"
#include "text_systems.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/testing/device_test.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

/// "route" prefixes the question, "answer" the route with the question; fails where the question is "bad".
struct Asking {
    Hyperfunction<TextParameter> route = hyperfunction("route", TextParameter{"R"},
                                                       [](const Traced& p, const Traced& q) {
                                                           return format("{}({})", {p, q});
                                                       },
                                                       {.optimize = true});
    Hyperfunction<TextParameter> answer = hyperfunction(
        "answer", TextParameter{"A"},
        [](const TextParameter& p, const std::string& routed, const std::string& question) -> Result<std::string> {
            if (question == "bad") return bad_input("no answer to that");
            return p.text + "[" + routed + "]";
        },
        {.optimize = true});
    System system{"asking",
                  [route = route, answer = answer](const Inputs& in) { return answer(route(in["q"]), in["q"]); }};
    std::vector<Example> examples{{{{"q", "x"}}, "A[R(x)]"}, {{{"q", "bad"}}, "?"}, {{{"q", "y"}}, "B[R(y)]"}};
    Asking() {
        EXPECT_OK(system.add(route));
        EXPECT_OK(system.add(answer));
    }
};

// A judge that waits for the other judges: where examples were scored one after another, nobody would come.
TEST(text_evaluation, metrics_that_wait_are_asked_together) {
    Asking asking;
    std::vector<Example> examples(5, asking.examples[0]);
    std::mutex mutex;
    std::condition_variable all_here;
    int asked = 0;
    bool met = true;
    Metric metric([&](const Value& prediction, const Value& expected) {
        std::unique_lock lock(mutex);
        if (++asked == 1) {  // alone: it is what shows that the metric waits
            lock.unlock();
            std::this_thread::sleep_for(20ms);
        } else {
            all_here.notify_all();
            met &= all_here.wait_for(lock, 20s, [&] { return asked == 5; });
        }
        return prediction == expected ? 1.0 : 0.0;
    });
    ASSERT_OK_AND_ASSIGN(const auto scores, asking.system.evaluate_with({}, examples, metric));
    EXPECT_TRUE(met);
    for (const TextScore& score : scores) EXPECT_EQ(score.score, 1.0);
    asked = 0;
    metric.concurrent = false;
    metric.per_example = [&](const Value&, const Value&) -> Result<double> {
        EXPECT_EQ(++asked, 1);
        std::this_thread::sleep_for(5ms);
        --asked;
        return 1.0;
    };
    ASSERT_OK(asking.system.evaluate_with({}, examples, metric));
}

TEST(text_evaluation, other_texts_leave_the_system_as_it_is) {
    Asking asking;
    const Metric metric = exact_match();
    ASSERT_OK_AND_ASSIGN(const auto own, asking.system.evaluate_with({}, asking.examples, metric));
    ASSERT_EQ(own.size(), 3U);
    EXPECT_EQ(own[0].score, 1.0);
    EXPECT_EQ(own[0].prediction, Value("A[R(x)]"));
    EXPECT_EQ(own[2].score, 0.0);
    ASSERT_OK_AND_ASSIGN(const auto other, asking.system.evaluate_with({{"answer", "B"}}, asking.examples, metric));
    EXPECT_EQ(other[0].score, 0.0);
    EXPECT_EQ(other[2].score, 1.0);
    EXPECT_THAT(other[2].records, IsEmpty()) << "they were not asked for";
    EXPECT_EQ(asking.system.parameters().find("answer")->text, "A");
    EXPECT_EQ(asking.system.call({{"q", "z"}}).value(), Value("A[R(z)]"));
}

TEST(text_evaluation, a_failed_example_does_not_stop_the_others) {
    Asking asking;
    for (const bool overlaps : {true, false}) {
        asking.system.overlap_host_calls(overlaps);
        ASSERT_OK_AND_ASSIGN(const auto scores, asking.system.evaluate_with({}, asking.examples, exact_match(),
                                                                            {.capture = true, .failed_score = -5.0}));
        ASSERT_EQ(scores.size(), 3U);
        EXPECT_FALSE(scores[0].error);
        ASSERT_TRUE(scores[1].error);
        EXPECT_THAT(*scores[1].error, AllOf(HasSubstr("example 1"), HasSubstr("no answer to that")));
        EXPECT_EQ(scores[1].score, -5.0);
        ASSERT_EQ(scores[1].records.size(), 2U) << "what led to it";
        for (const TextRecord& record : scores[1].records) {
            EXPECT_EQ(record.inputs, Value(*Record::create({{"q", "bad"}})));
            ASSERT_EQ(record.calls.size(), 1U) << record.component;
            EXPECT_EQ(record.calls[0].name, "answer");
            EXPECT_EQ(record.calls[0].inputs, Value(*Record::create({{"route", "R(bad)"}, {"q", "bad"}})));
            EXPECT_FALSE(record.calls[0].output);
            EXPECT_EQ(record.output, Value(""));
            EXPECT_EQ(record.score, -5.0);
            EXPECT_THAT(record.feedback, AllOf(HasSubstr("failed"), HasSubstr("no answer to that")));
        }
    }
    Metric picky([](const Value& prediction, const Value&) -> double {
        if (prediction == Value("A[R(y)]")) throw std::runtime_error("unreadable");
        return 1.0;
    });
    ASSERT_OK_AND_ASSIGN(const auto scores, asking.system.evaluate_with({}, asking.examples, picky));
    EXPECT_EQ(scores[0].score, 1.0);
    ASSERT_TRUE(scores[2].error);
    EXPECT_THAT(*scores[2].error, HasSubstr("unreadable"));
}

TEST(text_evaluation, records_are_examples_with_the_calls_that_used_each_text) {
    Asking asking;
    Metric metric = exact_match();
    metric.feedback = [](const Value& prediction, const Value& expected, double score) {
        return *prediction.text() + (score > 0 ? " is " : " is not ") + *expected.text();
    };
    ASSERT_OK_AND_ASSIGN(
        const auto scores,
        asking.system.evaluate_with({{"route", "S"}}, std::span(asking.examples).first(1), metric, {.capture = true}));
    ASSERT_EQ(scores.size(), 1U);
    const std::vector<TextRecord>& records = scores[0].records;
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[0].component, "route");  // makes a text of it, which "answer" is given
    EXPECT_EQ(records[1].component, "answer");
    for (const TextRecord& record : records) {
        EXPECT_EQ(record.inputs, Value(*Record::create({{"q", "x"}})));
        ASSERT_EQ(record.calls.size(), 1U);
        EXPECT_EQ(record.calls[0].name, "answer");
        EXPECT_EQ(record.calls[0].inputs, Value(*Record::create({{"route", "S(x)"}, {"q", "x"}})));
        EXPECT_EQ(record.calls[0].output, Value("A[S(x)]"));
        EXPECT_EQ(record.output, Value("A[S(x)]"));
        EXPECT_EQ(record.score, 0.0);
    }
    for (const TextRecord& record : records) EXPECT_EQ(record.feedback, "A[S(x)] is not A[R(x)]");

    metric.feedback = {};
    ASSERT_OK_AND_ASSIGN(const auto plain, asking.system.evaluate_with({}, std::span(asking.examples).first(1), metric,
                                                                       {.capture = true}));
    EXPECT_EQ(plain[0].records[0].feedback, "This got a score of 1.");
    metric.feedback = [](const Value&, const Value&, double) -> Result<std::string> { return bad_input("speechless"); };
    ASSERT_OK_AND_ASSIGN(const auto mute, asking.system.evaluate_with({}, std::span(asking.examples).first(1), metric,
                                                                      {.capture = true}));
    ASSERT_TRUE(mute[0].error);
    EXPECT_THAT(*mute[0].error, HasSubstr("speechless"));
}

TEST(text_evaluation, names_of_operands_are_unique) {
    const auto join = hyperfunction("join", TextParameter{"+"},
                                    [](const TextParameter& p, const std::string& a, const std::string& b, double c) {
                                        return a + p.text + b + std::to_string(static_cast<int>(c));
                                    });
    System system("joins", [=](const Inputs& in) { return join(in["q"], in["q"], Traced(3.0)); });
    ASSERT_OK(system.add(join));
    const std::vector<Example> examples{{{{"q", "x"}}, "x+x3"}};
    ASSERT_OK_AND_ASSIGN(const auto scores, system.evaluate_with({}, examples, exact_match(), {.capture = true}));
    EXPECT_EQ(scores[0].score, 1.0);
    EXPECT_EQ(scores[0].records[0].calls[0].inputs,
              Value(*Record::create({{"q", "x"}, {"q (1)", "x"}, {"input 2", 3.0}})));
}

TEST(text_evaluation, calls_in_loops_have_records) {
    const auto step = hyperfunction("step", TextParameter{"ab"}, [](const TextParameter& p, double n) {
        return n + static_cast<double>(p.text.size());
    });
    const auto done = hyperfunction("done", TextParameter{"!"}, [](const TextParameter& p, double n) {
        return std::to_string(static_cast<int>(n)) + p.text;
    });
    System system("loops", [=](const Inputs& in) {
        const Traced bound(3.0);
        return done(while_loop(
            in["n"], [&](const Traced& n) { return less(n, bound); }, [&](const Traced& n) { return step(n); }, 10));
    });
    ASSERT_OK(system.add(step));
    ASSERT_OK(system.add(done));
    const std::vector<Example> examples{{{{"n", 0.0}}, "4!"}};
    for (const bool overlaps : {true, false}) {
        system.overlap_host_calls(overlaps);
        ASSERT_OK_AND_ASSIGN(const auto scores, system.evaluate_with({}, examples, exact_match(), {.capture = true}));
        EXPECT_EQ(scores[0].score, 1.0) << scores[0].error.value_or("");
        ASSERT_EQ(scores[0].records.size(), 2U);
        const TextRecord& of_step = scores[0].records[0];
        EXPECT_EQ(of_step.component, "step");
        ASSERT_EQ(of_step.calls.size(), 2U);
        EXPECT_EQ(of_step.calls[1].inputs, Value(*Record::create({{"input 0", 2.0}})));
        EXPECT_EQ(of_step.calls[1].output, Value(4.0));
        EXPECT_EQ(scores[0].records[1].component, "done");
        ASSERT_EQ(scores[0].records[1].calls.size(), 1U);
        EXPECT_EQ(scores[0].records[1].calls[0].name, "done");
    }
}

TEST(text_evaluation, examples_overlap) {
    std::mutex mutex;
    std::condition_variable arrival;
    int arrived = 0;
    const auto meet =
        hyperfunction("meet", TextParameter{"hi"}, [&](const TextParameter& p, double) -> Result<std::string> {
            std::unique_lock lock(mutex);
            ++arrived;
            arrival.notify_all();
            if (!arrival.wait_for(lock, 60s, [&] { return arrived >= 3; })) return bad_input("nobody else came");
            return p.text;
        });
    System system("three", [=](const Inputs& in) { return meet(in["x"]); });
    ASSERT_OK(system.add(meet));
    std::vector<Example> examples;
    for (const double x : {1.0, 2.0, 3.0}) examples.push_back({{{"x", x}}, "hello"});
    ASSERT_OK_AND_ASSIGN(const auto scores, system.evaluate_with({{"meet", "hello"}}, examples, exact_match()));
    for (const TextScore& score : scores) EXPECT_EQ(score.score, 1.0) << score.error.value_or("");
}

TEST(text_evaluation, refuses_what_cannot_be) {
    Asking asking;
    const auto with = [&](const Texts& texts) {
        return refusal(asking.system.evaluate_with(texts, asking.examples, exact_match()));
    };
    EXPECT_THAT(with({{"nobody", "x"}}), HasSubstr("no hyperfunction 'nobody'"));
    EXPECT_THAT(with({{"answer", "B"}, {"route", std::string(20'000, 'x')}}), HasSubstr("at most 16384"));
    EXPECT_EQ(asking.system.parameters().find("answer")->text, "A") << "what was set before the refusal is put back";
    EXPECT_THAT(refusal(asking.system.evaluate_with({}, {}, exact_match())), HasSubstr("no examples"));
    const Metric whole([](std::span<const Value>, std::span<const Value>) { return 1.0; });
    EXPECT_THAT(refusal(asking.system.evaluate_with({}, asking.examples, whole)), HasSubstr("all predictions at once"));
}

}  // namespace
}  // namespace yolk::hyper
