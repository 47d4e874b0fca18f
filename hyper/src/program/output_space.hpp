// SPDX-License-Identifier: Apache-2.0
// Room for what an evaluation gives.
#pragma once

#include <cstdint>

#include "program.hpp"

namespace yolk::hyper::population {

/// Room for outputs, which users ask for by population and examples. Errors: no memory.
[[nodiscard]] Result<PopulationOutputs> outputs_for(std::uint32_t examples, std::uint32_t candidates);
/// The same for plain ones of a program.
[[nodiscard]] Result<PopulationOutputs> plain_outputs_for(const Program& program, std::uint32_t examples,
                                                          std::uint32_t candidates);

}  // namespace yolk::hyper::population
