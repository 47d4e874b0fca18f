// SPDX-License-Identifier: Apache-2.0
// Steps along derivatives, on the device: the optimizer's kernel over the search table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "yolk/hyper/optimize.hpp"
#include "yolk/primitives/optimizer.hpp"
#include "yolk/runtime/recorder.hpp"

namespace yolk::hyper {

/// Of a step, counted from 0: after warm-up and decay.
[[nodiscard]] float learning_rate_at(const GradientOptions& options, std::uint32_t step);

/// What it is given must outlive it. One thread at a time.
class Descent {
   public:
    /// `parameters`: on the device, updated in place. `state`: the moments of an interrupted search, or empty.
    [[nodiscard]] static Result<Descent> create(Dispatcher& dispatcher, const GradientOptions& options,
                                                const BufferView& parameters, const BufferView& gradient,
                                                std::span<const float> state);
    /// Waits for it.
    [[nodiscard]] Result<void> step(std::uint32_t step);
    /// First moments, then second; empty for SGD. Blocks.
    [[nodiscard]] Result<std::vector<float>> state() const;

   private:
    Descent() = default;
    Dispatcher* dispatcher_ = nullptr;
    GradientOptions options_;
    Buffer state_;
    BoundOptimizer update_;
    std::optional<Recorder> recorder_;
};

}  // namespace yolk::hyper
