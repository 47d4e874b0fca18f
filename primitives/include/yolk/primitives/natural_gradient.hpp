// SPDX-License-Identifier: Apache-2.0
// natural_gradient: step[b] = -learning_rate P[b] g[b] for the blocks of a batch, P a supplied preconditioner: the
// inverse of a Fisher matrix (Amari 1998, "Natural gradient works efficiently in learning", equation 10), or an M^-1/2
// (docs/kernels/natural_gradient.md). Class P.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "yolk/abi/natural_gradient.h"
#include "yolk/primitives/row_config.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"
#include "yolk/runtime/tuning_space.hpp"

namespace yolk {

struct BlockWindows;

struct NaturalGradientDesc {
    std::uint32_t n = 0;  ///< length of a gradient; 0 is legal, for blocks, too
    std::uint32_t blocks = 1;
    /// P is the identity, and there is no preconditioner view: the cold start.
    bool identity = false;
    /// Takes the mean off g before P and off P g after: for parametrizations in which adding the same number to all
    /// of a block's parameters changes nothing, as those of a softmax, whose Fisher matrix diag(p) - p p^T has the
    /// vector of ones for its null direction.
    bool project_mean = false;
    bool has_preconditioned = false;    ///< P g is an output, too
    std::optional<RowConfig> config{};  ///< default_row_config where unset
};

struct NaturalGradientViews {
    BufferView preconditioner{};  ///< fp32 [blocks, n, n]; empty where identity
    BufferView gradient;          ///< fp32 [blocks, n]
    BufferView step;              ///< fp32 [blocks, n]
    BufferView preconditioned{};  ///< fp32 [blocks, n], where has_preconditioned
};

/// Its tuning space; the same for every shape and device.
[[nodiscard]] ConfigSpace<RowConfig> natural_gradient_space(const DeviceInfo& info, const NaturalGradientDesc& desc);

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundNaturalGradient {
   public:
    /// `learning_rate` 0 gives +0 everywhere; one that is not finite gives steps that are not. Barriers between its own
    /// dispatches inside; the caller puts one before and after.
    void record(Recorder& recorder, float learning_rate) const noexcept;

   private:
    friend class NaturalGradientPlan;
    /// The mean off g, the product, the mean off that and the step; one of them may be all there is.
    struct Stage {
        BindingOf<abi::natural_gradient::Params> binding;
        std::uint64_t rows = 0;
    };
    NaturalGradientDesc desc_;
    RowConfig config_;
    std::array<Stage, 3> stages_;
    std::uint32_t stage_count_ = 0;
    std::vector<BoundNaturalGradient> parts_;  ///< of windows of blocks, where there are several
};

/// Immutable: threads may share it. The device must outlive it.
class NaturalGradientPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept;  ///< twice fp32 [blocks, n] with project_mean, else none
    [[nodiscard]] Result<BoundNaturalGradient> bind(const NaturalGradientViews& views,
                                                    const BufferView& scratch = {}) const;

   private:
    friend Result<NaturalGradientPlan> plan_natural_gradient(const Device&, const NaturalGradientDesc&);
    [[nodiscard]] Result<void> plan_parts(const BlockWindows& windows);
    [[nodiscard]] Result<BoundNaturalGradient> bind_parts(const NaturalGradientViews& views,
                                                          const BufferView& scratch) const;
    const Device* device_ = nullptr;
    NaturalGradientDesc desc_;
    RowConfig config_;
    std::uint32_t blocks_per_part_ = 0;
    std::vector<NaturalGradientPlan> parts_;  ///< of windows of blocks, where views pass the device's binding limit
    std::uint64_t vector_bytes_ = 0;
    std::uint64_t matrix_bytes_ = 0;
    PipelineOf<abi::natural_gradient::Params> before_;   ///< the mean off g
    PipelineOf<abi::natural_gradient::Params> product_;  ///< P g
    PipelineOf<abi::natural_gradient::Params> after_;    ///< the mean off P g, and the step
};

/// Errors: sizes that overflow, a block longer than a binding, a configuration outside the space, rows longer than
/// the device's loops allow.
[[nodiscard]] Result<NaturalGradientPlan> plan_natural_gradient(const Device& device, const NaturalGradientDesc& desc);

}  // namespace yolk
