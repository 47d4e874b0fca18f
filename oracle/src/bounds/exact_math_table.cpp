// SPDX-License-Identifier: Apache-2.0
#include "exact_math_table.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "yolk/internal/abi/exact_math.h"

namespace yolk::oracle {

namespace {

namespace abi_em = abi::exact_math;

constexpr float kLargestInput = std::numeric_limits<float>::max();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();

// Of exact_gelu against the tanh form.
constexpr double kGeluError = 3e-8;
constexpr double kGeluRelativeError = 2.5e-7;

double flushed(double x, double floor) { return std::abs(x) < floor ? 0.0 : x; }

// Rounding to even by parity, without the floating-point unit's own rounding.
double round_half_even(double x) {
    const double below = std::floor(x);
    const double fraction = x - below;
    const bool up = fraction > 0.5 || (fraction == 0.5 && std::fmod(below, 2.0) != 0.0);
    return up ? below + 1.0 : below;
}

double clamped_exp(double x) { return x < -69.0F ? 0.0 : std::exp(std::fmin(x, 88.0)); }

// The logistic function from the side that does not overflow; its own source flushes below -69.
double logistic(double x) { return x < 0.0 ? std::exp(x) / (1.0 + std::exp(x)) : 1.0 / (1.0 + std::exp(-x)); }

// The tanh form as its authors write it; 1 + tanh loses to cancellation what the absolute error allows a billion times.
double gelu_by_tanh(double x) {
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double floored_log(double x) { return std::log(std::fmax(x, 0x1p-100)); }

// Every function but reciprocal, sin and cos takes all finite numbers: what its comment says of those outside is part
// of its contract.
std::vector<ExactFunction> make_arithmetic() {
    const std::vector<float> halves{0.5F, 1.5F, 2.5F, 0x1p22F, 0x1.8p22F, 0x1p23F};
    return {
        {"flush",
         abi_em::kFlush,
         [](double x) { return flushed(x, 0x1p-100); },
         kSmallest,
         kLargestInput,
         true,
         true,
         0.0,
         0.0,
         {0x1p-100F, 0x1p-126F}},
        {"flush_operand",
         abi_em::kFlushOperand,
         [](double x) { return flushed(x, 0x1p-40); },
         kSmallest,
         kLargestInput,
         true,
         true,
         0.0,
         0.0,
         {0x1p-40F, 0x1p-126F}},
        {"round_half_even", abi_em::kRoundHalfEven, &round_half_even, kSmallest, kLargestInput, true, true, 0.0, 0.0,
         halves},
        {"reciprocal",
         abi_em::kReciprocal,
         [](double x) { return 1.0 / x; },
         0x1p-100F,
         0x1p100F,
         false,
         true,
         0.0,
         1.3e-7,
         {1.0F}},
        {"sqrt",
         abi_em::kSqrt,
         [](double x) { return x < 0x1p-100F ? 0.0 : std::sqrt(x); },
         kSmallest,
         0x1p100F,
         true,
         true,
         0.0,
         1e-7,
         {0x1p-100F, 1.0F, 4.0F}},
    };
}

std::vector<ExactFunction> make_transcendentals() {
    const std::vector<float> bends{0x1p-40F, 7.0F, 1.0F};
    return {
        {"tanh", abi_em::kTanh, [](double x) { return std::tanh(x); }, kSmallest, kLargestInput, true, true, 1.2e-6,
         0.0, bends},
        {"exp", abi_em::kExp, &clamped_exp, kSmallest, kLargestInput, true, true, 0.0, 1.2e-7, {69.0F, 88.0F, 1.0F}},
        {"sin",
         abi_em::kSin,
         [](double x) { return std::sin(x); },
         0x1p-100F,
         4096.0F,
         true,
         true,
         1.1e-7,
         0.0,
         {0x1.921fb6p-1F, 0x1.921fb6p+0F, 0x1.921fb6p+1F}},
        {"cos",
         abi_em::kCos,
         [](double x) { return std::cos(x); },
         0x1p-100F,
         4096.0F,
         true,
         true,
         1.1e-7,
         0.0,
         {0x1.921fb6p-1F, 0x1.921fb6p+0F, 0x1.921fb6p+1F}},
        {"log",
         abi_em::kLog,
         &floored_log,
         kSmallest,
         kLargestInput,
         true,
         true,
         0.0,
         9e-8,
         {0x1p-100F, 0x1.6a09e6p-1F, 1.0F, 0x1.6a09e6p+0F, 2.0F}},
    };
}

std::vector<ExactFunction> make_activations() {
    const auto make = [](const char* name, std::uint32_t id, double (*reference)(double), double absolute_error,
                         double relative_error, std::vector<float> edges) {
        return ExactFunction{name, id,   reference,      kSmallest,      kLargestInput,
                             true, true, absolute_error, relative_error, std::move(edges)};
    };
    return {
        make("relu", abi_em::kRelu, [](double x) { return std::fmax(x, 0.0); }, 0.0, 0.0, {1.0F}),
        make("gelu", abi_em::kGelu, &gelu_by_tanh, kGeluError, kGeluRelativeError, {0x1p-100F, 1.0F, 12.0F}),
        make("silu", abi_em::kSilu, [](double x) { return x < -69.0F ? 0.0 : x * logistic(x); }, 1e-30, 2.7e-7,
             {0x1p-100F, 1.0F, 69.0F}),
        make("sigmoid", abi_em::kSigmoid, [](double x) { return x < -69.0F ? 0.0 : logistic(x); }, 0.0, 2.5e-7,
             {1.0F, 69.0F}),
    };
}

/// |x/2 (1 + tanh(u)) - x/2 (1 + erf(x/sqrt(2)))|, which is even in x, is at most each of these.
double tanh_form_bound(double x) {
    const double size = std::abs(x);
    const double near_zero = 3.3e-4 * size * size * size * size;
    constexpr double kAnywhere = 4.733e-4;
    const double density = std::exp(-0.5 * size * size) / std::sqrt(2.0 * std::numbers::pi);
    const double u = std::sqrt(2.0 / std::numbers::pi) * (size + 0.044715 * size * size * size);
    const double far = density + size * std::exp(-2.0 * u);
    return std::min({near_zero, kAnywhere, far});
}

}  // namespace

Bounded gelu_oracle(double x) {
    const double value = 0.5 * x * std::erfc(-x / std::numbers::sqrt2);  // 1 + erf without its cancellation
    const double off = tanh_form_bound(x);
    return {value, off + kGeluError + kGeluRelativeError * (std::abs(value) + off)};
}

std::span<const ExactFunction> exact_functions() {
    static const std::vector<ExactFunction> table = [] {
        std::vector<ExactFunction> functions = make_arithmetic();
        for (const auto& more : {make_transcendentals(), make_activations()})
            functions.insert(functions.end(), more.begin(), more.end());
        return functions;
    }();
    return table;
}

std::vector<float> edge_inputs(const ExactFunction& function) {
    std::vector<float> points{0.0F, function.low, function.high};
    points.insert(points.end(), function.edges.begin(), function.edges.end());
    std::vector<float> inputs;
    for (const float point : points) {
        for (const float x : {point, std::nextafter(point, 0.0F), std::nextafter(point, kLargestInput)}) {
            for (const float side : {x, -x}) {
                if (function.contains(side)) inputs.push_back(side);
            }
        }
    }
    return inputs;
}

}  // namespace yolk::oracle
