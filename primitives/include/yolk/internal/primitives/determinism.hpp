// SPDX-License-Identifier: Apache-2.0
// What a kernel, or a whole run, may do with the order and the rounding of its arithmetic.
#pragma once

#include <array>
#include <string_view>

#include "yolk/result.hpp"

namespace yolk {

enum class Determinism {
    /// Classes E and P only: the same bits on every device, for every configuration, and as the exact twin. Refused on
    /// devices that fail the arithmetic probe.
    Exact,
    Fast,  ///< admits class T: within a derived tolerance of the oracle
};
constexpr auto enum_words(Determinism /*type*/) { return std::to_array<std::string_view>({"exact", "fast"}); }
/// "exact", "fast".
[[nodiscard]] std::string_view to_string(Determinism determinism) noexcept;
/// Error: another name; lists both.
[[nodiscard]] Result<Determinism> parse_determinism(std::string_view name);

}  // namespace yolk
