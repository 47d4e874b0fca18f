// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

/// train_bytes and sample_bytes.
void bind_bytes(nanobind::module_& module);

}  // namespace yolk::python
