// SPDX-License-Identifier: Apache-2.0
// A vector over columns, such as a scale or a bias, that goes with every row of [members, rows, columns].
#pragma once

#include <array>
#include <string_view>

namespace yolk {

enum class RowVector {
    None,
    Shared,     ///< [columns]
    PerMember,  ///< [members, columns]
};
constexpr auto enum_words(RowVector /*type*/) {
    return std::to_array<std::string_view>({"none", "shared", "per_member"});
}

}  // namespace yolk
