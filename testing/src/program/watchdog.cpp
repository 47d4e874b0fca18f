// SPDX-License-Identifier: Apache-2.0
#include "watchdog.hpp"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>

namespace yolk::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct Watched {
    std::mutex mutex;
    std::condition_variable changed;
    std::string test;
    std::optional<Clock::time_point> since;
    std::chrono::seconds limit{420};
};

Watched& watched() {
    static auto* state = new Watched;  // never destroyed: the thread outlives main's statics
    return *state;
}

void run() {
    Watched& state = watched();
    std::unique_lock lock(state.mutex);
    for (;;) {
        if (!state.since.has_value()) {
            state.changed.wait(lock);
            continue;
        }
        const Clock::time_point deadline = *state.since + state.limit;
        if (Clock::now() >= deadline) break;
        state.changed.wait_until(lock, deadline);
    }
    std::fprintf(stderr,
                 "watchdog: the test %s has not ended after %lld seconds; aborting (YOLK_TEST_WATCHDOG_SECONDS changes "
                 "the limit)\n",
                 state.test.c_str(), static_cast<long long>(state.limit.count()));
    std::fflush(nullptr);
    std::abort();
}

}  // namespace

std::chrono::seconds watchdog_limit() {
    const char* text =
        std::getenv("YOLK_TEST_WATCHDOG_SECONDS");  // NOLINT(concurrency-mt-unsafe): before the first thread
    const long given = text != nullptr ? std::strtol(text, nullptr, 10) : 0;
    return std::chrono::seconds(given > 0 ? given : 420);
}

void start_watchdog(std::chrono::seconds limit) {
    {
        const std::scoped_lock lock(watched().mutex);
        watched().limit = limit;
    }
    std::thread(run).detach();
}

void watch(const std::string& test) {
    const std::scoped_lock lock(watched().mutex);
    watched().test = test;
    watched().since = Clock::now();
    watched().changed.notify_one();
}

void stop_watching() {
    const std::scoped_lock lock(watched().mutex);
    watched().since.reset();
    watched().changed.notify_one();
}

}  // namespace yolk::testing
