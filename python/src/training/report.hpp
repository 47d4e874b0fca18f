// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

/// report and returns_picture.
void bind_report(nanobind::module_& module);

}  // namespace yolk::python
