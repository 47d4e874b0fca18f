// SPDX-License-Identifier: Apache-2.0
// Hyperfunctions, and systems of them, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

void bind_functions(nanobind::module_& module);
void bind_metrics(nanobind::module_& module);
void bind_systems(nanobind::module_& module);

}  // namespace yolk::python
