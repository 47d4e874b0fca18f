// SPDX-License-Identifier: Apache-2.0
// What the models in force have been asked.
#pragma once

#include "yolk/models.hpp"

namespace yolk::hyper {

/// Of all that are in force in this thread, together; models that are in force twice count twice.
[[nodiscard]] ModelCounts counts_in_force();
/// What came since.
[[nodiscard]] ModelCounts operator-(const ModelCounts& now, const ModelCounts& before);

}  // namespace yolk::hyper
