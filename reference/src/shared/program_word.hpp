// SPDX-License-Identifier: Apache-2.0
// What the twins of programs compute with: the bits of elements, by the functions that kernels are made of.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "yolk/elementwise.hpp"
#include "yolk/row_program.hpp"

namespace yolk::reference {

struct Word {
    std::uint32_t bits = 0;

    constexpr Word() = default;
    constexpr explicit Word(std::uint32_t word) : bits(word) {}
    constexpr explicit Word(float number) : bits(std::bit_cast<std::uint32_t>(number)) {}
};

[[nodiscard]] Word step_value(ElementwiseOperation operation, Word x);
[[nodiscard]] Word step_value(ElementwiseOperation operation, Word x, Word y);
[[nodiscard]] Word step_value(RowOperation operation, Word x);
[[nodiscard]] Word step_value(RowOperation operation, Word x, Word y);
[[nodiscard]] Word chosen(Word condition, Word x, Word y);
[[nodiscard]] Word reduced(RowOperation operation, std::span<const Word> row);

}  // namespace yolk::reference
