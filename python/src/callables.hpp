// SPDX-License-Identifier: Apache-2.0
// Python's functions as functions of the library, which calls them on any thread and keeps them as long as it likes.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

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

/// "TypeError: the words", and the exception is remembered. Needs the interpreter's lock.
[[nodiscard]] Error error_of_raised(nanobind::python_error& raised);

}  // namespace yolk::python
