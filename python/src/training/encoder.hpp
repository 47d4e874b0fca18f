// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

/// OpenedEncoder, which is behind yolk.Encoder.
void bind_encoder(nanobind::module_& module);

}  // namespace yolk::python
