// SPDX-License-Identifier: Apache-2.0
// The interpreter's lock, and calls of Python code.
#pragma once

#include <nanobind/nanobind.h>

#include <unistd.h>

namespace yolk::python {
namespace nb = nanobind;

/// What may wait for the lock. Python before 3.14 ends a thread that wants it while the interpreter goes down: it
/// unwinds the thread's stack, whose frames need the lock to clean up, and that aborts the process. Such a thread stops
/// here instead, for good.
template <class Call>
auto stopping_at_the_end(Call call) noexcept {
    try {
        return call();
    } catch (...) {  // nothing else comes out of C
        for (;;) ::pause();
    }
}

/// While one is alive, this thread has the interpreter's lock, for Python code that the library called.
class InsideBody {
   public:
    InsideBody() noexcept : state_(stopping_at_the_end([] { return PyGILState_Ensure(); })) {
        ++depth_;
        here_ = Here::Inside;
    }
    ~InsideBody() {
        --depth_;
        here_ = before_;
        PyGILState_Release(state_);
    }
    InsideBody(const InsideBody&) = delete;
    InsideBody& operator=(const InsideBody&) = delete;
    [[nodiscard]] static bool any() noexcept { return depth_ > 0; }
    /// Whether this thread is in such code and has not let the lock go since (WithoutLock).
    [[nodiscard]] static bool has_lock() noexcept { return here_ == Here::Inside; }

   private:
    friend class WithoutLock;
    enum class Here { Elsewhere, Inside, Without };
    static thread_local int depth_;
    static thread_local Here here_;  // the innermost of the two classes
    PyGILState_STATE state_;
    Here before_ = here_;
};

/// The interpreter's lock is let go while it lives: around work of the library.
class WithoutLock {
   public:
    WithoutLock() noexcept : state_(PyEval_SaveThread()) { InsideBody::here_ = InsideBody::Here::Without; }
    ~WithoutLock() {
        InsideBody::here_ = before_;
        stopping_at_the_end([this] { PyEval_RestoreThread(state_); });
    }
    WithoutLock(const WithoutLock&) = delete;
    WithoutLock& operator=(const WithoutLock&) = delete;
    /// Whether this thread let the lock go in one, and has not taken it since (InsideBody).
    [[nodiscard]] static bool is_on() noexcept { return InsideBody::here_ == InsideBody::Here::Without; }

   private:
    PyThreadState* state_;
    InsideBody::Here before_ = InsideBody::here_;
};

// What follows may run Python code, in any thread. It needs the lock, and throws what that code raises.

template <class Call>
nb::object from_python(Call call) {
    PyObject* result = stopping_at_the_end(call);
    if (result == nullptr) nb::raise_python_error();
    return nb::steal(result);
}

/// function(*arguments).
inline nb::object apply_python(nb::handle function, const nb::tuple& arguments) {
    return from_python([&] { return PyObject_CallObject(function.ptr(), arguments.ptr()); });
}
template <class... Arguments>
nb::object call_python(nb::handle function, const Arguments&... arguments) {
    return apply_python(function, nb::make_tuple(arguments...));
}
/// A module's function by its name.
template <class... Arguments>
nb::object call_python(const char* module, const char* name, const Arguments&... arguments) {
    return call_python(nb::module_::import_(module).attr(name), arguments...);
}

inline nb::str python_repr(nb::handle object) {
    return nb::str(from_python([&] { return PyObject_Repr(object.ptr()); }));
}
inline nb::str python_str(nb::handle object) {
    return nb::str(from_python([&] { return PyObject_Str(object.ptr()); }));
}
inline bool is_true(nb::handle object) {
    const int truth = stopping_at_the_end([&] { return PyObject_IsTrue(object.ptr()); });
    if (truth < 0) nb::raise_python_error();
    return truth == 1;
}

}  // namespace yolk::python
