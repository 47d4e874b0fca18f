// SPDX-License-Identifier: Apache-2.0
// Training of policies, their evaluation and replay, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

void bind_training(nanobind::module_& module);

}  // namespace yolk::python
