// SPDX-License-Identifier: Apache-2.0
// Tuning a kernel of one's own, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

void bind_tuning(nanobind::module_& module);

}  // namespace yolk::python
