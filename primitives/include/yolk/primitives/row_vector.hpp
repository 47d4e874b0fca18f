// SPDX-License-Identifier: Apache-2.0
// A vector over columns, such as a scale or a bias, that goes with every row of [members, rows, columns].
#pragma once

namespace yolk {

enum class RowVector {
    None,
    Shared,     ///< [columns]
    PerMember,  ///< [members, columns]
};

}  // namespace yolk
