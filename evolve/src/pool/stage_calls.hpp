// SPDX-License-Identifier: Apache-2.0
// How a run calls the functions that replace its stages: what they give is checked before anything uses it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "yolk/evolution.hpp"

namespace yolk::evolve {

// Each function of `stages` that is called must be there. An error of it ends the run: where its kind is one that drops
// a device (is_of_device) it becomes Failed, because the device that makes the update has nothing to do with it.

/// Errors besides its own: weights of another number or kind than the run's, one that is not finite or is -128, a
/// summary from which nothing could be learned although there are weights.
[[nodiscard]] Result<ShapedGeneration> call_shape(const Stages& stages, std::span<const float> returns,
                                                  const NoiseContext& when, const EvolutionOptions& options);
/// Errors besides its own: another number of elements, one that is not finite.
[[nodiscard]] Result<std::vector<float>> call_update(const Stages& stages, const ShapedGeneration& shaped,
                                                     const NoiseContext& when, std::uint32_t elements);
/// Errors besides its own: parameters or state that are not finite after it.
[[nodiscard]] Result<void> call_optimize(const Stages& stages, const Stages::Step& step);

}  // namespace yolk::evolve
