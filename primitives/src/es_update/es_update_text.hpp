// SPDX-License-Identifier: Apache-2.0
// The fields of es_update, of which `elements` and `rows` stand for a table.
#pragma once

#include "yolk/es_update.hpp"
#include "yolk/internal/primitives/fields.hpp"

namespace yolk {

[[nodiscard]] Fields<EsUpdateDesc> es_update_fields();

}  // namespace yolk
