// SPDX-License-Identifier: Apache-2.0
// Python's functions as functions of the library, which calls them on any thread and keeps them as long as it likes.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <utility>

#include "interrupt.hpp"
#include "yolk/result.hpp"

namespace yolk::python {

/// A Python object that may be copied and dropped without the interpreter's lock.
using Kept = std::shared_ptr<nanobind::object>;
[[nodiscard]] Kept keep(nanobind::object object);

/// While one is alive, this thread is in a Python function that the library called.
class InsideBody {
   public:
    InsideBody() noexcept { ++depth_; }
    ~InsideBody() { --depth_; }
    InsideBody(const InsideBody&) = delete;
    InsideBody& operator=(const InsideBody&) = delete;
    [[nodiscard]] static bool any() noexcept { return depth_ > 0; }

   private:
    static thread_local int depth_;
};

/// The first exception that Python code raised since the last forget_raised(): what comes out of the library is an
/// error with its words, and users get the exception itself, with its traceback.
void remember_raised(nanobind::python_error&& raised);
void forget_raised();
/// Null where nothing was raised.
[[nodiscard]] std::unique_ptr<nanobind::python_error> take_raised();

/// Throws the error's own exception, with the other one as its __cause__. Needs the interpreter's lock.
[[noreturn]] void raise_from(const Error& error, std::unique_ptr<nanobind::python_error> cause);

/// A user's function that the library calls between its steps, on any thread: what it raises ends the work, and is
/// raised when that has ended. So is what a signal's handler raises.
class Callback {
   public:
    /// Whether to go on: `ask` returns None, or a truth value. Takes the interpreter's lock.
    template <class Ask>
    bool goes_on(Ask ask) {
        const nanobind::gil_scoped_acquire acquired;
        try {
            Interruptible::raise_if_requested();
            const nanobind::object answer = ask();
            return answer.is_none() || nanobind::cast<bool>(answer);
        } catch (nanobind::python_error& raised) {
            remember(std::move(raised));
            return false;
        }
    }
    void remember(nanobind::python_error&& raised) {
        if (!raised_) raised_ = std::make_unique<nanobind::python_error>(std::move(raised));
    }
    void raise() {
        if (raised_) throw nanobind::python_error(std::move(*std::exchange(raised_, nullptr)));
    }

   private:
    std::unique_ptr<nanobind::python_error> raised_;
};

/// "TypeError: the words", and the exception is remembered. Needs the interpreter's lock.
[[nodiscard]] Error error_of_raised(nanobind::python_error& raised);

}  // namespace yolk::python
