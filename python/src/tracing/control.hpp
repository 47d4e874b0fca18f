// SPDX-License-Identifier: Apache-2.0
// Branches, loops, named values and tags under the tracer, and further operations by NumPy's names.
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

void bind_control(nanobind::module_& operations);
void bind_named_operations(nanobind::module_& operations);

}  // namespace yolk::python
