// SPDX-License-Identifier: Apache-2.0
// Requests to end long work, which it follows after the running generation, check or repeat, with everything saved:
// SIGINT (Ctrl-C), SIGTERM, SIGHUP (a terminal that closes), SIGXCPU (the soft limit on processor time), and a reader
// of standard output that goes away. A second signal ends the process at once. What a parent ignores (as nohup does)
// stays ignored; SIGQUIT keeps its meaning.
#pragma once

#include <array>
#include <csignal>

namespace yolk::cli {

/// Catches these while alive; one at a time.
class InterruptGuard {
   public:
    /// What a signal means before has_results(): work that Waits ends where it would have ended later; work that
    /// GivesUp has nothing to save yet, so no further kernel is compiled for it, and where a driver call does not come
    /// back within four seconds, the process ends with exit code 1.
    enum class Early { Waits, GivesUp };
    explicit InterruptGuard(Early early = Early::Waits);
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
    void has_results() noexcept;

    [[nodiscard]] static bool requested() noexcept;
    [[nodiscard]] static bool gives_up() noexcept;
    /// Nobody reads standard output any more. Counts as a request while a guard lives.
    static void output_closed() noexcept;
    /// Whether that has ended the work of a guard, alive or not.
    [[nodiscard]] static bool ended_by_closed_output() noexcept;

   private:
    std::array<struct sigaction, 6> before_{};
};

}  // namespace yolk::cli
