// SPDX-License-Identifier: Apache-2.0
// elementwise: one operation on every element of a population's arrays, alone or with a second operand
// (docs/kernels/elementwise.md). Class P; what only moves or compares bits is class E.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "yolk/internal/abi/elementwise.h"
#include "yolk/internal/primitives/activation.hpp"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

/// The first six are the activations, by the same numbers. Formulas, domains and errors: docs/kernels/elementwise.md.
enum class ElementwiseOperation : std::uint32_t {
    Copy = abi::activation::kActivationIdentity,
    Relu = abi::activation::kActivationRelu,
    Gelu = abi::activation::kActivationGelu,
    Silu = abi::activation::kActivationSilu,
    Tanh = abi::activation::kActivationTanh,
    Sigmoid = abi::activation::kActivationSigmoid,
    Exp = abi::elementwise::kExp,  ///< 0 below -69, exp(88) above 88
    Log = abi::elementwise::kLog,  ///< natural; of 2^-100 for all below, negative ones too
    Negate = abi::elementwise::kNegate,
    ScaleShift = abi::elementwise::kScaleShift,  ///< scale * x + shift
    Add = abi::elementwise::kAdd,                ///< first + second
    Subtract = abi::elementwise::kSubtract,      ///< first - second
    Multiply = abi::elementwise::kMultiply,
    Maximum = abi::elementwise::kMaximum,
    Absolute = abi::elementwise::kAbsolute,
    Sqrt = abi::elementwise::kSqrt,    ///< NaN of negative numbers
    Rsqrt = abi::elementwise::kRsqrt,  ///< 1 / sqrt(x)
    Sin = abi::elementwise::kSin,      ///< of every finite number
    Cos = abi::elementwise::kCos,
    Floor = abi::elementwise::kFloor,
    Round = abi::elementwise::kRound,  ///< half to even
    Minimum = abi::elementwise::kMinimum,
    Divide = abi::elementwise::kDivide,      ///< first / second
    Power = abi::elementwise::kPower,        ///< first to the power of second; special operands as in C
    LessThan = abi::elementwise::kLessThan,  ///< 1 where first < second, else 0; likewise those below
    LessOrEqual = abi::elementwise::kLessOrEqual,
    GreaterThan = abi::elementwise::kGreaterThan,
    GreaterOrEqual = abi::elementwise::kGreaterOrEqual,
    EqualTo = abi::elementwise::kEqualTo,
    NotEqualTo = abi::elementwise::kNotEqualTo,  ///< 1 where one is not a number
};
constexpr auto enum_words(ElementwiseOperation /*type*/) {
    return std::to_array<std::string_view>(
        {"copy",     "relu",        "gelu",        "silu",      "tanh",          "sigmoid",      "exp",
         "log",      "negate",      "scale_shift", "add",       "subtract",      "multiply",     "maximum",
         "absolute", "sqrt",        "rsqrt",       "sin",       "cos",           "floor",        "round",
         "minimum",  "divide",      "power",       "less_than", "less_or_equal", "greater_than", "greater_or_equal",
         "equal_to", "not_equal_to"});
}
/// "gelu", "scale_shift"; "?" for a number that no operation has.
[[nodiscard]] constexpr std::string_view to_string(ElementwiseOperation operation) noexcept {
    return word_of(operation);
}
/// Whether it takes a second operand.
[[nodiscard]] constexpr bool is_binary(ElementwiseOperation operation) noexcept {
    const auto number = static_cast<std::uint32_t>(operation);
    return (number >= abi::elementwise::kAdd && number <= abi::elementwise::kMaximum) ||
           number >= abi::elementwise::kMinimum;
}
/// Whether it is one of the operations that have modules of their own, because they take long to compile.
[[nodiscard]] constexpr bool is_long(ElementwiseOperation operation) noexcept {
    return (operation >= ElementwiseOperation::Sqrt && operation <= ElementwiseOperation::Cos) ||
           operation == ElementwiseOperation::Divide || operation == ElementwiseOperation::Power;
}
[[nodiscard]] constexpr ElementwiseOperation operation_of(Activation activation) noexcept {
    return static_cast<ElementwiseOperation>(activation);
}

/// The second operand's shape; what it lacks is repeated.
enum class SecondOperand : std::uint32_t {
    Full = abi::elementwise::kSecondFull,              ///< [members, rows, columns]
    Shared = abi::elementwise::kSecondShared,          ///< [rows, columns], for every member
    MemberRows = abi::elementwise::kSecondMemberRows,  ///< [members, columns], a row for each member
    Row = abi::elementwise::kSecondRow,                ///< [columns], one row for all (a bias)
};
constexpr auto enum_words(SecondOperand /*type*/) {
    return std::to_array<std::string_view>({"full", "shared", "member_rows", "row"});
}

/// Tuning parameters; any valid configuration gives the same bytes.
struct ElementwiseConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where the second operand's length allows
};

struct ElementwiseViews {
    BufferView first;
    BufferView second{};  ///< empty for unary operations
    BufferView out;       ///< may be `first`, the same range exactly
};

struct ElementwiseDesc {
    using Config = ElementwiseConfig;
    using Views = ElementwiseViews;
    using Params = abi::elementwise::Params;
    /// `tail`: the elements that quads leave over.
    struct Pipelines {
        PipelineOf<Params> whole, tail;
    };
    struct Bindings {
        BindingOf<Params> whole, tail;
    };

    ElementwiseOperation operation = ElementwiseOperation::Copy;
    std::uint32_t members = 1;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    SecondOperand second = SecondOperand::Full;  ///< of binary operations
    float scale = 1.0F;                          ///< of ScaleShift: finite, zero or at least 2^-100 in magnitude
    float shift = 0.0F;                          ///< likewise
    std::optional<ElementwiseConfig> config{};   ///< unset: the device's table, else its heuristic
};

template <>
const Operation<ElementwiseDesc>& operation_of<ElementwiseDesc>();
using ElementwisePlan = Plan<ElementwiseDesc>;
using BoundElementwise = Bound<ElementwiseDesc>;
/// No scratch; a second dispatch where quads leave elements over. Errors besides those of every plan: scale or shift
/// outside its range.
inline constexpr Planner<ElementwiseDesc> plan_elementwise;

}  // namespace yolk
