// SPDX-License-Identifier: Apache-2.0
// Computations on the host that may take minutes and cannot look at a stop request themselves (yolk/stop.hpp).
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "yolk/stop.hpp"

namespace yolk {

/// As long as it lives, a stop request that meets such a computation ends the process: `last_words` says what there is
/// to say, on the thread that waits for the computation, and returns the exit code. Nothing is destroyed, since the
/// computation still runs. One at a time.
class EndsAtStop {
   public:
    explicit EndsAtStop(std::function<int()> last_words);
    ~EndsAtStop();
    EndsAtStop(const EndsAtStop&) = delete;
    EndsAtStop& operator=(const EndsAtStop&) = delete;
};

namespace detail {
/// Does not return where there is an EndsAtStop.
void end_at_stop();
}  // namespace detail

/// Does the work and gives its value, on a thread of its own where there is one. Where nothing says how to end the
/// process, it is waited for whatever is requested. What the work throws comes out.
template <class Work>
auto long_work(Work&& work) -> std::invoke_result_t<Work&> {
    using Value = std::invoke_result_t<Work&>;
    constexpr std::chrono::milliseconds kBetweenLooks{100};
    std::packaged_task<Value()> task(std::ref(work));
    std::future<Value> done = task.get_future();
    std::thread worker;
    try {
        worker = std::thread([&task] { task(); });
    } catch (const std::system_error&) {
        task();
        return done.get();
    }
    while (done.wait_for(kBetweenLooks) != std::future_status::ready) {
        if (stop_requested()) detail::end_at_stop();
    }
    worker.join();
    return done.get();
}

}  // namespace yolk
