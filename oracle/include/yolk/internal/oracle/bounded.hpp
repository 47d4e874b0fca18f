// SPDX-License-Identifier: Apache-2.0
// A number in double that knows how far fp32 kernels may be off it: the second of the two numbers that formulas are
// written over (yolk/internal/reference/formulas; the first is reference::Exact). Each operation adds what it may round
// and what the rules of exact mode may take for zero (docs/adr/0070).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "yolk/internal/oracle/error_bounds.hpp"
#include "yolk/internal/primitives/activation.hpp"

namespace yolk::oracle {

/// A real number, and how far a right kernel may be off it (0 for exact).
struct Bounded {
    double value = 0.0;
    double tolerance = 0.0;

    constexpr Bounded() = default;
    constexpr Bounded(double number, double off = 0.0) : value(number), tolerance(off) {}  // NOLINT(*-explicit-*)

    /// What the host rounds to fp32.
    [[nodiscard]] static Bounded rounded(double number) { return {number, kFp32Rounding * std::abs(number)}; }
    class Chain;
    /// The largest that a kernel may have in size.
    [[nodiscard]] double largest() const { return std::abs(value) + tolerance; }
    /// The smallest.
    [[nodiscard]] double smallest() const { return std::abs(value) - tolerance; }
};

inline Bounded operator-(const Bounded& x) { return {-x.value, x.tolerance}; }
inline Bounded operator+(const Bounded& x, const Bounded& y) {
    const Bounded sum{x.value + y.value, x.tolerance + y.tolerance};
    return {sum.value, sum.tolerance + kFp32Rounding * sum.largest()};
}
inline Bounded operator-(const Bounded& x, const Bounded& y) { return x + -y; }
/// Drivers may flush products below the smallest normal number.
inline Bounded operator*(const Bounded& x, const Bounded& y) {
    constexpr double kSmallestNormal = 0x1p-126;
    const Bounded product{x.value * y.value, std::abs(x.value) * y.tolerance + y.largest() * x.tolerance};
    const bool may_be_denormal = product.largest() > 0.0 && product.smallest() < kSmallestNormal;
    return {product.value,
            product.tolerance + kFp32Rounding * product.largest() + (may_be_denormal ? kSmallestNormal : 0.0)};
}

/// A sum of terms that kernels may add in any order: each meets at most as many roundings as there are terms (Higham,
/// Accuracy and Stability of Numerical Algorithms, lemma 3.1).
class Bounded::Chain {
   public:
    void add(const Bounded& term) {
        sum_ += term.value;
        off_ += term.tolerance;
        sizes_ += term.largest();
        roundings_ += kFp32Rounding;
    }
    [[nodiscard]] Bounded sum() const { return {sum_, off_ + roundings_ / (1.0 - roundings_) * sizes_}; }

   private:
    double sum_ = 0.0, off_ = 0.0, sizes_ = 0.0, roundings_ = 0.0;
};

[[nodiscard]] inline Bounded zero_below(double floor, const Bounded& x) {
    return {x.value, x.tolerance + (x.smallest() < floor ? std::min(floor, x.largest()) : 0.0)};
}
/// The rule of products, 0 below 2^-100 in size, and that of operands, 0 below 2^-40.
[[nodiscard]] inline Bounded flush(const Bounded& x) { return zero_below(kProductFloor, x); }
[[nodiscard]] inline Bounded flush_operand(const Bounded& x) { return zero_below(kOperandFloor, x); }
/// A sum as elementwise's `Add` has it.
[[nodiscard]] inline Bounded element_sum(const Bounded& x, const Bounded& y) { return flush(x) + flush(y); }
[[nodiscard]] inline Bounded clamped(const Bounded& x, float limit) {
    return {std::clamp<double>(x.value, -limit, limit), x.tolerance};
}
[[nodiscard]] inline bool is_finite(const Bounded& x) { return std::isfinite(x.value); }
[[nodiscard]] inline Bounded with_one_nan(const Bounded& x) { return x; }
/// The operand is not negative. A reciprocal is infinitely far off where its operand may be 0.
[[nodiscard]] Bounded root(const Bounded& x);
[[nodiscard]] Bounded reciprocal(const Bounded& x);
/// By the standard library, with the greatest slope and the error of the exact function (its header).
[[nodiscard]] Bounded activated(Activation activation, const Bounded& x);

}  // namespace yolk::oracle
