// SPDX-License-Identifier: Apache-2.0
// Whether the instructions of a module give the same bits on every device (classes E and P). A GPU's compiler may fuse
// every multiplication and addition without the decoration NoContraction, and devices differ in what they make of
// operands for which an operation is undefined. Few runs show either, and only the SPIR-V does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "yolk/result.hpp"

namespace yolk {

/// An instruction that may give other bits on another device.
struct InexactInstruction {
    std::uint32_t opcode = 0;  ///< SPIR-V's
    std::uint32_t id = 0;      ///< of its result
    std::string function;      ///< the name where the module has one, else "%7"
    std::string file;          ///< of the source, and its line, where the module has them; else empty and 0
    std::uint32_t line = 0;
    std::string_view why;          ///< "division is not the same on every device; use exact_reciprocal"
    bool is_undefined = false;     ///< defined for some operands, and nothing shows that it has only those
    bool may_end_process = false;  ///< ... then it does more on some devices than to give another value
    bool by_parameters = false;    ///< ... and what is out of range follows from constants and push constants alone
};

/// Every inexact instruction, in the module's order, called functions and unreachable code included:
///  - additions, subtractions, multiplications and negations of floats (scalars, vectors, a vector times a scalar)
///    without NoContraction. A negation without it is exact where the rest is decorated; it is listed all the same.
///  - division and remainders of floats, products of vectors and matrices (their sums have no fixed order),
///    multiply-adds of cooperative matrices of floats, sums over subgroups and by atomics, decorated or not
///  - conversions to 16-bit floats: devices round differently, and after a multiplication some round once, not twice
///  - every built-in function of GLSL but those on integers: fma(), sqrt() and mix() among them
///  - isnan() and isinf()
///  - what is undefined for some operands, unless bounds of its operands show that it has only others
///    (docs/environments.md lists them): division and remainder of integers, shifts, bit fields, conversions of floats
///    to integers, clamp() of integers, indices into variables; reads of variables that nothing has written; functions
///    that end without a return. Only where a call reaches it; specialization constants have their defaults. In memory
///    outside of functions, indices into buffers and what has been written are not checked.
/// Without `lists_undefined` the last are left out. Not seen: values that are denormal, infinite or NaN, and the sign
/// of a zero. Error (BadInput): no SPIR-V.
[[nodiscard]] Result<std::vector<InexactInstruction>> find_inexact(std::span<const std::uint32_t> spirv,
                                                                   bool lists_undefined = true);

/// "main(: %12 (opcode 133): ...", for messages.
[[nodiscard]] std::string to_string(const InexactInstruction& instruction);

}  // namespace yolk
