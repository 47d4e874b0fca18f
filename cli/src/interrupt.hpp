// SPDX-License-Identifier: Apache-2.0
// Ctrl-C during long work: the first one ends it after the running generation, check or repeat, the second one ends the
// process.
#pragma once

namespace yolk::cli {

/// Catches the next SIGINT or SIGTERM while alive. One at a time.
class InterruptGuard {
   public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;
    [[nodiscard]] static bool requested() noexcept;
};

}  // namespace yolk::cli
