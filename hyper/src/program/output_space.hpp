// SPDX-License-Identifier: Apache-2.0
// Room for what an evaluation gives.
#pragma once

#include <cstdint>

#include "program.hpp"

namespace yolk::hyper::population {

/// Room for outputs, which users ask for by population and examples. Errors: no memory.
[[nodiscard]] Result<PopulationOutputs> outputs_for(std::uint32_t examples, std::uint32_t candidates);
[[nodiscard]] Result<PopulationOutputs> means_for(std::uint32_t examples, std::uint32_t candidates);
/// The same for what a program gives: means, plain outputs or values.
[[nodiscard]] Result<PopulationOutputs> outputs_of(const Program& program, std::uint32_t examples,
                                                   std::uint32_t candidates);
/// Means from outputs that are rewards, which stay. One that is no single number is its candidate's error. Errors: no
/// memory.
[[nodiscard]] Result<void> average(PopulationOutputs& outputs);
/// The same, in place of the outputs.
[[nodiscard]] Result<void> average_values(PopulationOutputs& outputs);
/// NaN in place of means that are not finite, or whose candidate has an error.
void mark_failed(PopulationOutputs& outputs) noexcept;

}  // namespace yolk::hyper::population
