// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "yolk/internal/primitives/element_program.hpp"
#include "yolk/internal/primitives/fields.hpp"

namespace yolk {

/// extents=8-64 inputs=3,2 steps=add:0:1,relu:2
[[nodiscard]] std::vector<Field<ElementProgramDesc>> element_program_fields();

}  // namespace yolk
