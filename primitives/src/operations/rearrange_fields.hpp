// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "yolk/primitives/fields.hpp"
#include "yolk/primitives/rearrange.hpp"

namespace yolk {

/// members, the output's extents, the source's elements; then what differs from a copy.
[[nodiscard]] std::vector<Field<RearrangeDesc>> rearrange_fields();

}  // namespace yolk
