// SPDX-License-Identifier: Apache-2.0
// fp32 as kernels in exact mode compute with it: the first of the two numbers that formulas are written over. The other
// one is oracle::Bounded (docs/adr/0070).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "yolk/exact/exact_activations.h"
#include "yolk/exact/exact_elementwise.h"
#include "yolk/exact/exact_math.h"
#include "yolk/internal/primitives/activation.hpp"

namespace yolk::reference {

/// Lies in memory as a float does, so that views of floats are views of it.
struct Exact {
    float value = 0.0F;

    constexpr Exact() = default;
    constexpr Exact(float number) : value(number) {}  // NOLINT(*-explicit-*)

    /// What the host rounds to fp32.
    [[nodiscard]] static Exact rounded(double number) { return static_cast<float>(number); }
    class Chain;
};
static_assert(sizeof(Exact) == sizeof(float));

inline Exact operator-(Exact x) { return -x.value; }
inline Exact operator+(Exact x, Exact y) { return x.value + y.value; }
inline Exact operator-(Exact x, Exact y) { return x.value - y.value; }
inline Exact operator*(Exact x, Exact y) { return x.value * y.value; }

/// A sum of terms, one after the other. Fast kernels may add them in any order.
class Exact::Chain {
   public:
    void add(Exact term) { sum_ = sum_ + term; }
    [[nodiscard]] Exact sum() const { return sum_; }

   private:
    Exact sum_;
};

/// The rule of products, 0 below 2^-100 in size, and that of operands, 0 below 2^-40.
[[nodiscard]] inline Exact flush(Exact x) { return exact::exact_flush(x.value); }
[[nodiscard]] inline Exact flush_operand(Exact x) { return exact::exact_flush_operand(x.value); }
/// A sum as elementwise's `Add` has it.
[[nodiscard]] inline Exact element_sum(Exact x, Exact y) {
    const auto sum = exact::exact_sum_word(std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(y));
    return std::bit_cast<Exact>(sum);
}
[[nodiscard]] inline Exact clamped(Exact x, float limit) { return std::clamp(x.value, -limit, limit); }
[[nodiscard]] inline bool is_finite(Exact x) { return std::isfinite(x.value); }
/// The NaN that kernels give on purpose, for any.
[[nodiscard]] inline Exact with_one_nan(Exact x) {
    return std::isnan(x.value) ? std::bit_cast<Exact>(std::uint32_t{exact::kExactNan}) : x;
}
[[nodiscard]] inline Exact root(Exact x) { return exact::exact_sqrt(x.value); }
[[nodiscard]] inline Exact reciprocal(Exact x) { return exact::exact_reciprocal(x.value); }
[[nodiscard]] inline Exact activated(Activation activation, Exact x) {
    return exact::exact_activate(static_cast<std::uint32_t>(activation), x.value);
}

}  // namespace yolk::reference
