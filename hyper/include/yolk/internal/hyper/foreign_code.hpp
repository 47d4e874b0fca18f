// SPDX-License-Identifier: Apache-2.0
// What another language needs: errors of functions that are traced at once, waiting without its lock, loops that end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "yolk/internal/hyper/traced.hpp"
#include "yolk/result.hpp"

namespace yolk::hyper {

/// The error that sticks in the run that this thread is in; outside of runs the one in `results`. It sticks no more:
/// the caller raises it, and what its user makes of that decides whether the trace fails. An operation that gave an
/// error has left no equation.
[[nodiscard]] std::optional<Error> take_error(std::span<const Traced> results);

/// What sticks in a value's own run, for good where that is over; nullptr for none.
[[nodiscard]] const Error* error_of(const Traced& value);

/// The value of a literal: of what was made of literals alone, outside of runs or in one. nullptr for traced values.
[[nodiscard]] const Value* literal_of(const Traced& value);

/// Calls `wait`, which blocks until a host call comes back. The thread is in a function that is being traced.
using Waiter = void (*)(const std::function<void()>& wait);
/// From now on threads of this process wait through it, so that it can let go of a lock that host functions need.
/// nullptr: they just wait.
void wait_for_host_calls_through(Waiter waiter) noexcept;

/// While one lives, `caller` is in force in this thread and in all that work for what it calls: host calls, metrics and
/// models find it there. Nested ones hide the outer.
class CallerScope {
   public:
    explicit CallerScope(std::shared_ptr<void> caller);
    ~CallerScope();
    CallerScope(const CallerScope&) = delete;
    CallerScope& operator=(const CallerScope&) = delete;
};
/// The innermost; nullptr for none.
[[nodiscard]] std::shared_ptr<void> caller_in_force();

/// From now on host calls of this process that have not come back so long after a stop request (yolk/stop.hpp) are
/// given up, with a Cancelled error: a call cannot be ended, but nobody waits for it. 0, the default: they are waited
/// for.
void give_up_host_calls_after(std::chrono::milliseconds grace) noexcept;

/// While one lives, loops that this thread evaluates end at a stop request (yolk/stop.hpp), with a Cancelled error.
class LoopsHeedStop {
   public:
    LoopsHeedStop() noexcept : before_(std::exchange(on_, true)) {}
    ~LoopsHeedStop() { on_ = before_; }
    LoopsHeedStop(const LoopsHeedStop&) = delete;
    LoopsHeedStop& operator=(const LoopsHeedStop&) = delete;
    [[nodiscard]] static bool is_on() noexcept { return on_; }

   private:
    static thread_local bool on_;
    bool before_;
};

}  // namespace yolk::hyper
