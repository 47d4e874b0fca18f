// SPDX-License-Identifier: Apache-2.0
// kernel_template: squares (docs/kernels/kernel_template.md). Class P.
// Replace: the line above, knobs, views and description. What each field is called in text and in tuning tables is said
// in the source.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"

namespace yolk::abi::kernel_template {
struct Params;
}

namespace yolk {

/// Tuning parameters; any valid configuration gives the same bytes.
struct KernelTemplateConfig {
    std::uint32_t workgroup_size = 64;          ///< 1, 4, 8, 16, 32, 64, 128, 256
    std::uint32_t elements_per_invocation = 1;  ///< 1, 2, 4, 8
};

struct KernelTemplateViews {
    BufferView in;   ///< fp32 [count]
    BufferView out;  ///< out, fp32 [count]
};

struct KernelTemplateDesc {
    using Config = KernelTemplateConfig;
    using Views = KernelTemplateViews;
    using Params = abi::kernel_template::Params;

    std::uint32_t count = 0;  ///< elements; 0 is legal
    std::optional<KernelTemplateConfig>
        config{};  ///< unset: the device's table, else the heuristic for streams of items
};

template <>
const Operation<KernelTemplateDesc>& operation_of<KernelTemplateDesc>();
using KernelTemplatePlan = Plan<KernelTemplateDesc>;
using BoundKernelTemplate = Bound<KernelTemplateDesc>;
/// One dispatch, no scratch.
inline constexpr Planner<KernelTemplateDesc> plan_kernel_template;

}  // namespace yolk
