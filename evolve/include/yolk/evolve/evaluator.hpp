// SPDX-License-Identifier: Apache-2.0
// The interface of anything that scores a population on a device, and the one over the rollout kernel.
#pragma once

#include <cstdint>
#include <memory>

#include "yolk/core/result.hpp"
#include "yolk/primitives/rollout.hpp"
#include "yolk/runtime/device.hpp"
#include "yolk/runtime/recorder.hpp"

namespace yolk::evolve {

struct EvaluatorViews {
    BufferView parameters;  ///< fp32 [element_count], the unperturbed values; read only
    BufferView returns;     ///< out, fp32 [episodes, members], every element; higher is better
    BufferView
        evaluations;  ///< out, uint32 [kEvaluationCounters], every element; their sum is the number of evaluations
};

/// Scores members on a device. One thread at a time. The caller owns all buffers, scratch included, and keeps them as
/// long as it records.
class Evaluator {
   public:
    virtual ~Evaluator();
    Evaluator(const Evaluator&) = delete;
    Evaluator& operator=(const Evaluator&) = delete;

    [[nodiscard]] virtual std::uint32_t members() const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t episodes() const noexcept = 0;  ///< returns per member
    [[nodiscard]] virtual MemoryNeeds scratch() const noexcept = 0;
    /// Before the first record(); again with other views is legal.
    [[nodiscard]] virtual Result<void> bind(const EvaluatorViews& views, const BufferView& scratch) = 0;
    /// Fills returns and evaluations for the noise of `when`. The caller puts a compute barrier before and after; an
    /// evaluator that ends in copies or fills ends with its own barrier to compute and transfer.
    virtual void record(Recorder& recorder, const NoiseTime& when) const noexcept = 0;

   protected:
    Evaluator() = default;
};

/// Whole episodes in the rollout kernel. Episode e of generation g starts from the reset of (g, first_episode + e), so
/// evaluators with disjoint ranges of episodes never share a start. Errors: plan_rollout's. `device` must outlive it.
[[nodiscard]] Result<std::unique_ptr<Evaluator>> rollout_evaluator(const Device& device, const RolloutDesc& desc,
                                                                   std::uint32_t first_episode = 0);

}  // namespace yolk::evolve
