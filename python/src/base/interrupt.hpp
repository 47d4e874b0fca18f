// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while the library works without the interpreter's lock.
#pragma once

namespace yolk::python {

/// While one is alive, SIGINT asks the library to end (yolk/core/stop.hpp) besides doing what it did before. Several
/// may be alive, on several threads: a request ends the work of all.
class Interruptible {
   public:
    Interruptible();
    ~Interruptible();
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

    [[nodiscard]] static bool requested() noexcept;
    /// Runs Python's handlers of the signals that came in; throws what they raise, KeyboardInterrupt as a rule. Needs
    /// the interpreter's lock.
    static void raise_if_requested();
    /// A thread that begins something while the interpreter goes stops here, for good; not the one that ends it, whose
    /// own handlers may still work. Needs the interpreter's lock.
    static void stop_if_ending() noexcept;
    /// Before the interpreter goes: asks all work to end, and waits for it. Needs the interpreter's lock, and lets it
    /// go meanwhile.
    static void end_all();
};

}  // namespace yolk::python
