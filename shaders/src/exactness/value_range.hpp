// SPDX-License-Identifier: Apache-2.0
// What is known of a value before it is computed: bounds of each 32-bit integer or boolean in it. Sound: a value that
// occurs lies within its bounds, as long as nothing undefined has happened.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace yolk {

enum class Scalar : std::uint8_t { Bool, Int, Uint, Other };  ///< Other: floats and other widths, without bounds

/// A scalar inside a value, inclusive bounds.
struct Leaf {
    Scalar kind = Scalar::Other;
    bool written = true;  ///< false: on some way here nothing has been stored
    bool given = false;   ///< computed of constants and of a dispatch's parameters alone
    std::int64_t low = 0, high = 0;

    friend bool operator==(const Leaf&, const Leaf&) = default;
    [[nodiscard]] bool is(std::int64_t value) const noexcept {
        return kind != Scalar::Other && low == value && high == value;
    }
    [[nodiscard]] bool within(std::int64_t least, std::int64_t most) const noexcept {
        return kind != Scalar::Other && low >= least && high <= most;
    }
};
/// The scalars of a value of any type, in order.
using Value = std::vector<Leaf>;

/// All that the kind can hold.
[[nodiscard]] Leaf any_of(Scalar kind) noexcept;
/// `leaf`, with the same bits, read as another kind.
[[nodiscard]] Leaf as_kind(const Leaf& leaf, Scalar kind) noexcept;
/// Either of two; `widen`: bounds that moved from `a` become the kind's, so that loops come to an end.
[[nodiscard]] Leaf either(const Leaf& a, const Leaf& b, bool widen = false) noexcept;
/// Those of `a` that lie within the bounds; nothing where there are none.
[[nodiscard]] std::optional<Leaf> within_bounds(const Leaf& a, std::int64_t low, std::int64_t high) noexcept;

/// The result of an operation of SPIR-V on scalars, by its opcode; anything of the kind where it is not known better.
[[nodiscard]] Leaf range_of(std::uint32_t op, Scalar kind, const Value& operands) noexcept;
/// The same of GLSL.std.450's functions on integers.
[[nodiscard]] Leaf range_of_built_in(std::uint32_t number, Scalar kind, const Value& operands) noexcept;

/// Bounds of a comparison's left side where it holds against `right`; both of one kind. Nothing: it says nothing.
struct Bounds {
    std::int64_t low = 0, high = 0;
};
[[nodiscard]] std::optional<Bounds> bounds_where(std::uint32_t op, const Leaf& right) noexcept;
/// The kind as which a comparison reads its operands; Other: no comparison of integers.
[[nodiscard]] Scalar compared_kind(std::uint32_t op) noexcept;
/// The comparison with its sides exchanged, and the one that holds where it does not; 0: none.
[[nodiscard]] std::uint32_t mirrored(std::uint32_t op) noexcept;
[[nodiscard]] std::uint32_t negated(std::uint32_t op) noexcept;

}  // namespace yolk
