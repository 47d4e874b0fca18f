// SPDX-License-Identifier: Apache-2.0
#include "arithmetic_probe.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "yolk/internal/abi/probe.h"
#include "yolk/internal/core/philox.hpp"

namespace yolk {
namespace {

using namespace abi::probe;  // NOLINT(google-build-using-namespace): the operations, by the names that the shader uses

constexpr const char* kRounding = "products and sums rounded to the nearest, ties to even";
constexpr const char* kSeparate = "a product rounded before it is added (no contraction to a fused multiply-add)";
constexpr const char* kAsWritten = "sums of products computed as written, neither contracted nor factored";
constexpr const char* kOrder = "sums taken in the order in which they are written";
constexpr const char* kCancellation = "exact differences of close numbers";
constexpr const char* kNormal = "normal results kept, however small";
constexpr const char* kSignedZero = "the sign of zero";
constexpr const char* kFlush = "products below 2^-100 made zero";
constexpr const char* kConversion = "exact conversions between integers and floats";

float number(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }
/// 2^exponent * (1 + ulps * 2^-23), exponent of a normal number.
float power(int exponent, std::uint32_t ulps = 0) {
    return number((static_cast<std::uint32_t>(exponent + 127) << 23U) + ulps);
}

float multiply(float a, float b) { return static_cast<float>(static_cast<double>(a) * static_cast<double>(b)); }
float add(float a, float b) { return static_cast<float>(static_cast<double>(a) + static_cast<double>(b)); }

class Table {
   public:
    void put(std::uint32_t operation, float a, float b, float c, const char* property) {
        const std::uint32_t expected = correct_result(operation, bits(a), bits(b), bits(c));
        cases_.push_back({operation, bits(a), bits(b), bits(c), expected, property});
    }
    [[nodiscard]] std::vector<ArithmeticCase> take() && { return std::move(cases_); }

   private:
    std::vector<ArithmeticCase> cases_;
};

void put_rounding(Table& table) {
    table.put(kMultiply, power(0, 1), power(0, 1), 0, kRounding);  // below the half: down
    table.put(kMultiply, 1.5F, power(0, 1), 0, kRounding);         // tie, up to even
    table.put(kMultiply, 1.5F, power(0, 3), 0, kRounding);         // tie, down to even
    table.put(kMultiply, power(0, 0x7FFFFF), power(0, 0x7FFFFF), 0, kRounding);
    table.put(kMultiply, -1.5F, power(0, 1), 0, kRounding);
    table.put(kAdd, 1, power(-24), 0, kRounding);            // tie, down to even
    table.put(kAdd, power(0, 1), power(-24), 0, kRounding);  // tie, up to even
    table.put(kAdd, 1, power(-24, 1), 0, kRounding);         // one bit above the tie: up
    table.put(kAdd, power(24), 1, 0, kRounding);
    table.put(kAdd, power(24), 3, 0, kRounding);
    table.put(kSubtract, 1, power(-25), 0, kRounding);  // tie below a power of two
    table.put(kSubtract, 1, power(-25, 1), 0, kRounding);
    table.put(kSubtract, 1, power(-80), 0, kRounding);  // far below: wrong where rounding is towards zero
    table.put(kAdd, 1, power(-80), 0, kRounding);       // wrong where rounding is upwards
    table.put(kAdd, -1, power(-80), 0, kRounding);
    table.put(kMultiply, number(0x7F7FFFFFU), 1, 0, kNormal);
    table.put(kMultiply, power(63), power(63), 0, kNormal);
}

void put_contraction(Table& table) {
    const float a = power(0, 1U << 11U);  // 1 + 2^-12, whose square is a tie at 1 + 2^-11 + 2^-24
    const float square = multiply(a, a);
    table.put(kMultiplyAdd, a, a, -square, kSeparate);
    table.put(kSubtractProduct, a, a, square, kSeparate);
    table.put(kMultiplyAdd, -a, a, square, kSeparate);
    table.put(kDot, a, a, -power(-1), kAsWritten);
    table.put(kSumInOrder, 1, power(-24), power(-24), kOrder);
    table.put(kSumInOrder, power(-24), power(-24), 1, kOrder);
    table.put(kSumInOrder, power(100), 1, -power(100), kOrder);
    table.put(kSumInOrder, power(100), -power(100), 1, kOrder);
}

void put_small(Table& table) {
    table.put(kSubtract, power(0, 1), 1, 0, kCancellation);
    table.put(kSubtract, power(24), power(24) - 1, 0, kCancellation);
    table.put(kSubtract, power(-100, 1), power(-100), 0,
              kCancellation);  // 2^-123, the least that the product rule lets arise
    table.put(kSubtract, power(-100), power(-100, 1), 0, kCancellation);
    table.put(kMultiply, power(-50), power(-50), 0, kNormal);
    table.put(kMultiply, power(-50, 1), power(-50, 3), 0, kNormal);
    table.put(kMultiply, power(-63), power(-63), 0, kNormal);  // 2^-126, the smallest normal
    table.put(kMultiply, power(-126, 0x7FFFFF), 1, 0, kNormal);
    table.put(kSubtract, power(-125), power(-126), 0, kNormal);
    table.put(kAdd, power(-126), 0, 0, kNormal);
    table.put(kFlushedProduct, power(-50), power(-50), 0, kFlush);  // 2^-100 itself stays
    table.put(kFlushedProduct, power(-51), power(-50), 0, kFlush);
    table.put(kFlushedProduct, power(-70), power(-70), 0, kFlush);  // denormal on the way where denormals are kept
    table.put(kFlushedProduct, -power(-70), power(-70), 0, kFlush);
    table.put(kFlushedProduct, power(-100), power(-100), 0, kFlush);
    table.put(kMultiply, -1, 0, 0, kSignedZero);
    table.put(kAdd, -0.0F, -0.0F, 0, kSignedZero);
    table.put(kAdd, -0.0F, 0.0F, 0, kSignedZero);
    table.put(kSubtract, 1, 1, 0, kSignedZero);
}

void put_conversions(Table& table) {
    for (const std::int32_t value : {0, 1, -1, -30, 127 * 30 * 30, 1 << 24, -(1 << 24)}) {
        table.put(kFromInteger, std::bit_cast<float>(value), 0, 0, kConversion);
    }
    for (const float value : {0.0F, number(0x3F7FFFFFU), 2.5F, -2.5F, 8388607.5F, -16777216.0F}) {
        table.put(kToInteger, value, 0, 0, kConversion);
    }
}

/// A random float of either sign with an exponent of -8 ... 7.
float draw(std::uint32_t word) {
    const std::uint32_t exponent = 119U + (word >> 23U & 15U);
    return number((word & 0x80000000U) | exponent << 23U | (word & 0x7FFFFFU));
}

/// Drawn operands; for chains, only those that a contraction or another order of the sum would change.
void put_drawn(Table& table) {
    constexpr std::uint32_t kPerOperation = 48;
    const auto changed_by_fusion = [](float a, float b, float c) {
        return bits(std::fma(a, b, c)) != correct_result(kMultiplyAdd, bits(a), bits(b), bits(c));
    };
    const auto changed_by_order = [](float a, float b, float c) {
        return bits(add(a, add(b, c))) != bits(add(add(a, b), c));
    };
    for (std::uint32_t operation = kMultiply; operation <= kDot; ++operation) {
        const char* property = kRounding;
        if (operation == kMultiplyAdd || operation == kSubtractProduct) property = kSeparate;
        if (operation == kDot) property = kAsWritten;
        if (operation == kSumInOrder) property = kOrder;
        for (std::uint32_t found = 0, drawn = 0; found < kPerOperation; ++drawn) {
            const PhiloxCounter words = philox4x32({drawn, operation, 0, 0}, {0x59304C4BU, 0});
            const float a = draw(words[0]), b = draw(words[1]), c = draw(words[2]);
            if (property == kSeparate && !changed_by_fusion(operation == kSubtractProduct ? -a : a, b, c)) continue;
            if (property == kOrder && !changed_by_order(a, b, c)) continue;
            table.put(operation, a, b, c, property);
            ++found;
        }
    }
}

std::string formula(const ArithmeticCase& given) {
    const auto text = [](std::uint32_t value) { return fmt::format("{:.9g} (0x{:08X})", number(value), value); };
    const std::string a = text(given.a), b = text(given.b), c = text(given.c);
    switch (given.operation) {
        case kMultiply: return a + " * " + b;
        case kAdd: return a + " + " + b;
        case kSubtract: return a + " - " + b;
        case kMultiplyAdd: return a + " * " + b + " + " + c;
        case kSubtractProduct: return c + " - " + a + " * " + b;
        case kSumInOrder: return "(" + a + " + " + b + ") + " + c;
        case kDot: return fmt::format("(a * b + b * c) + c * a of {}, {}, {}", a, b, c);
        case kFlushedProduct: return "the flushed " + a + " * " + b;
        case kFromInteger: return fmt::format("float({})", std::bit_cast<std::int32_t>(given.a));
        default: return "int(" + a + ")";
    }
}

}  // namespace

std::uint32_t correct_result(std::uint32_t operation, std::uint32_t a_bits, std::uint32_t b_bits,
                             std::uint32_t c_bits) {
    const float a = number(a_bits), b = number(b_bits), c = number(c_bits);
    switch (operation) {
        case kMultiply: return bits(multiply(a, b));
        case kAdd: return bits(add(a, b));
        case kSubtract: return bits(add(a, -b));
        case kMultiplyAdd: return bits(add(multiply(a, b), c));
        case kSubtractProduct: return bits(add(c, -multiply(a, b)));
        case kSumInOrder: return bits(add(add(a, b), c));
        case kDot: return bits(add(add(multiply(a, b), multiply(b, c)), multiply(c, a)));
        case kFlushedProduct: {
            const double product = static_cast<double>(a) * static_cast<double>(b);
            return std::fabs(product) < std::ldexp(1.0, -100) ? 0U : bits(static_cast<float>(product));
        }
        case kFromInteger: return bits(static_cast<float>(std::bit_cast<std::int32_t>(a_bits)));
        default: return std::bit_cast<std::uint32_t>(static_cast<std::int32_t>(a));
    }
}

std::vector<ArithmeticCase> arithmetic_cases() {
    Table table;
    put_rounding(table);
    put_contraction(table);
    put_small(table);
    put_conversions(table);
    put_drawn(table);
    return std::move(table).take();
}

std::string judge_execution(std::span<const ArithmeticCase> cases, std::span<const std::uint32_t> results) {
    std::size_t asked = 0, right = 0;
    for (std::size_t i = 0; i < std::min(cases.size(), results.size()); ++i) {
        if (cases[i].expected == 0) continue;
        ++asked;
        right += results[i] == cases[i].expected ? 1U : 0U;
    }
    if (10 * right >= asked) return "";
    return fmt::format(
        "the driver compiles kernels and does not execute them: of {} results that a kernel should have "
        "written, {} are there",
        asked, right);
}

std::string judge_arithmetic(std::span<const ArithmeticCase> cases, std::span<const std::uint32_t> results) {
    if (cases.size() != results.size()) {
        return fmt::format("The arithmetic probe asked {} questions and got {} answers.", cases.size(), results.size());
    }
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = cases.size(); i-- > 0;) {
        if (results[i] == cases[i].expected) continue;
        ++wrong;
        first = i;
    }
    if (wrong == 0) return "";
    return fmt::format(
        "{} of {} arithmetic results are wrong. The first: {} gave 0x{:08X} instead of 0x{:08X}; exact mode needs {}.",
        wrong, cases.size(), formula(cases[first]), results[first], cases[first].expected, cases[first].property);
}

}  // namespace yolk
