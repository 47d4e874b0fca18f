// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

namespace yolk::python {

/// finetune, which is behind yolk.finetune.
void bind_finetuning(nanobind::module_& module);

}  // namespace yolk::python
