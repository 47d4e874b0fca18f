// SPDX-License-Identifier: Apache-2.0
// Named problems of the families that networks are made of, and of noise and the inverse square root.
#pragma once

#include <map>
#include <string_view>

#include "named_sizes.hpp"

namespace yolk::oracle {

[[nodiscard]] const std::map<std::string_view, MakeNamed>& named_parts();

}  // namespace yolk::oracle
