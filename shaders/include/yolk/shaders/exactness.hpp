// SPDX-License-Identifier: Apache-2.0
// Whether the instructions of a module give the same bits on every device (classes E and P). A GPU's compiler may fuse
// every multiplication and addition without the decoration NoContraction; no CPU driver here does, so that no run shows
// what is missing, and only the SPIR-V does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/core/result.hpp"

namespace yolk {

/// An instruction that may give other bits on another device.
struct InexactInstruction {
    std::uint32_t opcode = 0;  ///< SPIR-V's
    std::uint32_t id = 0;      ///< of its result
    std::string function;      ///< the name where the module has one, else "%7"
    std::string file;          ///< of the source, and its line, where the module has them; else empty and 0
    std::uint32_t line = 0;
    std::string_view why;  ///< "division is not the same on every device; use exact_reciprocal"
};

/// Every inexact instruction, in the module's order, called functions and unreachable code included:
///  - additions, subtractions, multiplications and negations of floats (scalars, vectors, a vector times a scalar)
///    without NoContraction. A negation without it is exact where the rest is decorated; it is listed all the same.
///  - division and remainders of floats, products of vectors and matrices (their sums have no fixed order),
///    multiply-adds of cooperative matrices of floats, sums over subgroups and by atomics, decorated or not
///  - conversions to 16-bit floats: devices round differently, and after a multiplication some round once, not twice
///  - every built-in function of GLSL but those on integers: fma(), sqrt() and mix() among them
/// Not seen: values that are denormal or NaN. Error (BadInput): no SPIR-V.
[[nodiscard]] Result<std::vector<InexactInstruction>> find_inexact(std::span<const std::uint32_t> spirv);

/// "main(: %12 (opcode 133): ...", for messages.
[[nodiscard]] std::string to_string(const InexactInstruction& instruction);

}  // namespace yolk
