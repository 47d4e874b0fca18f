// SPDX-License-Identifier: Apache-2.0
// What lets one source of exact (class P) arithmetic be GLSL and C++ at once: `exact_float` declares a local whose
// arithmetic may not be contracted or reordered, exact_bits and exact_from_bits move bit patterns. In C++ the code lies
// in namespace yolk::exact and needs -ffp-contract=off and no -ffast-math (cmake/YolkBuildFlags.cmake). Every
// expression with float arithmetic must end in an `exact_float`: GLSL's `precise` reaches back through one function
// only. No float literal with arithmetic on it: GLSL compilers fold such constants in double; write bit patterns
// (exact_from_bits).
#ifndef YOLK_EXACT_PRELUDE_H
#define YOLK_EXACT_PRELUDE_H

#ifdef YOLK_WITHOUT_EXACT_SOURCES
#error "an oracle must not include the sources that kernels and their exact twins share"
#endif

#ifdef __cplusplus
#include <bit>
#include <cstdint>
#define EXACT_BEGIN         \
    namespace yolk::exact { \
    using uint = std::uint32_t;
#define EXACT_END }
#define EXACT_CONST inline constexpr
#define EXACT_FUNCTION [[nodiscard]] constexpr
#define EXACT_PROCEDURE constexpr void
#define EXACT_INOUT(Type) Type&
#define EXACT_OUT_ARRAY(Type, name, count) Type(&name)[count]
#define EXACT_IN_ARRAY(Type, name, count) const Type(&name)[count]
namespace yolk::exact {
using exact_float = float;
constexpr std::uint32_t exact_bits(float value) noexcept { return std::bit_cast<std::uint32_t>(value); }
constexpr float exact_from_bits(std::uint32_t bits) noexcept { return std::bit_cast<float>(bits); }
/// Where a condition holds `yes`, else `no`, without a branch: `?:` of expressions, `&&` and `||` become branches in
/// GLSL, and SwiftShader's compiler takes twice as long for each branch inside a loop (docs/quirks.md).
template <class T>
constexpr T exact_select(bool condition, T yes, T no) noexcept {
    return condition ? yes : no;
}
constexpr bool exact_both(bool a, bool b) noexcept { return a && b; }
constexpr bool exact_either(bool a, bool b) noexcept { return a || b; }
/// GLSL's vector of four words, as far as shared sources use it.
struct uvec4 {
    std::uint32_t x, y, z, w;
};
}  // namespace yolk::exact
#else
#define EXACT_BEGIN
#define EXACT_END
#define EXACT_CONST const
#define EXACT_FUNCTION
#define EXACT_PROCEDURE void
#define EXACT_INOUT(Type) inout Type
#define EXACT_OUT_ARRAY(Type, name, count) out Type name[count]
#define EXACT_IN_ARRAY(Type, name, count) in Type name[count]
#define exact_float precise float
#define exact_bits(value) floatBitsToUint(value)
#define exact_from_bits(bits) uintBitsToFloat(bits)
#define exact_select(condition, yes, no) mix(no, yes, condition)
#define exact_both(a, b) mix(false, b, a)
#define exact_either(a, b) mix(b, true, a)
#endif

#endif
