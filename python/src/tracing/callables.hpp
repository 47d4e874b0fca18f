// SPDX-License-Identifier: Apache-2.0
// Python's functions as functions of the library, which calls them on any thread and keeps them as long as it likes.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/interrupt.hpp"
#include "base/lock.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"
#include "yolk/result.hpp"

namespace yolk::python {

/// A Python object that may be copied and dropped without the interpreter's lock.
using Kept = std::shared_ptr<nanobind::object>;
[[nodiscard]] Kept keep(nanobind::object object);

/// Host calls that a function waits for while it is traced need the lock that its thread has.
void let_host_calls_have_the_lock();

/// While one lives, what Python code raises in the work of this thread, on whatever thread, is kept here, and no other
/// call's. What comes out of the library is an error with its words; users get the exception, with its traceback.
class RaisedInside {
   public:
    RaisedInside() : scope_(slot_) {}
    /// The first; null where nothing was raised.
    [[nodiscard]] std::unique_ptr<nanobind::python_error> take();

    struct Slot {
        std::mutex guard;
        std::unique_ptr<nanobind::python_error> first{};  // under guard
        ~Slot();
    };

   private:
    std::shared_ptr<Slot> slot_ = std::make_shared<Slot>();
    hyper::CallerScope scope_;
};
/// Outside of any it is lost.
void remember_raised(nanobind::python_error&& raised);

/// Throws the error's own exception, with the other one as its __cause__. Needs the interpreter's lock.
[[noreturn]] void raise_from(const Error& error, std::unique_ptr<nanobind::python_error> cause);

/// A user's function that the library calls between its steps, on any thread: what it raises ends the work, and is
/// raised when that has ended. So is what a signal's handler raises.
class Callback {
   public:
    /// Whether to go on: `ask` returns None, or a truth value. Takes the interpreter's lock.
    template <class Ask>
    bool goes_on(Ask ask) {
        const InsideBody inside;
        try {
            Interruptible::raise_if_requested();
            // Whoever saw the signal: this ends, too.
            if (Interruptible::requested()) {
                PyErr_SetNone(PyExc_KeyboardInterrupt);
                throw nanobind::python_error();
            }
            const nanobind::object answer = ask();
            return answer.is_none() || is_true(answer);
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

/// While one is alive with `here`, what Python code raises in this thread is kept for this thread alone (keep_raised in
/// at_once.hpp): its work calls users' functions nowhere else. With false it is remembered as ever.
class KeptHere {
   public:
    explicit KeptHere(bool here) noexcept : before_(std::exchange(here_, here)) {}
    ~KeptHere() { here_ = before_; }
    KeptHere(const KeptHere&) = delete;
    KeptHere& operator=(const KeptHere&) = delete;
    [[nodiscard]] static bool is_on() noexcept { return here_; }

   private:
    static thread_local bool here_;
    bool before_;
};

/// "TypeError: the words". Needs the interpreter's lock.
[[nodiscard]] std::string words_of(const nanobind::python_error& raised);
/// The same as an error, and the exception is remembered, or kept (KeptHere). Needs the interpreter's lock.
[[nodiscard]] Error error_of_raised(nanobind::python_error& raised);

}  // namespace yolk::python
