// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <csignal>

namespace yolk::cli {
namespace {

// A signal handler can reach nothing but globals.
volatile std::sig_atomic_t interrupt_requested = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_signal(int /*number*/) { interrupt_requested = 1; }

void set_handler(void (*handler)(int), int flags) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
    interrupt_requested = 0;
    set_handler(&on_signal, static_cast<int>(SA_RESETHAND) | SA_RESTART);
}
InterruptGuard::~InterruptGuard() { set_handler(SIG_DFL, 0); }
bool InterruptGuard::requested() noexcept { return interrupt_requested != 0; }

}  // namespace yolk::cli
