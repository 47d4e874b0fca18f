// SPDX-License-Identifier: Apache-2.0
#include "base/interrupt.hpp"

#include <nanobind/nanobind.h>

#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/lock.hpp"
#include "yolk/stop.hpp"

namespace yolk::python {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a signal's handler has nothing else
std::mutex guard;
std::condition_variable all_ended;
int alive = 0;               // under guard
bool ending = false;         // under guard; the interpreter is
std::thread::id ends;        // under guard; the thread that ends it
struct sigaction before {};  // written before the handler is installed
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void ask_to_end(int signal) {
    request_stop();
    if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(signal);
}

/// Whoever ignores it, or has no handler of the interpreter's, keeps that.
bool has_handler(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

}  // namespace

Interruptible::Interruptible() {
    stop_if_ending();
    const std::scoped_lock lock(guard);
    if (alive++ > 0 || ending) return;
    clear_stop();
    struct sigaction now {};
    ::sigaction(SIGINT, nullptr, &now);
    before = now;
    if (!has_handler(now)) return;
    struct sigaction ours {};
    ours.sa_handler = ask_to_end;
    sigemptyset(&ours.sa_mask);
    ::sigaction(SIGINT, &ours, nullptr);
}

Interruptible::~Interruptible() {
    bool stays = false;
    {
        const std::scoped_lock lock(guard);
        stays = ending;
        if (--alive == 0) {
            if (has_handler(before)) ::sigaction(SIGINT, &before, nullptr);
            if (!ending) clear_stop();
            all_ended.notify_all();
        }
    }
    // A daemon's thread, which has the lock again, and whose work was ended with the process. It must not come back:
    // what it raises would be printed while the interpreter goes down, which ends in an abort.
    if (stays) stop_if_ending();
}

void Interruptible::stop_if_ending() noexcept {
    {
        const std::scoped_lock lock(guard);
        if (!ending || std::this_thread::get_id() == ends) return;
    }
    const WithoutLock released;
    for (;;) ::pause();
}

bool Interruptible::requested() noexcept { return stop_requested(); }

void Interruptible::raise_if_requested() {
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
}

void Interruptible::end_all() {
    const WithoutLock released;
    std::unique_lock lock(guard);
    ending = true;
    ends = std::this_thread::get_id();
    if (alive > 0) request_stop();
    all_ended.wait(lock, [] { return alive == 0; });
}

}  // namespace yolk::python
