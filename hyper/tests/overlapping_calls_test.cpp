// SPDX-License-Identifier: Apache-2.0
// Host calls that do not wait for each other run at the same time, and nothing else changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <source_location>

#include "fixtures.hpp"
#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

/// Calls that wait until `size` of them are there: none returns where they do not overlap.
class Meeting {
   public:
    explicit Meeting(int size) : size_(size) {}
    Result<double> attend(double x) {
        std::unique_lock lock(mutex_);
        const int all = size_ * (arrived_ / size_ + 1);
        ++arrived_;
        arrival_.notify_all();
        if (!arrival_.wait_for(lock, 60s, [&] { return arrived_ >= all; })) return bad_input("nobody else came");
        return x * 2.0;
    }

   private:
    int size_;
    int arrived_ = 0;
    std::mutex mutex_{};
    std::condition_variable arrival_{};
};

TEST(overlap, of_independent_calls_in_one_run) {
    Meeting meeting(2);
    const auto meet = hyperfunction("meet", NoParameters{}, [&](double x) { return meeting.attend(x); });
    System system("pair", [=](const Inputs& in) {
        const Traced a = meet(in["x"]), b = meet(in["x"] + 1.0);
        return a * b;  // reads both; the calls are under way
    });
    EXPECT_EQ(system.call({{"x", 1.0}}).value(), Value(8.0));
}

TEST(overlap, of_chains) {
    // Two chains of three calls: each call waits for the one beside it. What lies between is computed on the way.
    Meeting meeting(2);
    const auto meet = hyperfunction("meet", NoParameters{}, [&](double x) { return meeting.attend(x); });
    System system("chains", [=](const Inputs& in) {
        const auto chain = [&](const Traced& x) { return meet(meet(meet(x) + 1.0) * 3.0); };
        const Traced a = chain(in["x"]), b = chain(in["x"] * 10.0);
        return format("{} and {}", {a, b});
    });
    EXPECT_EQ(system.call({{"x", 1.0}}).value(), Value("36.0 and 252.0"));
}

TEST(overlap, of_examples) {
    Meeting meeting(3);
    const auto meet = hyperfunction("meet", NoParameters{}, [&](double x) { return meeting.attend(x); });
    System system("three", [=](const Inputs& in) { return meet(meet(in["x"]) + 1.0) - 1.0; });
    std::vector<Example> examples;
    for (const double x : {1.0, 2.0, 3.0}) examples.push_back({{{"x", x}}, 4.0 * x + 1.0});
    ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, system.evaluate(examples, exact_match()));
    EXPECT_EQ(evaluation.reward, 1.0);
    EXPECT_EQ(system.function_runs(), 3U);
}

TEST(overlap, leaves_the_graph_as_it_is) {
    const auto half = hyperfunction("half", NoParameters{}, [](double x) { return x / 2.0; });
    const auto words =
        hyperfunction("words", NoParameters{}, [](double x) { return std::string(x > 1 ? "big" : "small"); });
    const auto row = hyperfunction("row", NoParameters{}, [](double x) {
        return Tensor::vector({static_cast<float>(x), 1.0F, 2.0F});
    });
    const auto program = [=](const Inputs& in) {
        const Traced a = half(in["x"]);
        const Traced tensor = row(a);
        const Traced told = words(a + 1.0);
        return pack({{"sum", sum(tensor * 2.0)}, {"told", told}, {"last", index(tensor, -1)}});
    };
    System together("s", program), in_order("s", program);
    in_order.overlap_host_calls(false);
    ASSERT_OK_AND_ASSIGN(const TracedExample a, together.trace({{{"x", 3.0}}, {}}));
    ASSERT_OK_AND_ASSIGN(const TracedExample b, in_order.trace({{{"x", 3.0}}, {}}));
    EXPECT_OK(validate(a.graph));
    EXPECT_EQ(signature(a.graph).value(), signature(b.graph).value());
    EXPECT_EQ(a.values, b.values);
    EXPECT_EQ(together.call({{"x", 3.0}}).value(), in_order.call({{"x", 3.0}}).value());
}

TEST(overlap, values_that_are_read_are_waited_for) {
    const auto half = hyperfunction("half", NoParameters{}, [](double x) { return x / 2.0; });
    std::vector<Traced> kept;
    System system("reads", [&](const Inputs& in) {
        const Traced a = half(in["x"]);
        kept.push_back(half(a));
        if (a.number() > 1.0) return a * 10.0;
        return a;
    });
    EXPECT_EQ(system.call({{"x", 4.0}}).value(), Value(20.0));
    EXPECT_EQ(system.call({{"x", 1.0}}).value(), Value(0.5));
    EXPECT_EQ(kept[0].read(), Value(1.0)) << "values outlive their run";
}

TEST(overlap, the_first_error_in_the_order_of_the_equations_is_the_one) {
    // The second call fails at once; the first one fails after it.
    std::atomic<bool> second_failed = false;
    const auto fails = hyperfunction("fails", NoParameters{}, [&](double x) -> Result<double> {
        if (x == 1.0) {
            static_cast<void>(soon([&] { return second_failed.load(); }));
            return bad_input("the first");
        }
        second_failed = true;
        return bad_input("the second");
    });
    System system("two", [=](const Inputs& in) {
        const Traced a = fails(in["x"]), b = fails(in["x"] + 1.0);
        return a + b;
    });
    EXPECT_THAT(refusal(system.call({{"x", 1.0}})), AllOf(HasSubstr("the first"), HasSubstr("'fails'")));
    // Of a call that fails, and an equation behind it that cannot be computed.
    System mixed("mixed", [=](const Inputs& in) {
        const Traced late = fails(in["x"]);  // this error comes last
        const Traced bad = in["x"] + in["t"];
        return late + bad;
    });
    EXPECT_THAT(refusal(mixed.call({{"x", 1.0}, {"t", "text"}})), HasSubstr("the first"));
    EXPECT_THAT(refusal(mixed.call({{"x", 2.0}, {"t", "text"}})), HasSubstr("the second"));
    const auto fine = hyperfunction("fine", NoParameters{}, [](double x) { return x; });
    System behind("behind", [=](const Inputs& in) {
        const Traced late = fine(in["x"]);
        return fine(late + in["t"]);  // cannot be computed when it has come
    });
    EXPECT_THAT(refusal(behind.call({{"x", 1.0}, {"t", "text"}})),
                AllOf(HasSubstr("add"), HasSubstr("text"), HasSubstr("overlapping_calls_test.cpp:")));
}

TEST(overlap, the_first_example_with_an_error_is_the_one) {
    const auto picky = hyperfunction("picky", NoParameters{}, [](double x) -> Result<double> {
        if (x > 1.0) return bad_input("{} is too large", x);
        return x;
    });
    System system("s", [=](const Inputs& in) { return picky(in["x"]); });
    std::vector<Example> examples;
    for (const double x : {1.0, 2.0, 3.0}) examples.push_back({{{"x", x}}, x});
    EXPECT_THAT(refusal(system.evaluate(examples, exact_match())),
                AllOf(HasSubstr("example 1"), HasSubstr("2 is too large"), Not(HasSubstr("3 is"))));
}

TEST(overlap, can_be_turned_off) {
    // With one after another, what each call finds is what the program says.
    std::vector<double> seen;
    const auto note = hyperfunction("note", NoParameters{}, [&](double x) {
        seen.push_back(x);
        return x;
    });
    System system("s", [=](const Inputs& in) {
        const Traced a = note(in["x"]), b = note(in["x"] + 1.0), c = note(in["x"] + 2.0);
        return a + b + c;
    });
    system.overlap_host_calls(false);
    const std::vector<Example> examples{{{{"x", 1.0}}, 6.0}, {{{"x", 5.0}}, 18.0}};
    EXPECT_EQ(system.evaluate(examples, exact_match())->reward, 1.0);
    EXPECT_EQ(seen, (std::vector<double>{1, 2, 3, 5, 6, 7}));
    // depends orders two calls where the others overlap.
    seen.clear();
    System ordered("o", [=](const Inputs& in) {
        const Traced first = note(in["x"]);
        return note(depends(in["x"] + 1.0, {first}));
    });
    EXPECT_EQ(ordered.call({{"x", 1.0}}).value(), Value(2.0));
    EXPECT_EQ(seen, (std::vector<double>{1, 2}));
}

TEST(overlap, retries_and_time_outs_hold) {
    std::atomic<int> calls = 0;
    const auto flaky = hyperfunction("flaky", NoParameters{},
                                     [&](double x) -> Result<double> {
                                         if (++calls < 3) return bad_input("not yet");
                                         return x;
                                     },
                                     {.host = {.retries = 2, .backoff = 0ms}});
    System system("s", [=](const Inputs& in) { return flaky(in["x"]); });
    EXPECT_EQ(system.call({{"x", 7.0}}).value(), Value(7.0));
    EXPECT_EQ(calls, 3);
    calls = -100;
    const auto line = std::to_string(std::source_location::current().line() + 1);
    System failing("f", [=](const Inputs& in) { return flaky(in["x"]); });
    EXPECT_THAT(refusal(failing.call({{"x", 7.0}})),
                AllOf(HasSubstr("3 attempts"), HasSubstr("overlapping_calls_test.cpp:" + line)));
}

TEST(overlap, calls_know_their_line) {
    const auto throws =
        hyperfunction("throws", NoParameters{}, [](double) -> double { throw std::runtime_error("no"); });
    for (const bool overlaps : {true, false}) {
        const auto line = std::to_string(std::source_location::current().line() + 1);
        System system("s", [=](const Inputs& in) { return throws(in["x"]); });
        system.overlap_host_calls(overlaps);
        EXPECT_THAT(refusal(system.call({{"x", 1.0}})),
                    AllOf(HasSubstr("'throws'"), HasSubstr("no"), HasSubstr("overlapping_calls_test.cpp:" + line)))
            << overlaps;
    }
    const auto line = std::to_string(std::source_location::current().line() + 1);
    System many("m", [=](const Inputs& in) { return throws(in["x"], in["x"]); });
    EXPECT_THAT(refusal(many.call({{"x", 1.0}})), HasSubstr("overlapping_calls_test.cpp:" + line));
}

}  // namespace
}  // namespace yolk::hyper
