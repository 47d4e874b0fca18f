// SPDX-License-Identifier: Apache-2.0
// perturbed_linear: y = x W^T + side * (sigma/sqrt(r)) (x B) A^T for every member of a population; neither W + A B^T
// nor the noise is ever stored (docs/kernels/perturbed_linear.md). Class P: one ascending chain over the inputs per
// output.
#pragma once

#include <cstdint>
#include <memory>

#include "yolk/core/typed_id.hpp"
#include "yolk/primitives/parameters.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"

namespace yolk {

struct PerturbedLinearConfig {
    std::uint32_t workgroup_size = 64;         ///< 1 ... 256
    std::uint32_t outputs_per_invocation = 4;  ///< 1 ... 8
};

struct PerturbedLinearDesc {
    std::uint32_t members = 0;  ///< 0 is legal
    std::uint32_t rows = 0;     ///< of x, per member
    std::uint32_t in = 0;       ///< columns of x and W; 0 gives zeros
    std::uint32_t out = 0;
    std::uint32_t rank = 1;     ///< 1 ... 32
    ParameterId parameter{};    ///< whose noise streams (domains A and B) perturb W
    bool shared_input = false;  ///< x is [rows, in] for all members, else [members, rows, in]
    PerturbedLinearConfig config{};
};

struct PerturbedLinearViews {
    BufferView weights;  ///< fp32 [out, in]
    BufferView input;    ///< fp32 [rows, in] or [members, rows, in]
    BufferView output;   ///< out, fp32 [members, rows, out]
};

/// Immutable: threads may record it at the same time, each into its own recorder.
class BoundPerturbedLinear {
   public:
    /// Members first_member ... first_member + members - 1; member -1 is the mean. One barrier between its two
    /// dispatches inside.
    void record(Recorder& recorder, const NoiseTime& when, std::int32_t first_member = 0) const noexcept;
    BoundPerturbedLinear() noexcept;
    ~BoundPerturbedLinear();
    BoundPerturbedLinear(BoundPerturbedLinear&&) noexcept;
    BoundPerturbedLinear& operator=(BoundPerturbedLinear&&) noexcept;

   private:
    friend class PerturbedLinearPlan;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Immutable: threads may share it. The device must outlive it.
class PerturbedLinearPlan {
   public:
    [[nodiscard]] MemoryNeeds scratch() const noexcept;  ///< x B: fp32 [members, rows, rank]
    [[nodiscard]] Result<BoundPerturbedLinear> bind(const PerturbedLinearViews& views, const BufferView& scratch) const;
    PerturbedLinearPlan() noexcept;
    ~PerturbedLinearPlan();
    PerturbedLinearPlan(PerturbedLinearPlan&&) noexcept;
    PerturbedLinearPlan& operator=(PerturbedLinearPlan&&) noexcept;

   private:
    friend Result<PerturbedLinearPlan> plan_perturbed_linear(const Device&, const PerturbedLinearDesc&);
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

[[nodiscard]] Result<PerturbedLinearPlan> plan_perturbed_linear(const Device& device, const PerturbedLinearDesc& desc);

}  // namespace yolk
