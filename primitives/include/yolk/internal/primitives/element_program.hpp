// SPDX-License-Identifier: Apache-2.0
// element_program: several elementwise operations and choices as one kernel, which is made for them at run time
// (docs/kernels/element_program.md, docs/adr/0061). Class P: the bits are those of elementwise and where, one after the
// other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/elementwise.hpp"
#include "yolk/internal/abi/element_program.h"
#include "yolk/internal/primitives/operation.hpp"

namespace yolk {

/// Buffers of a kernel on every device (docs/gpus.md's floor), less the output.
inline constexpr std::uint32_t kMostProgramInputs = 15;
inline constexpr std::uint32_t kMostProgramDimensions = 16;
/// Compilers take time for each step, in milliseconds of a core: SwiftShader's .5 for a sum, 1.4 for tanh, 6 for a
/// quotient, lavapipe's .3, .7 and 4 beside 17 for any kernel at all. The time grows faster than the steps beyond this.
inline constexpr std::uint32_t kMostProgramSteps = 64;

/// Tuning parameters; any valid configuration gives the same bytes.
struct ElementProgramConfig {
    std::uint32_t workgroup_size = 64;
    std::uint32_t loads_per_invocation = 1;
    std::uint32_t elements_per_load = 1;  ///< 4 where the dimensions that no input tells apart end in a multiple of 4
    std::uint32_t texel_inputs = 0;       ///< 1: inputs are read as texel buffers
};

struct ElementProgramViews {
    std::span<const BufferView> inputs;
    BufferView out;
};

struct ElementStep {
    std::optional<ElementwiseOperation> operation{};  ///< none: where, of a condition and two values
    /// Values: the inputs are 0 and so on, the steps' results follow.
    std::vector<std::uint32_t> operands;
};
/// 1, 2 or 3.
[[nodiscard]] constexpr std::uint32_t operand_count(const ElementStep& step) noexcept {
    if (!step.operation) return 3;
    return is_binary(*step.operation) ? 2 : 1;
}
/// About what it computes for an element, as multiply-adds.
[[nodiscard]] std::uint64_t cost_of(const ElementStep& step) noexcept;

struct ElementDispatch {
    BindingOf<abi::element_program::Params> binding;
    abi::element_program::Params params;
    LinearGrid grid;
};

struct ElementProgramDesc {
    using Config = ElementProgramConfig;
    using Views = ElementProgramViews;
    using Params = abi::element_program::Params;
    using Bindings = ElementDispatch;

    std::vector<std::uint32_t> extents{};  ///< of the output, outermost first
    /// Of each input which dimensions it has: bit d is that of extents[d]. It is repeated along the others.
    std::vector<std::uint32_t> inputs{};
    std::vector<ElementStep> steps{};              ///< the last one's result is the output
    std::optional<ElementProgramConfig> config{};  ///< unset: the device's table, else the heuristic
};

/// Whether the kernel can tell apart where so many inputs lie: it knows abi::element_program::kMostRuns runs of
/// dimensions.
[[nodiscard]] bool has_few_runs(const ElementProgramDesc& desc);

/// Its heuristic: four elements per load where the space has it; on CPU drivers large workgroups, several loads where
/// there are many elements, and texel buffers where they are large enough.
template <>
const Operation<ElementProgramDesc>& operation_of<ElementProgramDesc>();
using BoundElementProgram = Bound<ElementProgramDesc>;
/// Errors: a description that is none, a configuration outside its space, sizes that overflow or pass the device's
/// binding limit, a driver that refuses the kernel.
using ElementProgramPlan = Plan<ElementProgramDesc>;
inline constexpr Planner<ElementProgramDesc> plan_element_program;

}  // namespace yolk
