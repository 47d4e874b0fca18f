// SPDX-License-Identifier: Apache-2.0
// Which part of a device a kernel multiplies with: what its speed is set beside (yolk/limits.hpp).
#pragma once

#include <array>
#include <cstdint>

namespace yolk {

/// What does most of a configuration's multiply-adds.
enum class ArithmeticUnit : std::uint8_t {
    Fp32Lanes,   ///< fp32, whatever the operands are stored as
    IntegerDot,  ///< OpSDot of four signed bytes
    MatrixF16,   ///< matrix units: fp16 operands, fp32 sums
    Other,       ///< anything else, such as integers or fp16 on lanes: how fast a device is at it is not measured
};
inline constexpr std::array kArithmeticUnits{ArithmeticUnit::Fp32Lanes, ArithmeticUnit::IntegerDot,
                                             ArithmeticUnit::MatrixF16, ArithmeticUnit::Other};

/// "fp32 lanes", "int8 dot products", "matrix units with fp16 operands", "other arithmetic".
[[nodiscard]] const char* to_string(ArithmeticUnit unit) noexcept;

}  // namespace yolk
