// SPDX-License-Identifier: Apache-2.0
// For which operands an operation is undefined, and what to write in its place (yolk/exact/exact_integers.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "value_range.hpp"

namespace yolk {

inline constexpr std::string_view kIndexBeyond =
    "the index may lie beyond the end: an access there is undefined. Use exact_index(index, count), or compare the "
    "index "
    "first";
inline constexpr std::string_view kNeverWritten =
    "this may read a variable, or a part of it, that nothing has written: its value is undefined. Set it first, on "
    "every "
    "way";
inline constexpr std::string_view kNoReturn =
    "the function may end without a return: its result is undefined. Return a value on every way";
inline constexpr std::string_view kTooComplex =
    "the function has too many ways to follow, so nothing shows that its operations are defined. Make it shorter";

/// Why an operation on scalars may be undefined; empty where it is not. `bits`: width of the result.
[[nodiscard]] std::string_view undefined_reason(std::uint32_t op, std::uint32_t bits, const Value& operands) noexcept;
/// Whether that may end the process on some devices, or overwrite other data, and not only give another value.
[[nodiscard]] bool is_trap(std::uint32_t op) noexcept;
/// The same of GLSL.std.450's functions on integers.
[[nodiscard]] std::string_view undefined_built_in(std::uint32_t number, const Value& operands) noexcept;

}  // namespace yolk
