// SPDX-License-Identifier: Apache-2.0
// Scores of all candidates by all members of a policy's population, on a device: the members' matrices, and their
// product with the candidates' one-hot columns.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "policy_plans.hpp"
#include "yolk/dispatcher.hpp"
#include "yolk/internal/runtime/buffer.hpp"
#include "yolk/internal/runtime/recorder.hpp"

namespace yolk::autotune {

/// Plans and buffers for one set of candidates; one search at a time.
class PolicyScorer {
   public:
    /// Errors: candidates whose one-hot columns are no binding of this device, those of the plans.
    [[nodiscard]] static Result<std::unique_ptr<PolicyScorer>> create(Dispatcher& dispatcher, const PolicyDesc& desc);

    [[nodiscard]] bool is_for(const PolicyDesc& desc) const noexcept;
    /// `logits` are the search's, on the device.
    [[nodiscard]] Result<void> bind(const BufferView& logits);
    /// [population, candidates].
    [[nodiscard]] Result<void> score(Dispatcher& dispatcher, const NoiseContext& when, std::span<float> out);

   private:
    explicit PolicyScorer(PolicyDesc desc) : desc_(std::move(desc)) {}
    [[nodiscard]] Result<void> upload_columns(Dispatcher& dispatcher) const;

    PolicyDesc desc_;
    PerturbedEmbeddingPlan members_plan_;
    MatmulPlan scores_plan_;
    Buffer ids_, status_, matrices_, columns_, scores_, scratch_, readback_;
    BoundPerturbedEmbedding members_;
    BoundMatmul product_;
    std::optional<Recorder> recorder_;
};

}  // namespace yolk::autotune
