// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "yolk/internal/primitives/fields.hpp"
#include "yolk/rearrange.hpp"

namespace yolk {

/// members, the output's extents, the source's elements; then what differs from a copy.
[[nodiscard]] std::vector<Field<RearrangeDesc>> rearrange_fields();

}  // namespace yolk
