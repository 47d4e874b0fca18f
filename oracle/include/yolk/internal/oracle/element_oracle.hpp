// SPDX-License-Identifier: Apache-2.0
// What single elements of a problem's output hold after a right run: for problems whose whole expectations take the
// host minutes and hours (docs/adr/0033).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "yolk/internal/oracle/bounded.hpp"

namespace yolk::oracle {

/// What the bits of an element mean.
enum class ElementBits { F32, I32, F16, BF16 };
[[nodiscard]] constexpr std::size_t bytes_of(ElementBits bits) noexcept {
    return bits == ElementBits::F32 || bits == ElementBits::I32 ? 4 : 2;
}

/// Of a problem with one output, whose elements lie in it one behind the other. Immutable: threads may share it. What
/// it was made of must outlive it.
class ElementOracle {
   public:
    virtual ~ElementOracle() = default;
    [[nodiscard]] virtual std::uint64_t count() const = 0;
    [[nodiscard]] virtual ElementBits bits() const = 0;
    /// In double.
    [[nodiscard]] virtual Bounded at(std::uint64_t element) const = 0;
    /// The bits of the exact twin (classes E and P); nothing for class T.
    [[nodiscard]] virtual std::optional<std::uint32_t> twin_at(std::uint64_t element) const = 0;
    /// The furthest that two right runs may be apart at any element: twice the largest tolerance, by a bound that takes
    /// less than all elements do. 0: all right runs give the same bits.
    [[nodiscard]] virtual double most_apart() const = 0;
};

}  // namespace yolk::oracle
