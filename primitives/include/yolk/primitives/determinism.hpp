// SPDX-License-Identifier: Apache-2.0
// What a primitive that has both may do with the order of its sums.
#pragma once

namespace yolk {

enum class Determinism {
    Exact,  ///< the same bits on every device and for every configuration
    Fast,   ///< within a derived tolerance
};

}  // namespace yolk
