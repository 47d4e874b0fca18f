// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

void bind_plot(nanobind::module_& module);

}  // namespace yolk::python
