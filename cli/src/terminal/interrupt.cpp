// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <string_view>

#include "yolk/stop.hpp"

namespace yolk::cli {
namespace {

constexpr std::array kCaught{SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPIPE, SIGALRM};
constexpr unsigned kGraceSeconds = 2;
/// `timeout` and init systems send a signal to a process and again to its group, a moment later.
constexpr std::int64_t kSameRequestMilliseconds = 300;

// A signal handler can reach nothing but globals.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
std::atomic<std::int64_t> signalled_at{0};  ///< milliseconds of a clock that never stands at 0; 0: not signalled
std::atomic<bool> guarded{false};
std::atomic<bool> may_give_up{false};
std::atomic<bool> closed_output{false};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

std::int64_t now_milliseconds() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000 + 1;
}

void on_request(int number) {
    const int error_number = errno;
    const std::int64_t now = now_milliseconds();
    std::int64_t first = 0;
    if (signalled_at.compare_exchange_strong(first, now)) {
        request_stop();
        if (may_give_up) ::alarm(kGraceSeconds);
    } else if (number != SIGHUP && number != SIGXCPU &&
               now - first >= kSameRequestMilliseconds) {  // both come again by themselves
        ::signal(number, SIG_DFL);
        ::raise(number);  // delivered when this returns
    }
    errno = error_number;
}

/// A write to a closed pipe then fails with EPIPE, which print_line sees; unlike SIG_IGN no child inherits it.
void on_broken_pipe(int /*number*/) {}

void on_alarm(int /*number*/) {
    if (!may_give_up) return;
    constexpr std::string_view kText = "yolk: error: Ended by a signal before the first result; nothing was saved.\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
    ::_exit(1);
}

}  // namespace

InterruptGuard::InterruptGuard(Early early) {
    signalled_at = 0;
    clear_stop();
    closed_output = false;
    guarded = true;
    may_give_up = early == Early::GivesUp;
    for (std::size_t i = 0; i < kCaught.size(); ++i) {
        ::sigaction(kCaught[i], nullptr, &before_[i]);
        if (before_[i].sa_handler == SIG_IGN && kCaught[i] != SIGALRM) continue;
        struct sigaction action {};
        action.sa_handler = kCaught[i] == SIGPIPE ? &on_broken_pipe : kCaught[i] == SIGALRM ? &on_alarm : &on_request;
        action.sa_flags = SA_RESTART;
        sigemptyset(&action.sa_mask);
        ::sigaction(kCaught[i], &action, nullptr);
    }
}

InterruptGuard::~InterruptGuard() {
    has_results();
    for (std::size_t i = 0; i < kCaught.size(); ++i) ::sigaction(kCaught[i], &before_[i], nullptr);
    guarded = false;
}

void InterruptGuard::has_results() noexcept {
    if (may_give_up.exchange(false)) ::alarm(0);
}

bool InterruptGuard::requested() noexcept { return signalled_at != 0 || closed_output; }
bool InterruptGuard::gives_up() noexcept { return may_give_up && requested(); }
void InterruptGuard::output_closed() noexcept {
    if (guarded) closed_output = true;
}
bool InterruptGuard::ended_by_closed_output() noexcept { return closed_output; }

}  // namespace yolk::cli
