// SPDX-License-Identifier: Apache-2.0
// Errors of the library as Python's exceptions (yolk/errors.py has the classes).
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <utility>

#include "yolk/result.hpp"

namespace yolk::python {
namespace nb = nanobind;

/// What unwrap() throws; on its way to Python it becomes the exception of its kind.
class Raised : public std::exception {
   public:
    explicit Raised(Error error) : error_(std::move(error)) {}
    [[nodiscard]] const Error& error() const noexcept { return error_; }
    [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }

   private:
    Error error_;
};

/// Throws it. A device that is lost is not used again.
[[noreturn]] void throw_error(Error error);

template <class T>
T unwrap(Result<T> result) {
    if (!result) throw_error(std::move(result).error());
    if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

/// The name of the class in yolk.errors.
[[nodiscard]] const char* class_of(ErrorKind kind) noexcept;

void translate_errors();

}  // namespace yolk::python
