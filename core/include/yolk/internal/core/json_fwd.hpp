// SPDX-License-Identifier: Apache-2.0
// The name Json alone, for headers that only declare functions of it: yolk/json.hpp costs each file that includes
// it a second of compilation.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace yolk {

/// Objects keep insertion order, so that lines read the same from run to run.
using Json = nlohmann::ordered_json;
/// Objects sort their names; looking one up takes logarithmic time.
using SortedJson = nlohmann::json;

}  // namespace yolk
