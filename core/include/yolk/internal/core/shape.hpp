// SPDX-License-Identifier: Apache-2.0
// Shapes of tensors, and size arithmetic that reports overflow instead of wrapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

/// Row-major extents, outermost first. Rank 0 is a scalar; an extent of 0 is legal and makes the shape empty.
class Shape {
   public:
    Shape() = default;
    Shape(std::initializer_list<std::uint64_t> extents) : extents_(extents) {}
    explicit Shape(std::vector<std::uint64_t> extents) : extents_(std::move(extents)) {}

    [[nodiscard]] std::size_t rank() const noexcept { return extents_.size(); }
    [[nodiscard]] std::uint64_t operator[](std::size_t axis) const { return extents_.at(axis); }
    [[nodiscard]] std::span<const std::uint64_t> extents() const noexcept { return extents_; }
    /// Product of the extents; an error where it does not fit in 64 bits.
    [[nodiscard]] Result<std::uint64_t> element_count() const;
    /// "[64, 4]"; "[]" for a scalar.
    [[nodiscard]] std::string to_string() const;
    friend bool operator==(const Shape&, const Shape&) = default;

   private:
    std::vector<std::uint64_t> extents_;
};

/// a * b, or an error that names `what` (a size in a sentence: "the scratch of [noise]").
[[nodiscard]] Result<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b, const char* what);
/// a + b, likewise.
[[nodiscard]] Result<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b, const char* what);

/// Smallest multiple of `alignment` (not 0) that is at least `value`; the caller knows that it fits.
[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t alignment) noexcept {
    return (value + alignment - 1) / alignment * alignment;
}
template <class Integer>
[[nodiscard]] constexpr Integer ceil_div(Integer value, Integer divisor) noexcept {
    return value / divisor + static_cast<Integer>(value % divisor != 0);
}

}  // namespace yolk
