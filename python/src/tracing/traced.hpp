// SPDX-License-Identifier: Apache-2.0
// Traced values in Python: operators, and the operations of yolk/hyper/traced_operations.hpp by their names.
#pragma once

#include <nanobind/nanobind.h>

#include "yolk/internal/hyper/traced_operations.hpp"

namespace yolk::python {

/// The line of the Python program that calls, for messages. Needs the interpreter's lock.
[[nodiscard]] hyper::Line python_line();
/// A traced value as it is, a list or a dict with traced values in it as equations that make it, anything else as a
/// literal. Throws Raised if it cannot be a value.
[[nodiscard]] hyper::Traced traced_of(nanobind::handle object);

/// Raises yolk.Untraceable: "`what` a traced value is not possible: ... `instead`".
[[noreturn]] void refuse_use(const char* what, const char* instead);
void bind_refusals(nanobind::class_<hyper::Traced>& c);
void bind_traced(nanobind::module_& module);

}  // namespace yolk::python
