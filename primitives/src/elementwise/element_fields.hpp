// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/primitives/fields.hpp"

namespace yolk {

/// extents=8-64 inputs=3,2 steps=add:0:1,relu:2
[[nodiscard]] std::vector<Field<ElementwiseDesc>> elementwise_fields();

}  // namespace yolk
