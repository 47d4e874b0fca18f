// SPDX-License-Identifier: Apache-2.0
// The interface of anything that scores a population on a device, the one over the rollout kernel, and one whose scores
// come from the host.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "yolk/device.hpp"
#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/result.hpp"
#include "yolk/rollout.hpp"

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
    virtual void record(Recorder& recorder, const NoiseContext& when) const noexcept = 0;

   protected:
    Evaluator() = default;
};

/// Whole episodes in the rollout kernel. Episode e of generation g starts from the reset of (g, first_episode + e), so
/// evaluators with disjoint ranges of episodes never share a start. Errors: plan_rollout's. `device` must outlive it.
[[nodiscard]] Result<std::unique_ptr<Evaluator>> rollout_evaluator(const Device& device, const RolloutDesc& desc,
                                                                   std::uint32_t first_episode = 0);

/// Scores that the caller makes, by whatever means: it writes them before each step of Evolution, which copies them to
/// the device with everything else.
class HostScoresEvaluator : public Evaluator {
   public:
    /// [episodes, members], mapped; zeros at first. Not to be written while a step runs.
    [[nodiscard]] virtual std::span<float> returns() noexcept = 0;
};
/// Counts no evaluations: only the caller knows. Errors: no members or episodes, sizes that overflow, no memory.
[[nodiscard]] Result<std::unique_ptr<HostScoresEvaluator>> host_scores_evaluator(const Device& device,
                                                                                 std::uint32_t members,
                                                                                 std::uint32_t episodes = 1);

}  // namespace yolk::evolve
