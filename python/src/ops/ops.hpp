// SPDX-License-Identifier: Apache-2.0
// Kernels on arrays that stay on a device, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

void bind_ops(nanobind::module_& module);

}  // namespace yolk::python
