// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

/// OpenedDecoder, which is behind yolk.Decoder.
void bind_decoder(nanobind::module_& module);

}  // namespace yolk::python
