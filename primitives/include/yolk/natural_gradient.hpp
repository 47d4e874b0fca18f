// SPDX-License-Identifier: Apache-2.0
// natural_gradient: step[b] = -learning_rate P[b] g[b] for the blocks of a batch, P a supplied preconditioner: the
// inverse of a Fisher matrix (Amari 1998, "Natural gradient works efficiently in learning", equation 10), or an M^-1/2
// (docs/kernels/natural_gradient.md). Class P.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/operation.hpp"
#include "yolk/internal/primitives/row_config.hpp"

namespace yolk::abi::natural_gradient {
struct Params;
}

namespace yolk {

struct NaturalGradientViews {
    BufferView preconditioner{};  ///< fp32 [blocks, n, n]; empty where identity
    BufferView gradient;          ///< fp32 [blocks, n]
    BufferView step;              ///< fp32 [blocks, n]
    BufferView preconditioned{};  ///< fp32 [blocks, n], where has_preconditioned
};

/// A dispatch each: the mean off g, P g, and the mean off that with the step; what a description does without is empty.
struct NaturalGradientPipelines {
    PipelineOf<abi::natural_gradient::Params> before, product, after;
};
struct NaturalGradientBindings {
    struct Stage {
        BindingOf<abi::natural_gradient::Params> binding;
        std::uint64_t rows = 0;
    };
    std::array<Stage, 3> stages;
    std::uint32_t stage_count = 0;
};

struct NaturalGradientDesc {
    using Config = RowConfig;
    using Views = NaturalGradientViews;
    using Params = abi::natural_gradient::Params;
    using Pipelines = NaturalGradientPipelines;
    using Bindings = NaturalGradientBindings;
    /// `learning_rate` 0 gives +0 everywhere; one that is not finite gives steps that are not.
    using Call = void(float learning_rate);

    std::uint32_t n = 0;  ///< length of a gradient; 0 is legal, for blocks, too
    std::uint32_t blocks = 1;
    /// P is the identity, and there is no preconditioner view: the cold start.
    bool identity = false;
    /// Takes the mean off g before P and off P g after: for parametrizations in which adding the same number to all
    /// of a block's parameters changes nothing, as those of a softmax, whose Fisher matrix diag(p) - p p^T has the
    /// vector of ones for its null direction.
    bool project_mean = false;
    bool has_preconditioned = false;    ///< P g is an output, too
    std::optional<RowConfig> config{};  ///< unset: the device's table, else heuristic_row_config
};

template <>
const Operation<NaturalGradientDesc>& operation_of<NaturalGradientDesc>();
/// Barriers between its own dispatches inside; the caller puts one before and after.
using BoundNaturalGradient = Bound<NaturalGradientDesc>;
/// Scratch: twice fp32 [blocks, n] with project_mean, else none. Errors: sizes that overflow, a block longer than a
/// binding, rows longer than the device's loops allow.
using NaturalGradientPlan = Plan<NaturalGradientDesc>;
inline constexpr Planner<NaturalGradientDesc> plan_natural_gradient;

}  // namespace yolk
