// SPDX-License-Identifier: Apache-2.0
// Steps along derivatives, on the device: the optimizer's kernel over the search table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/internal/runtime/recorder.hpp"
#include "yolk/optimize.hpp"
#include "yolk/optimizer.hpp"

namespace yolk::hyper {

/// Of a step, counted from 0: after warm-up and decay.
[[nodiscard]] float learning_rate_at(const GradientOptions& options, std::uint32_t step);

/// What it is given must outlive it. One thread at a time.
class Descent {
   public:
    Descent(Descent&&) = default;
    Descent& operator=(Descent&&) = default;
    Descent(const Descent&) = delete;
    Descent& operator=(const Descent&) = delete;
    ~Descent();  ///< waits
    /// `parameters`: on the device, updated in place. `state`: the moments of an interrupted search, or empty.
    [[nodiscard]] static Result<Descent> create(Dispatcher& dispatcher, const GradientOptions& options,
                                                const BufferView& parameters, const BufferView& gradient,
                                                std::span<const float> state);
    /// After all that the dispatcher was given before, and before what it is given later; does not wait.
    [[nodiscard]] Result<void> step(std::uint32_t step);
    /// How many parameters steps left as they were since the last call, because they would not have been finite. Waits.
    [[nodiscard]] Result<std::uint64_t> take_skipped();
    /// Waits for the last step.
    [[nodiscard]] Result<void> settle() const;
    /// First moments, then second; empty for SGD. Blocks.
    [[nodiscard]] Result<std::vector<float>> state() const;

   private:
    Descent() = default;
    Dispatcher* dispatcher_ = nullptr;
    GradientOptions options_;
    Buffer state_, skipped_, skipped_on_host_;
    std::uint32_t skipped_before_ = 0;
    BoundOptimizer update_;
    std::optional<Recorder> recorder_;
    std::optional<Submission> submission_;  ///< of the last step
};

}  // namespace yolk::hyper
