// SPDX-License-Identifier: Apache-2.0
// EGGROLL over parameters whose members the caller scores, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

void bind_evolution(nanobind::module_& module);

}  // namespace yolk::python
