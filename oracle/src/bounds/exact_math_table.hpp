// SPDX-License-Identifier: Apache-2.0
// The exact functions with their domains and stated errors, for the check on devices and the accuracy tests on the
// host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/internal/oracle/family.hpp"

namespace yolk::oracle {

/// The numbers with low <= |x| <= high (and zero where it says so); negative ones only where `negative`.
struct ExactFunction {
    const char* name;
    std::uint32_t id;  ///< abi::exact_math
    /// The function in double; where the source defines it otherwise (flushes, clamps), that.
    double (*reference)(double);
    float low;
    float high;
    bool zero;
    bool negative;
    double absolute_error;  ///< a right result is within absolute_error + relative_error * |reference|
    double relative_error;
    std::vector<float> edges = {};  ///< inputs of interest, beside the ends of the domain

    [[nodiscard]] bool contains(float x) const noexcept {
        if (x == 0.0F) return zero;
        const float magnitude = x < 0.0F ? -x : x;
        return (negative || x > 0.0F) && magnitude >= low && magnitude <= high;  // false for NaN
    }
};

[[nodiscard]] std::span<const ExactFunction> exact_functions();

/// Zeros, both ends of the domain and their neighbours inside it, the function's own edges and their neighbours.
[[nodiscard]] std::vector<float> edge_inputs(const ExactFunction& function);

/// The Gaussian error linear unit by its definition with erf, and how far from it what kernels compute may be: the
/// bound of the tanh form (docs/kernels/elementwise.md) and the errors of exact_gelu, which computes that.
[[nodiscard]] Bounded gelu_oracle(double x);

}  // namespace yolk::oracle
