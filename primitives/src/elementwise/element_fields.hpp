// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/primitives/fields.hpp"

namespace yolk {

/// extents=8-64 inputs=3,2 steps=add:0:1,relu:2
[[nodiscard]] std::vector<Field<ElementwiseDesc>> elementwise_fields();

/// "add"; "?operation 99" for a number that no operation has.
[[nodiscard]] std::string word_of_step(const ElementwiseStep& step);
/// False: no operation has that word.
[[nodiscard]] bool parse_operation(ElementwiseStep& step, std::string_view word);

}  // namespace yolk
