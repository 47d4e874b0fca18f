// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

/// learn, read_data, load_model, predict.
void bind_learning(nanobind::module_& module);

}  // namespace yolk::python
