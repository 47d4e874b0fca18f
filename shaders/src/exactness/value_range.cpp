// SPDX-License-Identifier: Apache-2.0
#include "value_range.hpp"

#include <spirv/unified1/GLSL.std.450.h>
#include <algorithm>
#include <bit>
#include <limits>
#include <spirv/unified1/spirv.hpp>

namespace yolk {
namespace {

constexpr std::int64_t kWords = std::int64_t{1} << 32;
constexpr std::int64_t kMostUint = kWords - 1;

Leaf between(Scalar kind, std::int64_t low, std::int64_t high) noexcept {
    const Leaf all = any_of(kind);
    if (kind == Scalar::Other || low < all.low || high > all.high || low > high) return all;  // it may wrap
    return {.kind = kind, .low = low, .high = high};
}

/// The smallest 2^n - 1 that is not below.
std::int64_t all_bits_below(std::int64_t value) noexcept {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value) + 1)) - 1;
}

Leaf product(Scalar kind, const Leaf& a, const Leaf& b) noexcept {
    // Bounds of 32 bits: the largest product of two is below 2^64, and __int128 is not standard.
    const auto small = [](const Leaf& one) { return std::max(std::abs(one.low), std::abs(one.high)) < (1LL << 31); };
    if (!small(a) || !small(b)) return any_of(kind);
    const auto all = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    return between(kind, std::min(all), std::max(all));
}

Leaf masked(Scalar kind, const Leaf& a, const Leaf& b) noexcept {
    if (a.low >= 0 && b.low >= 0) return between(kind, 0, std::min(a.high, b.high));
    if (a.low >= 0) return between(kind, 0, a.high);
    if (b.low >= 0) return between(kind, 0, b.high);
    return any_of(kind);
}

/// Of two known values.
Leaf of_bits(std::uint32_t op, const Leaf& a, const Leaf& b) noexcept {
    const auto x = static_cast<std::uint32_t>(a.low), y = static_cast<std::uint32_t>(b.low);
    const std::int64_t word = op == spv::OpBitwiseAnd ? x & y : op == spv::OpBitwiseOr ? x | y : x ^ y;
    return as_kind({.kind = Scalar::Uint, .low = word, .high = word}, a.kind);
}

/// Truncating division, where both signs are known and nothing is undefined.
Leaf divided(std::uint32_t op, Scalar kind, const Leaf& a, const Leaf& b) noexcept {
    if (a.low < 0 || b.low <= 0) return any_of(kind);
    if (op == spv::OpUDiv || op == spv::OpSDiv) return between(kind, a.low / b.high, a.high / b.low);
    return between(kind, 0, std::min(a.high, b.high - 1));
}

Leaf shifted(std::uint32_t op, Scalar kind, const Leaf& a, const Leaf& count) noexcept {
    if (!count.within(0, 31)) return any_of(kind);
    if (op == spv::OpShiftLeftLogical && a.low >= 0) return between(kind, a.low << count.low, a.high << count.high);
    if (op == spv::OpShiftLeftLogical) return any_of(kind);
    if (a.low >= 0) return between(kind, a.low >> count.high, a.high >> count.low);
    if (op == spv::OpShiftRightArithmetic) return between(kind, a.low, std::max(a.high, std::int64_t{0}));
    return any_of(kind);
}

Leaf compared(std::uint32_t op, const Leaf& left, const Leaf& right) noexcept {
    const Scalar kind = compared_kind(op);
    const Leaf a = as_kind(left, kind), b = as_kind(right, kind);
    const std::optional<Bounds> yes = bounds_where(op, b), no = bounds_where(negated(op), b);
    if (yes && !within_bounds(a, yes->low, yes->high)) return {.kind = Scalar::Bool, .low = 0, .high = 0};
    if (no && !within_bounds(a, no->low, no->high)) return {.kind = Scalar::Bool, .low = 1, .high = 1};
    return any_of(Scalar::Bool);
}

Leaf of_one(std::uint32_t op, Scalar kind, const Leaf& a) noexcept {
    switch (op) {
        case spv::OpCopyObject:
        case spv::OpCopyLogical: return a;
        case spv::OpBitcast: return as_kind(a, kind);
        case spv::OpNot:
            return between(kind, (kind == Scalar::Uint ? kMostUint : -1) - as_kind(a, kind).high,
                           (kind == Scalar::Uint ? kMostUint : -1) - as_kind(a, kind).low);
        case spv::OpSNegate: return between(kind, -as_kind(a, kind).high, -as_kind(a, kind).low);
        case spv::OpBitCount: return between(kind, 0, 32);
        case spv::OpLogicalNot: return between(kind, 1 - a.high, 1 - a.low);
        default: return any_of(kind);
    }
}

Leaf of_logical(std::uint32_t op, const Leaf& a, const Leaf& b) noexcept {
    if (op == spv::OpLogicalAnd) return between(Scalar::Bool, std::min(a.low, b.low), std::min(a.high, b.high));
    return between(Scalar::Bool, std::max(a.low, b.low), std::max(a.high, b.high));
}

}  // namespace

Leaf any_of(Scalar kind) noexcept {
    switch (kind) {
        case Scalar::Bool: return {.kind = kind, .low = 0, .high = 1};
        case Scalar::Int:
            return {.kind = kind,
                    .low = std::numeric_limits<std::int32_t>::min(),
                    .high = std::numeric_limits<std::int32_t>::max()};
        case Scalar::Uint: return {.kind = kind, .low = 0, .high = kMostUint};
        default: return {.kind = kind};
    }
}

Leaf as_kind(const Leaf& leaf, Scalar kind) noexcept {
    if (leaf.kind == kind) return leaf;
    if (leaf.kind == Scalar::Other || leaf.kind == Scalar::Bool || kind == Scalar::Bool) return any_of(kind);
    if (leaf.kind == Scalar::Int && leaf.high < 0) return between(kind, leaf.low + kWords, leaf.high + kWords);
    if (leaf.kind == Scalar::Uint && leaf.low > std::numeric_limits<std::int32_t>::max())
        return between(kind, leaf.low - kWords, leaf.high - kWords);
    return between(kind, leaf.low, leaf.high);
}

Leaf either(const Leaf& a, const Leaf& b, bool widen) noexcept {
    const bool written = a.written && b.written, given = a.given && b.given;
    if (a.kind != b.kind || a.kind == Scalar::Other) return {.kind = a.kind, .written = written, .given = given};
    Leaf both{.kind = a.kind,
              .written = written,
              .given = given,
              .low = std::min(a.low, b.low),
              .high = std::max(a.high, b.high)};
    const Leaf all = any_of(a.kind);
    if (widen && both.low < a.low) both.low = both.low >= 0 ? 0 : all.low;
    if (widen && both.high > a.high) both.high = all.high;
    return both;
}

std::optional<Leaf> within_bounds(const Leaf& a, std::int64_t low, std::int64_t high) noexcept {
    if (a.kind == Scalar::Other) return a;
    Leaf cut = a;
    cut.low = std::max(a.low, low);
    cut.high = std::min(a.high, high);
    if (cut.low > cut.high) return std::nullopt;
    return cut;
}

Leaf range_of(std::uint32_t op, Scalar kind, const Value& operands) noexcept {
    if (kind == Scalar::Other || operands.empty()) return any_of(kind);
    if (operands.size() == 1) return of_one(op, kind, operands[0]);
    if (compared_kind(op) != Scalar::Other) return compared(op, operands[0], operands[1]);
    const Leaf a = as_kind(operands[0], kind), b = as_kind(operands[1], kind);
    switch (op) {
        case spv::OpIAdd: return between(kind, a.low + b.low, a.high + b.high);
        case spv::OpISub: return between(kind, a.low - b.high, a.high - b.low);
        case spv::OpIMul: return product(kind, a, b);
        case spv::OpUDiv:
        case spv::OpUMod:
        case spv::OpSDiv:
        case spv::OpSRem:
        case spv::OpSMod: return divided(op, kind, a, b);
        case spv::OpBitwiseAnd: return a.low == a.high && b.low == b.high ? of_bits(op, a, b) : masked(kind, a, b);
        case spv::OpBitwiseOr:
        case spv::OpBitwiseXor:
            if (a.low == a.high && b.low == b.high) return of_bits(op, a, b);
            if (a.low < 0 || b.low < 0) return any_of(kind);
            return between(kind, op == spv::OpBitwiseOr ? std::max(a.low, b.low) : 0,
                           all_bits_below(std::max(a.high, b.high)));
        case spv::OpShiftLeftLogical:
        case spv::OpShiftRightLogical:
        case spv::OpShiftRightArithmetic: return shifted(op, kind, a, operands[1]);
        case spv::OpLogicalAnd:
        case spv::OpLogicalOr: return of_logical(op, a, b);
        case spv::OpBitFieldUExtract:
            if (operands.size() == 3 && operands[2].within(0, 30))
                return between(kind, 0, (1LL << operands[2].high) - 1);
            return any_of(kind);
        default: return any_of(kind);
    }
}

Leaf range_of_built_in(std::uint32_t number, Scalar kind, const Value& operands) noexcept {
    if (kind == Scalar::Other || operands.empty()) return any_of(kind);
    const auto operand = [&](std::size_t i) { return as_kind(operands[std::min(i, operands.size() - 1)], kind); };
    const Leaf a = operand(0), b = operand(1), c = operand(2);
    switch (number) {
        case GLSLstd450UMin:
        case GLSLstd450SMin: return between(kind, std::min(a.low, b.low), std::min(a.high, b.high));
        case GLSLstd450UMax:
        case GLSLstd450SMax: return between(kind, std::max(a.low, b.low), std::max(a.high, b.high));
        case GLSLstd450UClamp:
        case GLSLstd450SClamp:
            if (b.high > c.low) return any_of(kind);
            return between(kind, std::clamp(a.low, b.low, c.low), std::clamp(a.high, b.high, c.high));
        case GLSLstd450SAbs:
            if (a.low == std::numeric_limits<std::int32_t>::min()) return any_of(kind);
            return between(kind, a.low >= 0 ? a.low : a.high <= 0 ? -a.high : 0, std::max(-a.low, a.high));
        case GLSLstd450SSign:
            return between(kind, a.low > 0 ? 1 : a.low == 0 ? 0 : -1, a.high > 0 ? 1 : a.high == 0 ? 0 : -1);
        case GLSLstd450FindILsb:
        case GLSLstd450FindSMsb:
        case GLSLstd450FindUMsb: return kind == Scalar::Int ? between(kind, -1, 31) : any_of(kind);
        default: return any_of(kind);
    }
}

Scalar compared_kind(std::uint32_t op) noexcept {
    switch (op) {
        case spv::OpSLessThan:
        case spv::OpSLessThanEqual:
        case spv::OpSGreaterThan:
        case spv::OpSGreaterThanEqual: return Scalar::Int;
        case spv::OpULessThan:
        case spv::OpULessThanEqual:
        case spv::OpUGreaterThan:
        case spv::OpUGreaterThanEqual:
        case spv::OpIEqual:
        case spv::OpINotEqual: return Scalar::Uint;
        default: return Scalar::Other;
    }
}

std::optional<Bounds> bounds_where(std::uint32_t op, const Leaf& right) noexcept {
    const Leaf all = any_of(compared_kind(op));
    switch (op) {
        case spv::OpSLessThan:
        case spv::OpULessThan: return Bounds{all.low, right.high - 1};
        case spv::OpSLessThanEqual:
        case spv::OpULessThanEqual: return Bounds{all.low, right.high};
        case spv::OpSGreaterThan:
        case spv::OpUGreaterThan: return Bounds{right.low + 1, all.high};
        case spv::OpSGreaterThanEqual:
        case spv::OpUGreaterThanEqual: return Bounds{right.low, all.high};
        case spv::OpIEqual: return Bounds{right.low, right.high};
        case spv::OpINotEqual:
            if (right.low != right.high) return std::nullopt;
            if (right.low == all.low) return Bounds{all.low + 1, all.high};
            if (right.low == all.high) return Bounds{all.low, all.high - 1};
            return std::nullopt;
        default: return std::nullopt;
    }
}

std::uint32_t mirrored(std::uint32_t op) noexcept {
    switch (op) {
        case spv::OpSLessThan: return spv::OpSGreaterThan;
        case spv::OpULessThan: return spv::OpUGreaterThan;
        case spv::OpSLessThanEqual: return spv::OpSGreaterThanEqual;
        case spv::OpULessThanEqual: return spv::OpUGreaterThanEqual;
        case spv::OpSGreaterThan: return spv::OpSLessThan;
        case spv::OpUGreaterThan: return spv::OpULessThan;
        case spv::OpSGreaterThanEqual: return spv::OpSLessThanEqual;
        case spv::OpUGreaterThanEqual: return spv::OpULessThanEqual;
        case spv::OpIEqual:
        case spv::OpINotEqual: return op;
        default: return 0;
    }
}

std::uint32_t negated(std::uint32_t op) noexcept {
    switch (op) {
        case spv::OpSLessThan: return spv::OpSGreaterThanEqual;
        case spv::OpULessThan: return spv::OpUGreaterThanEqual;
        case spv::OpSLessThanEqual: return spv::OpSGreaterThan;
        case spv::OpULessThanEqual: return spv::OpUGreaterThan;
        case spv::OpSGreaterThan: return spv::OpSLessThanEqual;
        case spv::OpUGreaterThan: return spv::OpULessThanEqual;
        case spv::OpSGreaterThanEqual: return spv::OpSLessThan;
        case spv::OpUGreaterThanEqual: return spv::OpULessThan;
        case spv::OpIEqual: return spv::OpINotEqual;
        case spv::OpINotEqual: return spv::OpIEqual;
        default: return 0;
    }
}

}  // namespace yolk
