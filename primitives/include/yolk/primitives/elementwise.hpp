// SPDX-License-Identifier: Apache-2.0
// elementwise: one operation on every element of a population's arrays, alone or with a second operand
// (docs/kernels/elementwise.md). Class P; identity, relu, negate and maximum only move bits.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/abi/elementwise.h"
#include "yolk/primitives/activation.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

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
};
/// "gelu", "scale_shift"; "unknown" for a number that is none.
[[nodiscard]] const char* to_string(ElementwiseOperation operation) noexcept;
/// Whether it takes a second operand.
[[nodiscard]] constexpr bool is_binary(ElementwiseOperation operation) noexcept {
    return static_cast<std::uint32_t>(operation) >= abi::elementwise::kAdd;
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

/// Tuning parameters; any valid configuration gives the same bytes.
struct ElementwiseConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where the second operand's length allows
};

struct ElementwiseDesc {
    ElementwiseOperation operation = ElementwiseOperation::Copy;
    std::uint32_t members = 1;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    SecondOperand second = SecondOperand::Full;  ///< of binary operations
    float scale = 1.0F;                          ///< of ScaleShift: finite, zero or at least 2^-100 in magnitude
    float shift = 0.0F;                          ///< likewise
    std::optional<ElementwiseConfig> config{};   ///< none: default_elementwise_config
};

/// Workgroups of 1 to 256, 1 to 8 loads per invocation of 1 or 4 elements.
[[nodiscard]] ConfigSpace<ElementwiseConfig> elementwise_space(const DeviceInfo& info, const ElementwiseDesc& desc);
/// Four elements per load where the space has it; on CPU drivers large workgroups and several loads where there are
/// many.
[[nodiscard]] ElementwiseConfig default_elementwise_config(const DeviceInfo& info, const ElementwiseDesc& desc);

struct ElementwiseViews {
    BufferView first;
    BufferView second{};  ///< empty for unary operations
    BufferView out;       ///< may be `first`, the same range exactly
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundElementwise {
   public:
    /// No barrier inside.
    void record(Recorder& recorder) const noexcept;

   private:
    friend class ElementwisePlan;
    ElementwiseDesc desc_;
    ElementwiseConfig config_;
    std::uint32_t element_count_ = 0;
    BindingOf<abi::elementwise::Params> binding_;  // of whole loads
    BindingOf<abi::elementwise::Params> tail_;     // of the elements past the last load of four
};

/// Immutable: threads may share it. The device must outlive it.
class ElementwisePlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept { return {}; }
    [[nodiscard]] const ElementwiseConfig& config() const noexcept { return config_; }
    /// Errors: views that are short, misaligned, outside their buffers, or overlap `out` without being it.
    [[nodiscard]] Result<BoundElementwise> bind(const ElementwiseViews& views, const BufferView& scratch = {}) const;

   private:
    friend Result<ElementwisePlan> plan_elementwise(const Device&, const ElementwiseDesc&);
    const Device* device_ = nullptr;
    ElementwiseDesc desc_;
    ElementwiseConfig config_;
    std::uint64_t out_bytes_ = 0;
    std::uint64_t second_bytes_ = 0;
    PipelineOf<abi::elementwise::Params> pipeline_;
    PipelineOf<abi::elementwise::Params> tail_;
};

/// Errors: an operation or layout that is none, constants outside their range, a configuration outside its space, sizes
/// that overflow or pass the device's binding limit. `device` must outlive the plan.
[[nodiscard]] Result<ElementwisePlan> plan_elementwise(const Device& device, const ElementwiseDesc& desc);

}  // namespace yolk
