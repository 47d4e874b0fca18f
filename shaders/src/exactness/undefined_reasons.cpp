// SPDX-License-Identifier: Apache-2.0
#include "undefined_reasons.hpp"

#include <spirv/unified1/GLSL.std.450.h>
#include <limits>
#include <spirv/unified1/spirv.hpp>

namespace yolk {
namespace {

constexpr std::string_view kDivisor =
    "the divisor may be 0: the result is undefined, and on some devices ends the process. Use exact_divide or "
    "exact_remainder, or compare the divisor first";
constexpr std::string_view kSigned =
    "division and remainder of ints are undefined for a divisor of 0, and differ where an operand is negative. Use "
    "exact_divide or exact_remainder, or uints";
constexpr std::string_view kShift =
    "the shift may be by as many bits as the value has, or more: the result is undefined. Use exact_shift_left or "
    "exact_shift_right, or mask the count with & 31u";
constexpr std::string_view kBitField =
    "the bit field may reach beyond the value's 32 bits: the result is undefined. Use exact_extract_bits or "
    "exact_insert_bits, or literal places";
constexpr std::string_view kConversion =
    "the conversion of a float to an integer is undefined where the integer cannot hold it (NaN too). Use exact_to_int "
    "or "
    "exact_to_uint";
constexpr std::string_view kClamp =
    "clamp is undefined where its lower limit is above the upper one. Use min(max(x, low), high)";

}  // namespace

std::string_view undefined_reason(std::uint32_t op, std::uint32_t bits, const Value& operands) noexcept {
    const auto operand = [&](std::size_t i) { return i < operands.size() ? operands[i] : Leaf{}; };
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    switch (op) {
        case spv::OpUDiv:
        case spv::OpUMod: return operand(1).within(1, kMost) ? std::string_view() : kDivisor;
        case spv::OpSDiv:
        case spv::OpSRem:
        case spv::OpSMod:
            return operand(0).within(0, kMost) && operand(1).within(1, kMost) ? std::string_view() : kSigned;
        case spv::OpShiftLeftLogical:
        case spv::OpShiftRightLogical:
        case spv::OpShiftRightArithmetic:
            return operand(1).within(0, std::int64_t{bits} - 1) ? std::string_view() : kShift;
        case spv::OpBitFieldInsert:
        case spv::OpBitFieldSExtract:
        case spv::OpBitFieldUExtract: {
            const Leaf offset = operand(operands.size() - 2), count = operand(operands.size() - 1);
            const bool inside = offset.within(0, 32) && count.within(0, 32) && offset.high + count.high <= 32;
            return inside ? std::string_view() : kBitField;
        }
        case spv::OpConvertFToS:
        case spv::OpConvertFToU: return kConversion;
        default: return {};
    }
}

bool is_trap(std::uint32_t op) noexcept {
    switch (op) {
        case spv::OpUDiv:
        case spv::OpUMod:
        case spv::OpSDiv:
        case spv::OpSRem:
        case spv::OpSMod:
        case spv::OpAccessChain:
        case spv::OpInBoundsAccessChain:
        case spv::OpVectorExtractDynamic:
        case spv::OpVectorInsertDynamic:
        case spv::OpUnreachable: return true;
        default: return false;
    }
}

std::string_view undefined_built_in(std::uint32_t number, const Value& operands) noexcept {
    if ((number != GLSLstd450UClamp && number != GLSLstd450SClamp) || operands.size() < 3) return {};
    const bool ordered =
        operands[1].kind != Scalar::Other && operands[2].kind != Scalar::Other && operands[1].high <= operands[2].low;
    return ordered ? std::string_view() : kClamp;
}

}  // namespace yolk
