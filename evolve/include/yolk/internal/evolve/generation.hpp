// SPDX-License-Identifier: Apache-2.0
// What one generation came to, on a device or on the host.
#pragma once

#include <cstdint>
#include <optional>

#include "yolk/internal/primitives/parameters.hpp"
#include "yolk/result.hpp"

namespace yolk::evolve {

struct GenerationSummary {
    std::uint32_t generation = 0;  ///< from 0
    /// Of the scores, those that are not finite counted as the worst finite one; NaN where none is, as the next three.
    float mean = 0.0F;
    float best = 0.0F;
    float worst = 0.0F;
    float variance = 0.0F;                         ///< population variance
    std::uint32_t not_finite = 0;                  ///< members whose score was not finite
    std::uint32_t first_not_finite = 0xFFFFFFFFU;  ///< the lowest of them
    bool has_finite = true;                        ///< false: it was a generation without a gradient
    std::uint32_t skipped_elements = 0;  ///< parameters left as they were, as they or their moments would not be finite
    std::uint64_t evaluations = 0;  ///< forward passes of the population (the unperturbed policy's are not counted)
    /// Mean return of the unperturbed policy after the update; nothing where no policy evaluator was given.
    std::optional<float> policy_mean;
    float sigma = 0.0F;  ///< as this generation used them
    float learning_rate = 0.0F;
};

/// What was not finite in the generations that a run makes. A generation without a finite score changes nothing for
/// good, so it is borne; not the first of a run, which says that there is nothing to learn from, nor very many in a
/// row. Nor are very many in a row that skip elements: gradients are finite, so the steps have become too large.
class NotFiniteWatch {
   public:
    static constexpr std::uint32_t kMostInARow = 10;
    /// `changing_examples`: generations are scored on other examples each, so that the first may be without a score.
    explicit NotFiniteWatch(bool changing_examples = false) noexcept : changing_examples_(changing_examples) {}
    /// Each kind is named once. Errors: there is nothing to learn from; training has diverged.
    [[nodiscard]] Result<void> take(const GenerationSummary& summary);

   private:
    bool changing_examples_ = false;
    std::uint32_t in_a_row_ = 0, skipped_in_a_row_ = 0;
    bool score_named_ = false, skipped_named_ = false;
};

}  // namespace yolk::evolve
