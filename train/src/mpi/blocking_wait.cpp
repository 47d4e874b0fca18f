// SPDX-License-Identifier: Apache-2.0
#include "blocking_wait.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>
#include <utility>

#include "yolk/internal/core/wait_notice.hpp"
#include "yolk/log.hpp"
#include "yolk/stop.hpp"

namespace yolk::train {

BlockingWait::BlockingWait(std::chrono::nanoseconds limit, std::function<std::string()> missing)
    : limit_(limit), missing_(std::move(missing)) {
    try {
        thread_ = std::thread([this] { watch(); });
    } catch (const std::system_error&) {  // it then waits without a word
    }
}

BlockingWait::~BlockingWait() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void BlockingWait::watch() {
    constexpr std::chrono::milliseconds kBetweenLooks{200};
    constexpr std::chrono::milliseconds kOnceAskedToEnd{1500};
    const auto begun = std::chrono::steady_clock::now();
    std::chrono::milliseconds asked{0};
    // Now and then: when the time is over, others that waited as long may have ended a moment before.
    constexpr std::chrono::seconds kBetweenNames{2};
    std::chrono::nanoseconds names_at{0};
    std::string missing;
    WaitNotice notice(missing_, limit_);
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kBetweenLooks, [this] { return over_; })) {
        const auto waited = std::chrono::steady_clock::now() - begun;
        if (waited >= names_at) {
            missing = missing_();
            names_at = waited + kBetweenNames;
        }
        notice.look(waited);
        if (stop_requested()) asked += kBetweenLooks;
        if (waited < limit_ && asked < kOnceAskedToEnd) continue;
        log(LogLevel::Error,
            fmt::format("{} did not come within {}. A process that has printed its help, runs another program, is "
                        "stopped, or has no MPI never comes. This rank ends.",
                        missing, duration_text(std::chrono::duration_cast<std::chrono::seconds>(waited))));
        std::_Exit(1);
    }
}

}  // namespace yolk::train
