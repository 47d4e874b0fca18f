// SPDX-License-Identifier: Apache-2.0
// A tuned system that several threads call at the same time: a server's, or a test harness's.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "yolk/internal/hyper/control.hpp"
#include "yolk/internal/testing/device_test.hpp"
#include "yolk/system.hpp"

namespace yolk::hyper::system_threads {
namespace {

/// Host functions with and without the pool, a text, a layer, a branch, and what warns: it reads past the tracer.
System several() {
    const auto half = hyperfunction("half", LmParam{.temperature = 0.5},
                                    [](const LmParam& p, double x) { return p.temperature * x; });
    const auto slow = hyperfunction("slow", NoParameters{}, [](double x) { return x + 1.0; },
                                    {.host = {.timeout = std::chrono::milliseconds(60000)}});
    const auto prompt = hyperfunction("prompt", TextParameter{"abc"}, [](const TextParameter& text, double x) {
        return x + static_cast<double>(text.text.size());
    });
    const auto layer = hyperfunction("layer", VectorWeight{.size = 1, .values = Tensor::vector({2.0F})},
                                     [](const Traced& w, const Traced& x) { return w * x; });
    return System("several", [=](const Inputs& in) {
        const Traced x = layer(prompt(slow(half(in["x"]))));
        return switch_on(less(sum(x), 10.0), {[&] { return x; }, [&] { return x * 2.0; }});
    });
}

TEST(threads, call_one_system_at_the_same_time) {
    System system = several();  // no call has registered its functions: the first ones do
    constexpr int kThreads = 8, kCalls = 25;
    std::latch start(kThreads);
    std::atomic<int> wrong = 0, failed = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            start.arrive_and_wait();
            for (int i = 0; i < kCalls; ++i) {
                const double x = t * kCalls + i;
                const auto answer = system.call({{"x", x}});
                if (!answer) ++failed;
                const double once = 2.0 * (0.5 * x + 4.0);
                const auto wanted = static_cast<float>(once < 10.0 ? 2.0 * once : once);
                if (answer && *answer != Value(Tensor::vector({wanted}))) ++wrong;
            }
        });
    }
    threads.clear();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(system.function_runs(), std::uint64_t{kThreads} * kCalls);
    EXPECT_EQ(system.parameters().groups().size(), 4U) << "each once";
}

}  // namespace
}  // namespace yolk::hyper::system_threads
