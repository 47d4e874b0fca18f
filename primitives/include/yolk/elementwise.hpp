// SPDX-License-Identifier: Apache-2.0
// elementwise: one operation on every element of arrays, or a program of several, as one kernel that is made for it at
// run time (docs/kernels/elementwise.md, docs/adr/0061). Class P; what only moves or compares bits is class E.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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
    Exp,  ///< 0 below -69, exp(88) above 88
    Log,  ///< natural; of 2^-100 for all below, negative ones too
    Negate,
    Absolute,
    Sqrt,   ///< NaN of negative numbers
    Rsqrt,  ///< 1 / sqrt(x)
    Sin,    ///< of every finite number
    Cos,
    Floor,
    Round,     ///< half to even
    Add,       ///< first + second; two operands, from here on
    Subtract,  ///< first - second
    Multiply,
    Maximum,
    Minimum,
    Divide,    ///< first / second
    Power,     ///< first to the power of second; special operands as in C
    LessThan,  ///< 1 where first < second, else 0; likewise those below
    LessOrEqual,
    GreaterThan,
    GreaterOrEqual,
    EqualTo,
    NotEqualTo,  ///< 1 where one is not a number
    Where,       ///< first != 0 ? second : third; NaN is not 0
};
constexpr auto enum_words(ElementwiseOperation /*type*/) {
    return std::to_array<std::string_view>({"copy",          "relu",         "gelu",
                                            "silu",          "tanh",         "sigmoid",
                                            "exp",           "log",          "negate",
                                            "absolute",      "sqrt",         "rsqrt",
                                            "sin",           "cos",          "floor",
                                            "round",         "add",          "subtract",
                                            "multiply",      "maximum",      "minimum",
                                            "divide",        "power",        "less_than",
                                            "less_or_equal", "greater_than", "greater_or_equal",
                                            "equal_to",      "not_equal_to", "where"});
}
/// "gelu", "where"; "?" for a number that no operation has.
[[nodiscard]] constexpr std::string_view to_string(ElementwiseOperation operation) noexcept {
    return word_of(operation);
}
/// 1, 2 or 3.
[[nodiscard]] constexpr std::uint32_t operand_count(ElementwiseOperation operation) noexcept {
    if (operation == ElementwiseOperation::Where) return 3;
    return operation >= ElementwiseOperation::Add ? 2 : 1;
}
/// About what it computes for an element, as multiply-adds.
[[nodiscard]] std::uint64_t cost_of(ElementwiseOperation operation) noexcept;
[[nodiscard]] constexpr ElementwiseOperation operation_of(Activation activation) noexcept {
    return static_cast<ElementwiseOperation>(activation);
}

/// Buffers of a kernel on every device (docs/gpus.md's floor), less the output.
inline constexpr std::uint32_t kMostProgramInputs = 15;
inline constexpr std::uint32_t kMostProgramDimensions = 16;
/// Compilers take time for each step, in milliseconds of a core: SwiftShader's .5 for a sum, 1.4 for tanh, 6 for a
/// quotient, lavapipe's .3, .7 and 4 beside 17 for any kernel at all. The time grows faster than the steps beyond this.
inline constexpr std::uint32_t kMostProgramSteps = 64;

/// Tuning parameters; any valid configuration gives the same bytes.
struct ElementwiseConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where the dimensions that no input tells apart end in a multiple of 4
    std::uint32_t texel_inputs = 0;       ///< 1: inputs are read as texel buffers
};

struct ElementwiseViews {
    std::span<const BufferView> inputs;  ///< 4-byte elements
    BufferView out;                      ///< likewise; may be an input of its size, the same range exactly
};

struct ElementwiseStep {
    ElementwiseOperation operation = ElementwiseOperation::Copy;
    /// Values: the inputs are 0 and so on, the numbers follow, then the steps' results.
    std::vector<std::uint32_t> operands;
};

struct ElementwiseDispatch {
    BindingOf<abi::elementwise::Params> binding;
    abi::elementwise::Params params;
    LinearGrid grid;
};

struct ElementwiseDesc {
    using Config = ElementwiseConfig;
    using Views = ElementwiseViews;
    using Params = abi::elementwise::Params;
    using Bindings = ElementwiseDispatch;

    std::vector<std::uint32_t> extents{};  ///< of the output, outermost first
    /// Of each input which dimensions it has: bit d is that of extents[d]. It is repeated along the others.
    std::vector<std::uint32_t> inputs{};
    /// Values that all elements share, at most abi::elementwise::kMostNumbers. One kernel serves all numbers.
    std::vector<float> numbers{};
    std::vector<ElementwiseStep> steps{};       ///< the last one's result is the output
    std::optional<ElementwiseConfig> config{};  ///< unset: the device's table, else the heuristic
};

/// One operation on arrays that are as long as its result.
[[nodiscard]] ElementwiseDesc one_step(ElementwiseOperation operation, std::vector<std::uint32_t> extents);

/// False if the inputs lie in more ways than a kernel can tell apart, abi::elementwise::kMostRuns runs of dimensions.
[[nodiscard]] bool has_few_runs(const ElementwiseDesc& desc);

/// Its heuristic: four elements per load where the space has it; on CPU drivers large workgroups, several loads where
/// there are many elements; on lavapipe texel buffers where the inputs fit.
template <>
const Operation<ElementwiseDesc>& operation_of<ElementwiseDesc>();
using ElementwisePlan = Plan<ElementwiseDesc>;
using BoundElementwise = Bound<ElementwiseDesc>;
/// No scratch. Errors: a description that is not valid, a configuration outside its space, sizes that overflow or pass
/// the device's binding limit, a driver that refuses the kernel.
inline constexpr Planner<ElementwiseDesc> plan_elementwise;

}  // namespace yolk
