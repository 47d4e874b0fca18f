// SPDX-License-Identifier: Apache-2.0
#include "tracing/callables.hpp"

#include <nanobind/stl/string.h>

#include <chrono>
#include <utility>

#include "base/errors.hpp"
#include "base/lock.hpp"
#include "base/words.hpp"
#include "tracing/at_once.hpp"
#include "yolk/internal/hyper/foreign_code.hpp"

namespace yolk::python {
namespace {

namespace nb = nanobind;

/// For what is raised late, by a call that was given up: the slot's exception is dropped on a thread without the lock.
void drop(std::unique_ptr<nb::python_error> raised) {
    if (!raised) return;
    if (Py_IsInitialized() == 0) {
        static_cast<void>(raised.release());  // the interpreter has taken everything with it
        return;
    }
    const InsideBody inside;
    raised.reset();
}

}  // namespace

thread_local bool KeptHere::here_ = false;

void let_host_calls_have_the_lock() {
    // Ctrl-C: a function that blocks is waited for no longer.
    hyper::give_up_host_calls_after(std::chrono::seconds(3));
    hyper::wait_for_host_calls_through([](const std::function<void()>& wait) {
        if (!InsideBody::has_lock()) return wait();
        const WithoutLock released;
        wait();
    });
}

Kept keep(nb::object object) {
    return {new nb::object(std::move(object)), [](nb::object* kept) {
                if (Py_IsInitialized() == 0) {
                    static_cast<void>(kept->release());  // the interpreter has taken everything with it
                    delete kept;
                    return;
                }
                const InsideBody inside;
                delete kept;
            }};
}

RaisedInside::Slot::~Slot() { drop(std::move(first)); }

std::unique_ptr<nb::python_error> RaisedInside::take() {
    const std::scoped_lock lock(slot_->guard);
    return std::move(slot_->first);
}

void remember_raised(nb::python_error&& raised) {
    const auto slot = std::static_pointer_cast<RaisedInside::Slot>(hyper::caller_in_force());
    if (slot == nullptr) return;
    const std::scoped_lock lock(slot->guard);
    if (!slot->first) slot->first = std::make_unique<nb::python_error>(std::move(raised));
}

void raise_from(const Error& error, std::unique_ptr<nb::python_error> cause) {
    // Ctrl-C and exits are no errors.
    if (!cause->matches(PyExc_Exception)) throw nb::python_error(std::move(*cause));
    const nb::object exception = call_python("yolk.errors", class_of(error.kind), in_python(error.message));
    exception.attr("__cause__") = cause->value();
    PyErr_SetObject(exception.type().ptr(), exception.ptr());
    throw nb::python_error();
}

std::string words_of(const nb::python_error& raised) {
    const std::string type = nb::str(raised.type().attr("__name__")).c_str();
    return type + ": " + python_str(raised.value()).c_str();
}

Error error_of_raised(nb::python_error& raised) {
    Error error = failed_work("{}", words_of(raised));
    if (!raised.matches(PyExc_Exception)) error.kind = ErrorKind::Cancelled;  // Ctrl-C, or an exit
    KeptHere::is_on() ? keep_raised(std::move(raised)) : remember_raised(std::move(raised));
    return error;
}

}  // namespace yolk::python
