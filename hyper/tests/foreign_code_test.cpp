// SPDX-License-Identifier: Apache-2.0
#include "yolk/internal/hyper/foreign_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "traced_graphs.hpp"
#include "yolk/stop.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper {
namespace {

using ::testing::HasSubstr;

TEST(foreign_code, an_error_that_is_taken_leaves_no_trace) {
    const Graph graph = traced("taken", {{"x", tensor_type({3})}}, [](std::span<const Traced> in) {
        const std::vector<Traced> wrong{in[0] + Tensor::filled({7}, 1.0F)};
        const std::optional<Error> error = take_error(wrong);
        EXPECT_TRUE(error);
        EXPECT_THAT(error ? error->message : "", HasSubstr("foreign_code_test.cpp:"));
        EXPECT_FALSE(take_error(wrong)) << "it is gone";
        return TracedValues{in[0] * 2.0};
    });
    EXPECT_EQ(graph.equations.size(), 1U);
    EXPECT_EQ(run(graph, {vector({1, 2, 3})}), std::vector<Value>{vector({2, 4, 6})});
}

TEST(foreign_code, outside_of_runs_the_results_have_the_error) {
    const std::vector<Traced> wrong{sum(Traced("text"))};
    const auto error = take_error(wrong);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message, HasSubstr("sum"));
    EXPECT_FALSE(take_error(std::vector<Traced>{Traced(1.0)}));
}

TEST(foreign_code, tells_literals_and_values_of_runs_that_are_over) {
    std::optional<Traced> kept;
    static_cast<void>(traced("kept", {{"x", number_type()}}, [&](std::span<const Traced> in) {
        EXPECT_EQ(literal_of(in[0]), nullptr);
        EXPECT_EQ(error_of(in[0]), nullptr);
        kept = in[0];
        return TracedValues{in[0]};
    }));
    const Traced literal = Traced(2.0) * Traced(3.0);
    ASSERT_NE(literal_of(literal), nullptr);
    EXPECT_EQ(*literal_of(literal), Value(6.0));
    EXPECT_EQ(error_of(literal), nullptr);
    ASSERT_NE(error_of(*kept), nullptr);
    EXPECT_THAT(error_of(*kept)->message, HasSubstr("outside of it"));
}

std::atomic<int> waits = 0;

TEST(foreign_code, host_calls_are_waited_for_through_the_waiter) {
    wait_for_host_calls_through([](const std::function<void()>& wait) {
        ++waits;
        wait();
    });
    // Comes back only once it is waited for: a call that is over by then is taken without waiting.
    const auto tool = hyperfunction("tool", NoParameters{}, [](double x) {
        for (int i = 0; i < 20'000 && waits == 0; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return Tensor::filled({3}, static_cast<float>(x));
    });
    System system("waits", [=](const Inputs& in) {
        const Traced answer = tool(in["x"]);
        return answer * static_cast<double>(answer.shape()[0]);
    });
    const auto result = system.call({{"x", 2.0}});
    wait_for_host_calls_through(nullptr);
    ASSERT_OK(result);
    EXPECT_EQ(*result, vector({6, 6, 6}));
    EXPECT_GT(waits, 0);
}

TEST(foreign_code, loops_end_at_a_stop_request) {
    const Graph endless = traced("endless", {{"x", number_type()}}, [](std::span<const Traced> in) {
        return TracedValues{while_loop(
            in[0], [](const Traced& x) { return less(x, 1e3); }, [](const Traced& x) { return x + 1.0; }, 1'000'000)};
    });
    const LoopsHeedStop heeding;
    EXPECT_OK(call(endless, {.inputs = {0.0}}));
    request_stop();
    const auto ended = call(endless, {.inputs = {0.0}});
    clear_stop();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().kind, ErrorKind::Cancelled);
}

}  // namespace
}  // namespace yolk::hyper
